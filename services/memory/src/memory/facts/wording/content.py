"""The words of a text that carry what it is about; the rest of a line is grammar, manner and the one who speaks."""

import re
from collections.abc import Callable

from common.text import normalise
from memory.facts.wording.quantities import with_digits

# Different words for the same, brought to one of them. Longer ones first; negations before what they negate.
_SAME_WORDS: tuple[tuple[str, str], ...] = (
    (r"不会再|不再|再也不|从来不|从不|绝不|不能够?|不可以|不会|不想|不愿意?|不肯|不准|不许|不要|不用|没(?!有?(?:关系|问题|事))有?"
     r"|别(?!人|的|墅)|勿|莫", "不"),
    (r"受不了|讨厌|厌恶|反感|嫌弃|不(?:太|怎么|是很|大)?(?:喜欢|爱|中意|偏爱)", "厌"),
    (r"偏爱|偏好|钟爱|喜爱|热爱|爱好|中意|喜欢|最爱|爱(?=吃|喝|用|穿|买|看|玩)", "喜"),
    (r"(?<=[鞋裤裙帽袜杯])子", ""),
    (r"妈妈|母亲|老妈", "妈"),
    (r"爸爸|父亲|老爸", "爸"),
    (
        r"\b(?:do not|don't|does not|doesn't|did not|didn't|will not|won't|would not|wouldn't|cannot|can't"
        r"|can not|is not|isn't|are not|aren't|am not|no longer|never)\b", "not"),
    (r"\b(?:like|love|enjoy|prefer|adore|favou?r)(?:s|d|ed)?\b|\bfond of\b|\bfan of\b|\bkeen on\b", "like"),
    (r"\bnot (?:really )?like\b|\b(?:dislike|hate|detest|loathe)[sd]?\b|\bnot stand\b", "dislike"),
    (r"\ballerg(?:ic|y|ies)\b", "allergy"),
    (r"\bcolour", "color"),
    (r"\bgrey\b", "gray"),
)  # fmt: skip

_BROUGHT_TOGETHER = [(re.compile(written), same) for written, same in _SAME_WORDS]

# Manner, degree, time, grammar, and the one who speaks. Deleting them changes nothing of what is said.
_EMPTY_CHINESE = re.compile(
    r"用户(?:本人|自己)?|本人|我们|我家|我的|我|咱们?|自己|请|帮忙|帮我|麻烦|记住|记得|记下|记一下|一直以来|一直"
    r"|一向|从来|向来|历来|平时|平常|平日|一般|通常|总是|经常|常常|往往"
    r"|现在|目前|如今|其实|确实|真的|本来|从小|比较|非常|特别|十分|相当|尤其|超级|最|很|太|更|挺|蛮|有点儿?|有些"
    r"|稍微|就是|只是|还是|都是|的话"
    r"|以后|今后|从今|永远|每次|所有|全部|任何|一切|东西|商品|产品|的|地|得(?!了)|了|着|是|也|都|就|还|又|会|对"
    r"|对于|关于|呢|啊|呀|吧|哦|嘛|啦|哈"
)
_EMPTY_WORDS = (
    "a an the i i'm i've i'd me my mine myself we we're our us is am are be been being was were to of for in on "
    "at it it's its "
    "this that these those there with as by from so just please remember really very quite pretty always usually "
    "generally "
    "normally typically often mostly also too still now currently actually truly especially particularly have has "
    "had do does "
    "will would can could should user user's users their thing things stuff item items product products anything "
    "everything all any some "
    "strictly totally super rather only ever"
)
_EMPTY_ENGLISH = frozenset(_EMPTY_WORDS.split())
_LIST = re.compile(r"[、，,。;；/&+|]|和|以及|及|跟|与|或者?|还有|\b(?:and|or|nor|as well as)\b")
_WORD = re.compile(r"[㐀-鿿豈-﫿]+|[^\W_㐀-鿿豈-﫿]+(?:['’-][^\W_㐀-鿿豈-﫿]+)*")
_CHINESE = re.compile(r"[㐀-鿿豈-﫿]")


def folded(text: str) -> str:
    """A text for comparing: normalised, numbers as digits, one word for the same thing."""
    plain = with_digits(normalise(text).replace("’", "'"))
    for written, same in _BROUGHT_TOGETHER:
        plain = written.sub(same, plain)
    return plain


def content_words(text: str) -> list[str]:
    """The content of a folded text, in order: stretches of Chinese characters, stems of English words, numbers."""
    words: list[str] = []
    for found in _WORD.finditer(_EMPTY_CHINESE.sub(" ", _LIST.sub(" ", text))):
        word = found.group()
        if _CHINESE.match(word):
            words.append(word)
        elif word not in _EMPTY_ENGLISH:
            words.append(_stem(word))
    return words


def content_parts(text: str) -> tuple[str, ...]:
    """The content of a folded text as the parts of its list, sorted: "nuts and milk" says what "milk, nuts" says."""
    parts = ("".join(content_words(part)) for part in _LIST.split(text))
    return tuple(sorted(part for part in parts if part))


def units(words: list[str]) -> frozenset[str]:
    """What is counted when contents are compared: bigrams of Chinese, whole words of English."""
    found: set[str] = set()
    for word in words:
        if _CHINESE.match(word) and len(word) > 1:
            found.update(word[at : at + 2] for at in range(len(word) - 1))
        else:
            found.add(word)
    return frozenset(found)


def might_hold(wanted: frozenset[str]) -> Callable[[str], bool]:
    """Says of a normalised text whether it can hold any of these units; quick, and never wrongly no."""
    if not wanted or any(unit.isdigit() for unit in wanted):
        return lambda _: True
    signs = {sign for unit in wanted for sign in (unit[:1] if unit.isascii() else unit)}
    return lambda text: not signs.isdisjoint(text)


def _stem(word: str) -> str:
    """Without the plural, which is what changes between what is said and what is noted."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word
