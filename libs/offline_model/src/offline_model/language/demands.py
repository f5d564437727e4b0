"""What a turn asks of a product beyond its name: musts, dislikes, what it takes back; if it is a gift."""

import re
from collections.abc import Iterable

from offline_model.language.avoidance import taken_back
from offline_model.language.clauses import clauses_of

CRITERIA = (
    *(
        "防水",
        "防泼水",
        "轻便",
        "轻量",
        "便携",
        "大容量",
        "耐用",
        "透气",
        "降噪",
        "静音",
        "防滑",
        "可折叠",
        "保暖",
        "防盗",
        "续航长",
    ),
    *("可机洗", "无香", "有机", "环保", "快充", "可登机", "减震", "护腰", "速干", "防晒"),
    *(
        "waterproof",
        "lightweight",
        "portable",
        "durable",
        "breathable",
        "noise-cancelling",
        "quiet",
        "foldable",
        "packable",
    ),
    *(
        "warm",
        "machine-washable",
        "unscented",
        "organic",
        "sustainable",
        "carry-on",
        "quick-dry",
        "anti-theft",
        "wireless",
    ),
)
_CRITERION = "|".join(sorted(CRITERIA, key=lambda word: -len(word)))

_MUST_CHINESE = re.compile(
    rf"(?:必须|一定要|务必|最重要的是)(?:要|得)?(?:是|有|能|带|够)?(?P<free>[^，。,.；;！!？?\s]{{1,12}})|"
    rf"(?:要|得|能|带|够)(?P<known>{_CRITERION})"
)
_MUST_ENGLISH = re.compile(
    rf"\b(?:must|has to|have to|needs? to)(?: be| have)? (?P<free>[a-z][a-z -]{{1,24}}?)(?=[,.;!?]|$| and\b| but\b)|"
    rf"\b(?P<known>{_CRITERION})\b",
    re.IGNORECASE,
)
_AGAINST = re.compile(
    r"(?:最好(?:不要|别|不)(?:是|太)?|尽量(?:不要|别|避免|少)|不太(?:想要|喜欢)|能不(?:要)?就不要?)(?P<a>[^，。,.；;！!？?\s]{1,10})|"
    r"\b(?:preferably|ideally) (?:no|not|without)(?: too)? (?P<b>[a-z][a-z -]{1,20}?)(?=[,.;!?]|$| and\b)|"
    r"\b(?:I'd )?rather not(?: have)? (?P<c>[a-z][a-z -]{1,20}?)(?=[,.;!?]|$| and\b)",
    re.IGNORECASE,
)
_TAKEN_BACK = re.compile(
    r"(?:不用|不需要|不必|不要求|不限)(?:是|要)?(?P<a>[^，。,.；;！!？?\s]{1,8}?)了|"
    r"(?P<b>[^，。,.；;！!？?\s]{1,8}?)(?:也)?(?:可以|都?行|无所谓|没关系|不要求)了|"
    r"(?P<h>预算|价格|颜色|尺寸|品牌|材质)(?:都|也)?(?:不限|随意|随便|不重要|无所谓|没关系)了?|"
    r"\bno longer (?:need|have)(?: it)? to be (?P<c>[a-z][a-z -]{1,20}?)(?=[,.;!?]|$)|"
    r"\b(?:don't|doesn't) (?:need|have) to be (?P<d>[a-z][a-z -]{1,20}?)(?: any ?more)?(?=[,.;!?]|$)|"
    r"\b(?P<e>[a-z]+) (?:is|are) (?:fine|okay|ok) (?:now|again|too)\b|"
    r"\b(?:forget|never mind|ignore) the (?P<f>budget|price|colou?r|size|brand|material)\b|"
    r"\b(?P<g>budget|price|colou?r|brand) (?:doesn't|does not|no longer) matters?\b",
    re.IGNORECASE,
)
_GIFT = re.compile(
    r"送(?:给|礼|人|我(?:的)?(?:妈|爸|女|男|老|朋|同)|妈|爸|女友|男友|女朋友|男朋友|朋友|同事|老师|客户|长辈|老人)|礼物|礼品|生日|"
    r"\b(?:gifts?|present)\b(?! box)|\bbirthday\b",
    re.IGNORECASE,
)
_RECIPIENT = re.compile(
    r"妈|爸|爹|爷爷|奶奶|外公|外婆|姥|老婆|妻子|太太|老公|丈夫|女儿|儿子|孩子|宝宝|小孩|哥|姐|弟|妹|男友|女友|朋友|对象|同事|"
    r"同学|老板|客户|室友|邻居|老师|长辈|老人|领导|侄|学生|岁|(?<!其)他|她|"
    r"\b(?:mom|mum|mother|dad|father|parents?|wife|husband|partner|son|daughter|kids?|child|children|baby|brother|sister|friends?|"
    r"boss|colleagues?|coworkers?|roommate|neighbou?rs?|grand(?:ma|pa|mother|father)|aunt|uncle|girlfriend|boyfriend|nephew|niece|"
    r"teacher|year[- ]old|him|her|them)\b",
    re.IGNORECASE,
)


def musts_in(words: str) -> list[str]:
    """What a product must be, from clauses that neither refuse it nor take it back."""
    found: list[str] = []
    for clause in clauses_of(words):
        if clause.supposed or _TAKEN_BACK.search(clause.text) or _AGAINST.search(clause.text):
            continue
        for pattern in (_MUST_CHINESE, _MUST_ENGLISH):
            found += [match["free"] or match["known"] for match in pattern.finditer(clause.text)]
    return _distinct(_bare(word) for word in found)


def taken_back_spans(words: str) -> list[tuple[int, int]]:
    return [match.span() for match in _TAKEN_BACK.finditer(words)]


def lifts_the_budget(words: str) -> bool:
    return any(word.casefold() in ("预算", "价格", "budget", "price") for word in taken_back_in(words))


def dislike_spans(words: str) -> list[tuple[int, int]]:
    return [match.span() for match in _AGAINST.finditer(words)]


def dislikes_in(words: str) -> list[str]:
    """What is unwelcome, but no reason to refuse a product."""
    return _distinct(_bare(_group(match)) for match in _AGAINST.finditer(words))


def taken_back_in(words: str) -> list[str]:
    """What was asked for or refused before and no longer is."""
    said = [_bare(_group(match)) for match in _TAKEN_BACK.finditer(words)]
    known = [mention.name for clause in clauses_of(words) if clause.claims for mention in taken_back(clause.text)]
    return _distinct([*said, *known])


def is_gift(words: str) -> bool:
    return _GIFT.search(words) is not None


def names_recipient(words: str) -> bool:
    """Whether a gift's words say whom it is for."""
    return _RECIPIENT.search(words) is not None


def criteria_in(words: str) -> list[str]:
    """The known qualities that a text names, asked for or not."""
    return _distinct(found.group() for found in re.finditer(_CRITERION, words, re.IGNORECASE))


def _group(match: "re.Match[str]") -> str:
    return next(group for group in match.groups() if group is not None)


def _bare(word: str) -> str:
    return re.sub(
        r"^(?:要|是|有|能|带|管|考虑|限制|the|an?)\s*|(?:的|一点|一些)$", "", word.strip(), flags=re.IGNORECASE
    ).strip()


def _distinct(words: Iterable[str]) -> list[str]:
    return [word for word in dict.fromkeys(words) if word]
