"""Cuts a text into clauses and says of each what kind of statement it is."""

import re
from dataclasses import dataclass
from functools import lru_cache

_SENTENCE = re.compile(r"[^。！!？?\n；;]+?(?:\.(?=\s|$)|[。！!？?\n；;]|$)")
_CLAUSE = re.compile(r"(?:[^，,：:]|(?<=\d)[,:](?=\d))+")
_QUOTED = re.compile(r"“[^”\n]*”|「[^」\n]*」|『[^』\n]*』|《[^》\n]*》|\"[^\"\n]*\"")

_QUESTION = re.compile(
    r"(?:吗|呢|是不是|会不会|能不能|有没有|是否|怎么|什么|哪|多少)|"
    r"^\s*(?:am|is|are|do|does|did|have|has|can|could|should|would|will|what|which|who|how|why|when|where)\b",
    re.IGNORECASE,
)
_SUPPOSED = re.compile(
    r"如果|假如|假设|要是|万一|比如|例如|的话|\b(?:if|suppose|supposing|imagine|in case|e\.g\.|for example)\b",
    re.IGNORECASE,
)
_REPORTED = re.compile(
    r"写着|写的是|页面|标题|详情|评论|评价|说明书|包装上|广告|你说|你建议|你推荐|你提到|据说|"
    r"\b(?:says?|said|(?<!united )states?|review|label|title|page|you suggested|you recommended|you mentioned)\b",
    re.IGNORECASE,
)
_THIS_TIME = re.compile(
    r"这次|这一次|这回|这单|本次|这趟|这批|今天|今晚|明天|这周|暂时|眼下|"
    r"\b(?:this time|this order|this one|today|tonight|tomorrow|for now|just once|this week)\b",
    re.IGNORECASE,
)
_STANDING = re.compile(
    r"都|一直|一向|从来|向来|默认|以后|今后|每次|总是|永远|再也|统一|平时|一般|记住|记下|记一下|"
    r"\b(?:always|never|default|usually|everything|every time|from now on|in general|all my|generally|remember|"
    r"going forward|anymore)\b",
    re.IGNORECASE,
)
_OTHER_PERSON = re.compile(
    r"(?:妈|爸|爹|娘|爷爷|奶奶|外公|外婆|姥|老婆|妻子|太太|老公|丈夫|先生|女儿|儿子|孩子|宝宝|小孩|娃|"
    r"哥|姐|弟|妹|"
    r"男友|女友|男朋友|女朋友|对象|朋友|同事|同学|老板|客户|客人|室友|邻居|亲戚|岳父|岳母|婆婆|公公|"
    r"(?<!其)他|她|别人|有人|大家)|"
    r"\b(?:mom|mum|mother|dad|father|wife|husband|partner|son|daughter|kids?|child|children|baby|"
    r"brother|sister|"
    r"friends?|boss|colleagues?|coworkers?|roommate|neighbou?r|grandma|grandpa|grandmother|grandfather|"
    r"aunt|uncle|"
    r"girlfriend|boyfriend|he|she|they|him|her|them|his|their|someone|people|guests?)\b",
    re.IGNORECASE,
)
_SELF = re.compile(r"我|\b(?:I|I'm|I've|me|my)\b")


@dataclass(frozen=True)
class Clause:
    text: str
    """The user's words, unchanged."""
    sentence: int
    question: bool = False
    supposed: bool = False
    reported: bool = False
    this_time: bool = False
    standing: bool = False
    names_other: bool = False
    about_other: bool = False
    """Names another person, or goes on about the one named before."""

    @property
    def claims(self) -> bool:
        """States something, rather than asking, supposing or quoting it."""
        return not (self.question or self.supposed or self.reported)


@lru_cache(maxsize=512)
def clauses_of(text: str) -> tuple[Clause, ...]:
    """Clauses in order. What stands in quotation marks is somebody else's wording and is left out of the signs."""
    blanked = _QUOTED.sub(lambda found: "\x00" * len(found.group()), text)
    clauses: list[Clause] = []
    for number, sentence in enumerate(_SENTENCE.finditer(blanked)):
        clauses += _clauses_of_sentence(number, sentence.group())
    return tuple(clauses)


def _clauses_of_sentence(number: int, sentence: str) -> list[Clause]:
    parts = [part for part in _CLAUSE.findall(sentence.rstrip()) if part.strip("\x00 .。!！?？")]
    asked = sentence.rstrip().endswith(("?", "？"))
    reported = other = False
    clauses: list[Clause] = []
    for position, part in enumerate(parts):
        words = part.strip("\x00 \n\t.。!！?？；;")
        reported = reported or _REPORTED.search(words) is not None or "\x00" in words
        names_other = _OTHER_PERSON.search(words) is not None
        other = names_other or (other and _SELF.search(words) is None)
        last = position == len(parts) - 1
        clauses.append(
            Clause(
                text=words,
                sentence=number,
                question=(asked and last) or _QUESTION.search(words) is not None,
                supposed=_SUPPOSED.search(words) is not None,
                reported=reported,
                this_time=_THIS_TIME.search(words) is not None,
                standing=_STANDING.search(words) is not None,
                names_other=names_other,
                about_other=other,
            )
        )
    return clauses
