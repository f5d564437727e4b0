"""What the user wants of this turn: find something, have it remembered, hear what is known, or just talk."""

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from offline_model.language.avoidance import avoidances_in
from offline_model.language.clauses import Clause, clauses_of
from offline_model.language.countries import shipping_mentions
from offline_model.language.demands import dislike_spans, taken_back_spans
from offline_model.language.domains import names_of_products
from offline_model.language.money import price_bounds
from offline_model.language.refused_kinds import refused_kinds_in


class SmallTalk(StrEnum):
    GREETING = "greeting"
    THANKS = "thanks"
    FAREWELL = "farewell"
    ASSENT = "assent"
    ABILITIES = "abilities"
    OFF_TOPIC = "off_topic"


_ASKS_WHAT_IS_KNOWN = re.compile(
    r"(?:记得|知道|记住了?|了解|存了|记了)(?:关于)?我[^，。]*?(?:什么|哪些|吗|多少|啥)|"
    r"关于我[^，。]{0,6}(?:什么|哪些|记|知道)|"
    r"我的(?:偏好|忌口|记忆|尺码|习惯)[^，。]{0,4}(?:有哪些|有什么|是什么|是啥|呢)|我对(?:什么|啥|哪些\w*)过敏|"
    r"\bwhat (?:do|did|have) you (?:know|remember|saved?|stored?)\b|"
    r"\bdo you (?:still )?remember (?:what|my|if|that|me)\b|"
    r"\bwhat am I allergic to\b|\bwhat(?: are|'s| is) my (?:preferences|size|allergies|saved)|"
    r"\bwhat you (?:know|remember) about me\b",
    re.IGNORECASE,
)
_ASKS_TO_FORGET = re.compile(
    r"忘掉|忘记我|把[^，。]{0,12}(?:删|忘)|(?:删除|删掉|清空|清除)[^，。]{0,8}(?:记忆|偏好|记录)|"
    r"\b(?:forget|delete|erase|clear)\b[^.?!]{0,30}\b(?:about me|memory|memories|preference|everything|"
    r"allergy|that|what (?:I|you)|my \w+)\b",
    re.IGNORECASE,
)
_ASKS_TO_REMEMBER = re.compile(
    r"(?:请|麻烦)?(?:你)?(?:帮我)?(?:记住|记下来?|记一下|记着|牢记|别忘了)|(?:从今)?以后(?:都|每次|一律|"
    r"再也|的)?|今后|从现在起|每次都|永远都|"
    r"\b(?:please )?remember(?: that)?\b|\bkeep in mind(?: that)?|\bdon't forget(?: that)?|"
    r"\bfrom now on\b|\balways\b|\bin (?:the )?future\b|\bgoing forward\b",
    re.IGNORECASE,
)
_BARE_REQUEST = re.compile(
    r"(?:请|麻烦)?(?:你)?(?:帮我)?(?:把?(?:这个|这条|这点|这一点|它))?(?:记住|记下来?|记一下|记着|牢记|别忘了)(?:这个|这条|这点|这一点|它|哦|啊|吧|一下)?|"
    r"\b(?:and |so )?(?:please )?(?:remember|keep in mind|don't forget)(?: that| this| it)?(?: for (?:me|later|"
    r"next time))?(?: please)?\b",
    re.IGNORECASE,
)
_NAME_IN_QUOTES = re.compile(r"[「『《“\"]([^」』》”\"，。,.!！?？\n]{2,30})[」』》”\"]")
"""Of a product; in a search it is a word like any other."""

_FIND = re.compile(
    r"(?:想|要|需要|打算|准备|帮我|帮忙|给我|请|能|可以|麻烦|再)*(?:找|买|推荐|看看|挑|选购|选|入手|"
    r"搜索|搜一下|搜|求|来)(?:一下|下)?(?=.)|"
    rf"有没有|有什么|换(?:成一?[个款件双条]?|一?[个款件双条])(?={'|'.join(names_of_products(ascii_=False))})|"
    r"(?<!不)(?:想要|需要|缺|还要|我要|^要)(?!不要)(?=[\s一-龥])|"
    r"\b(?:looking for|look for|search(?:ing)? for|shopping for|need|want(?! you)|would like|find|show|"
    r"recommend|suggest|buy|get|do you (?:have|sell|carry|stock))\b(?: me)?",
    re.IGNORECASE,
)
_WANTS_NO_MORE = re.compile(
    r"(?:别|不要|不用)再?(?:给我|帮我|向我)?(?:推荐|推|找|买|看)|(?:先|暂时?)不(?:想)?[买找看]|"
    r"\b(?:don't|do not|stop|never)(?: \w+)? (?:recommend|show|suggest|buy)|"
    r"\b(?:don't|do not)(?: \w+)? (?:want|need)\b",
    re.IGNORECASE,
)
_SAYS_NOTHING = re.compile(r"(?:some|any|every)?things?(?: to)?|stuff|it|one|东西|点?什么", re.IGNORECASE)
_CUT_ENGLISH = re.compile(
    r"\s*\b(?:under|below|less than|cheaper than|over|between|around|up to|within|that|which|ship\w*|"
    r"deliver\w*|for less|without|"
    r"with no|no|free of|please|thanks|thank you|for me|my budget|budget|because|since|and (?:I|always|"
    r"remember|ship)|but|so)\b.*$",
    re.IGNORECASE,
)
_LEADING = re.compile(
    r"^(?:(?:to (?:buy|get|find|see)|some|a few|an|a|the|any|me|good|nice|several|\d+)\s+)+|"
    r"^(?:能|可以|可|在|且|又|的|给我|一下|买|我|别的|其他的|另外的|\s)+|"
    r"^(?:[一两二三四五六几]|\d+)(?:个|款|件|双|条|样|种|只|瓶|盒|包|套|些|点|本|台|把|副|对|份|袋|支)|"
    r"^(?:个(?!性|人)|件|款(?!式)|些|点(?!心))",
    re.IGNORECASE,
)
_TRAILING = re.compile(
    r"(?:可以推荐|值得买|推荐|给我|可以|好|有|的话|的吗|吗|呢|吧|啊|呀|的|谢谢|，|\s)+$|"
    r"(?:还有)(?:别|其他|没有)?的?$|(?:再|多)(?:看看|[看找来][几些一](?:款|个|件|些)?)$|\s*\b(?:please|thanks|again)\b.*$",
    re.IGNORECASE,
)
_CHANGED_KIND = re.compile(
    r"^(?:那)?(?:换成|改成|要)(?P<zh>[^，。,的]{1,8})的(?:再看看|看看|吧|呢|有吗)?[。！!？?]?$|"
    r"^(?:what about|how about|make it|show me)? ?(?:an? )?"
    r"(?P<en>(?!cheaper|another|different|better|other|this|that|which)[a-z-]{3,20}) (?:one|ones|instead)[.!?]?$",
    re.IGNORECASE,
)
_SEVERAL = re.compile(
    r"(?:和|以及|还有|再加|、)(?=[一两几]?[个款件双条样套瓶盒])|\s+and (?=(?:an?|some)\s)", re.IGNORECASE
)
_REFINES = re.compile(
    r"^(?:有没有|有|来|要)?(?:再|更)?(?:便宜|贵|好看|轻|小|大)(?:一)?(?:点|些)?|(?:^|[，,。；;\s])换(?:一)?(?:个|款|批|"
    r"些)|^再来|^还有(?:别的|其他|吗)|^(?:其他|别的)|"
    r"\b(?:cheaper|another one|other options|more options|something else|different ones?|anything cheaper)\b",
    re.IGNORECASE,
)
_OTHERS = re.compile(
    r"换一?(?:批|些|几(?:个|款|件))|(?:还有|来点|看看)(?:其他|别的)|"
    r"\b(?:(?:other|more|different) (?:options|ones)|something else|another (?:one|batch))\b",
    re.IGNORECASE,
)
_SMALL_TALK = (
    (
        SmallTalk.ABILITIES,
        re.compile(r"你是谁|你能做什么|你会什么|怎么用|\bwho are you|\bwhat can you do|\bhelp\b", re.IGNORECASE),
    ),
    (SmallTalk.OFF_TOPIC, re.compile(r"天气|讲个?笑话|新闻|几点了|\bweather\b|\bjoke\b|\bwhat time\b", re.IGNORECASE)),
    (SmallTalk.THANKS, re.compile(r"^(?:好的?[，,]?\s*)?(?:谢谢|多谢|感谢|thanks?\b|thank you)", re.IGNORECASE)),
    (SmallTalk.FAREWELL, re.compile(r"^(?:再见|拜拜|bye\b|goodbye|see you)", re.IGNORECASE)),
    (
        SmallTalk.ASSENT,
        re.compile(
            r"^(?:好|好的|好吧|可以|行|嗯|没问题|就这个|就要这个|不错|ok|okay|sure|great|fine|perfect)\W*$",
            re.IGNORECASE,
        ),
    ),
    (
        SmallTalk.GREETING,
        re.compile(
            r"^(?:你好|您好|嗨|哈喽|早上好|晚上好|在吗|hi\b|hello\b|hey\b|good (?:morning|"
            r"evening))",
            re.IGNORECASE,
        ),
    ),
)


@dataclass(frozen=True)
class Wishes:
    queries: tuple[str, ...]
    """What to search for, without prices, destinations and exclusions."""
    refines: bool
    """Asks for a variation of the last search."""
    to_remember: str
    """The part of the words that the user asked to keep; may be empty."""
    asks_what_is_known: bool
    asks_to_forget: bool
    small_talk: SmallTalk | None


@lru_cache(maxsize=512)
def wishes_in(words: str) -> Wishes:
    asks_what_is_known = _ASKS_WHAT_IS_KNOWN.search(words) is not None
    asks_to_forget = _ASKS_TO_FORGET.search(words) is not None
    return Wishes(
        queries=_queries(words),
        refines=_REFINES.search(words.strip()) is not None,
        to_remember="" if asks_what_is_known or asks_to_forget else _to_remember(words),
        asks_what_is_known=asks_what_is_known,
        asks_to_forget=asks_to_forget,
        small_talk=next((talk for talk, pattern in _SMALL_TALK if pattern.search(words.strip())), None),
    )


def without_remember_marks(text: str) -> str:
    """The thing to remember itself: 「请记住：我喜欢靠窗」 → 「我喜欢靠窗」."""
    return _ASKS_TO_REMEMBER.sub("", text).strip(" ，,：:。.!！\n")


def _to_remember(words: str) -> str:
    """From the clause with the request to the end of its sentence, without clauses that look for something; where the
    request stands alone ("Please remember that."), what was said before it."""
    kept: list[str] = []
    marked_sentence = -1
    clauses = clauses_of(words)
    for clause in clauses:
        asked = clause.claims and _ASKS_TO_REMEMBER.search(clause.text) is not None
        marked_sentence = clause.sentence if asked else marked_sentence
        if clause.sentence == marked_sentence and (asked or not _FIND.search(clause.text)):
            kept.append(clause.text)
    if kept and not _BARE_REQUEST.sub("", "".join(kept)).strip(" ，,。.!！"):
        before = [clause for clause in clauses if clause.sentence < marked_sentence and clause.claims]
        kept = [clause.text for clause in before if avoidances_in(clause.text) or not _FIND.search(clause.text)]
    return "，".join(kept)


def _queries(words: str) -> tuple[str, ...]:
    for clause in clauses_of(_NAME_IN_QUOTES.sub(r"\1", words)):
        phrase = _sought(clause)
        if phrase:
            return tuple(query for part in _SEVERAL.split(phrase) if (query := _tidy(part)))[:3]
    return ()


def _sought(clause: Clause) -> str:
    """What stands after the verb of seeking in a clause."""
    blanked = _without_conditions(clause.text)
    found = None if _WANTS_NO_MORE.search(blanked) else _FIND.search(blanked)
    phrase = _tidy(_CUT_ENGLISH.sub("", blanked[found.end() :])) if found else ""
    return "" if _SAYS_NOTHING.fullmatch(phrase) else phrase


def changed_kind(words: str) -> str | None:
    """「换成防水的」, "in blue instead": what the thing that was sought before is to be."""
    found = _CHANGED_KIND.search(words.strip())
    return (found["zh"] or found["en"]) if found else None


def asks_for_others(words: str) -> bool:
    """「换一批」: of the same kind, what was not shown yet."""
    return _OTHERS.search(words) is not None


def bare_phrase(words: str) -> str:
    """For words without a verb of seeking (「通勤双肩包」): the first phrase that is no condition."""
    phrases = (_tidy(_CUT_ENGLISH.sub("", _without_conditions(clause.text))) for clause in clauses_of(words))
    return next((phrase for phrase in phrases if any(map(str.isalnum, phrase))), "")


def _without_conditions(text: str) -> str:
    """Blanks out prices, destinations and exclusions, which have arguments of their own in a search."""
    spans = [*price_bounds(text).spans]
    spans += [mention.span for mention in shipping_mentions(text)]
    spans += [avoidance.span for avoidance in avoidances_in(text)]
    spans += [kind.span for kind in refused_kinds_in(text)]
    spans += [*dislike_spans(text), *taken_back_spans(text)]
    characters = list(text)
    for start, end in spans:
        characters[start:end] = " " * (end - start)
    return "".join(characters)


def _tidy(phrase: str) -> str:
    previous = None
    phrase = phrase.strip()
    while phrase != previous:
        previous = phrase
        phrase = _TRAILING.sub("", _LEADING.sub("", phrase, count=1)).strip(" ,，.。!！?？\"'“”")
    return " ".join(phrase.split())
