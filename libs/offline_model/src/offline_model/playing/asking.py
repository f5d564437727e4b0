"""Asks one question instead of acting where something essential is missing, and takes up the answer."""

from collections.abc import Sequence
from functools import reduce

from offline_model.directives import without_directives
from offline_model.language.intents import Intent, intent_of
from offline_model.language.languages import in_language, is_chinese
from offline_model.language.missing import Missing
from offline_model.language.orders import order_wish
from offline_model.language.reading import readable
from offline_model.language.wishes import wishes_in
from offline_model.playing.conversation import PastTurn
from offline_model.playing.play import Play

WHICH_ITEM = (
    "要下单哪一件？先告诉我找什么商品，或者说「下单第一个」。",
    'Which one shall I prepare? Tell me what to look for, or say "order the first one".',
)
_QUESTIONS = {
    Missing.BUDGET: (
        "这一整套大概想花多少钱？比如 300 元、800 元，或者 1500 元以内，我按总数分给每一样再找。",
        "About how much for the whole set? Say under $50, $100 or $200: I divide it among the things before I search.",
    ),
    Missing.RECIPIENT: (
        "送给谁，大概多少预算？比如「送同事，200 元以内」，知道其中一样我就能开始找。",
        'Who is it for, and about how much? "For a colleague, under $40": one of the two is enough to start.',
    ),
    Missing.PRODUCT: (
        "要算哪件商品的到手价？说出商品，或者先让我找几款，再说「第一个寄过去多少钱」。",
        'Which product shall I work it out for? Name it, or let me find some first and say "the first one".',
    ),
    Missing.DESTINATION: (
        "要寄到哪个国家？不同国家的税和运费不一样，例如德国、美国、日本。",
        "Which country does it go to? Taxes and shipping differ, for example Germany, the US or Japan.",
    ),
}
_ASKED = frozenset(text for texts in (*_QUESTIONS.values(), WHICH_ITEM) for text in texts)
_OPEN_REQUESTS_MAX = 3


def question(words: str, missing: Missing) -> Play:
    return Play(in_language(is_chinese(words), *_QUESTIONS[missing]))


def asked_about(reply: str) -> bool:
    """Whether a reply was one of the questions."""
    return " ".join(reply.split()) in _ASKED


def request_asked_about(words: str, past: Sequence[PastTurn]) -> str:
    """The words of the request that a question was asked about, where these answer it: 「800 元以内」; else empty.

    Nobody has to answer: who asks for something else has dropped the request.
    """
    request: list[str] = []
    for turn in reversed(past[-_OPEN_REQUESTS_MAX:]):
        if not asked_about(turn.reply) or not is_an_answer(words):
            break
        words = readable(without_directives(turn.said))
        request.append(words)
    return reduce(joined, reversed(request)) if request else ""


def is_an_answer(words: str) -> bool:
    wishes = wishes_in(words)
    asks_else = wishes.queries or wishes.asks_what_is_known or wishes.asks_to_forget or wishes.to_remember
    intent = intent_of(words, wishes)
    return not (asks_else or wishes.small_talk) and intent in _OF_ANSWERS and order_wish(words) is None


_OF_ANSWERS = (Intent.PRODUCT_SEARCH, Intent.CHAT, Intent.MEMORY)


def joined(request: str, answer: str) -> str:
    return f"{request}，{answer}" if is_chinese(request) else f"{request}, {answer}"
