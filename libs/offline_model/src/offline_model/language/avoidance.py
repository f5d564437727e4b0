"""What a text says is to be avoided: allergies, diets, refusals; and what it says is fine again."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from offline_model.language.substances import Substance, SubstanceMention, diets_in, substances_in


class AvoidanceKind(StrEnum):
    ALLERGY = "allergy"
    DIET = "diet"
    REFUSAL = "refusal"


@dataclass(frozen=True)
class Avoidance:
    kind: AvoidanceKind
    name: str
    """The user's word for it."""
    substance: Substance | None
    """None for something the table does not know; then only the user's own word excludes it."""
    phrase: str
    """The words that say so."""
    span: tuple[int, int]

    @property
    def words(self) -> tuple[str, ...]:
        return self.substance.words if self.substance else (self.name,)


_ALLERGY_CHINESE = re.compile(
    r"(?:对(?P<to>[^对，。]{1,20}?)|(?P<bare>[^对，。\s]{1,12}?))"
    r"(?:有点|有些|严重|很|会|也|都|是)*过敏(?!原|源|体质|性)"
)
_ALLERGY_ENGLISH = re.compile(
    r"allergic to (?P<to>[\w ,'-]+?)(?= but\b| so\b| and (?:I|we|please|always|everything|ship|find|"
    r"want|need)\b|[.;!?]|$)"
    r"|(?P<bare>[\w-]+(?: [\w-]+)?) allerg(?:y|ies)\b",
    re.IGNORECASE,
)
_NO_ALLERGY = re.compile(
    r"(?:不|没有?|不会|不再|抗|防)\s*过敏|过敏(?:好了|没了)|(?:not|n't|no longer) (?:\w+ )?allergic|"
    r"no (?:\w+ )?allerg",
    re.IGNORECASE,
)
_INTOLERANCE = re.compile(r"乳糖不耐受?|lactose[- ]intoleran(?:t|ce)", re.IGNORECASE)
_DIET_OF_SELF = re.compile(
    r"我(?:们)?(?:一直|平时|现在|是|只|都|长期|家)*(?:吃|是)?(?P<c>[^，。]{0,3}(?:素食|吃素|纯素|全素|"
    r"清真|洁食)[^，。]{0,3})|"
    r"\bI(?:'m| am| eat| only eat| keep| follow)(?: an?| strictly| only)* (?P<e>vegan|vegetarian|halal|kosher)",
    re.IGNORECASE,
)

_CHINESE_REFUSAL = (
    r"不(?:能|可以|想|要|会|准|许)*(?:要|含|吃|喝|用|买|穿|碰|选|放|带|接受|喜欢|沾)|不(?:能|要)有|没有|"
    r"别(?:要|买|放|选|带)?|"
    r"避开|避免|去掉|排除|拒绝|讨厌|反感|无"
)
_ENGLISH_REFUSAL = (
    r"\b(?:no|without|avoid(?:ing)?|exclude|excluding|never|nothing with|free of|hate|"
    r"(?:don't|do not|can't|cannot|won't|doesn't|does not|not)(?: \w+)?)\b"
)
_REFUSAL = re.compile(f"(?:{_CHINESE_REFUSAL}|{_ENGLISH_REFUSAL})", re.IGNORECASE)
_GAP = re.compile(
    r"\s*(?:任何|有|含有?|含|的|是|太|用|吃|to|any|use|buy|wear|eat|drink|have|contain(?:s|ing)?|"
    r"made of|made from|with|of|"
    r"anything|things?|in|it|\s)*\s*",
    re.IGNORECASE,
)
_JOIN = re.compile(
    r"(?:做的|制品|材质|材料|类|的|products?|items?|\s)*(?:和|或者?|、|跟|以及|及|,|/|and|or|"
    r"nor)+\s*",
    re.IGNORECASE,
)
_ENGLISH_FREE = re.compile(r"[- ]free\b", re.IGNORECASE)
_AGAIN_FINE = re.compile(
    r"(?:也|都)?(?:可以|行|没问题|没关系|无所谓|能接受|能吃)(?:了|的|吃了|用了)*\s*$|"
    r"\b(?:is|are|'s|'re) (?:now )?(?:fine|ok|okay|all right|acceptable)\b|\bno longer\b|\bdon't mind\b|"
    r"不再|不介意",
    re.IGNORECASE,
)
_UNKNOWN_REFUSED = re.compile(
    r"(?:不(?:要|含|吃|喝|用|买|穿|碰|喜欢)|避开|拒绝)(?P<c>[一-龥]{1,6})|\b(?:no|avoids?|without|"
    r"never) (?P<e>[a-z]{3,20})\b",
    re.IGNORECASE,
)
_FILLER = re.compile(
    r"^(?:我|其实|本来|从小|一直|就|也|还|有|些|a|an|the|my|I have an?|severe|any)+\s*|的$", re.IGNORECASE
)


def avoidances_in(text: str) -> list[Avoidance]:
    """Everything one clause says is to be avoided."""
    if _NO_ALLERGY.search(text) or _AGAIN_FINE.search(text):
        return []
    found = [*_allergies(text), *_intolerances(text), *_diets(text), *_refusals(text), *_free_of(text)]
    return _once_each(found)


def taken_back(text: str) -> list[SubstanceMention]:
    """Substances a clause says are fine again: 「塑料的也可以了」, "no longer allergic to nuts"."""
    if _NO_ALLERGY.search(text) or _AGAIN_FINE.search(text):
        return substances_in(text)
    return []


def words_to_exclude(key: str, value: str) -> list[str]:
    """Search exclusions that follow from a remembered constraint."""
    if _NO_ALLERGY.search(value) or _AGAIN_FINE.search(value):
        return []
    subject = key.replace("_", " ")
    mentions = [*diets_in(value), *(substances_in(value) or substances_in(subject) or diets_in(subject))]
    if mentions:
        return _distinct(word for mention in mentions for word in mention.substance.words)
    named = [avoidance.name for avoidance in avoidances_in(value)]
    unknown = _UNKNOWN_REFUSED.search(value)
    return _distinct(named or ([unknown["c"] or unknown["e"]] if unknown else []))


def _allergies(text: str) -> list[Avoidance]:
    found: list[Avoidance] = []
    for match in [*_ALLERGY_CHINESE.finditer(text), *_ALLERGY_ENGLISH.finditer(text)]:
        group = "to" if match["to"] is not None else "bare"
        mentions = substances_in(match[group])
        if mentions:
            found += [_of_mention(AvoidanceKind.ALLERGY, mention, match) for mention in mentions]
        elif group == "to":
            name = _FILLER.sub("", match["to"]).strip()
            found.append(Avoidance(AvoidanceKind.ALLERGY, name, None, match.group(), match.span()))
    return found


def _intolerances(text: str) -> list[Avoidance]:
    return [
        Avoidance(AvoidanceKind.DIET, mention.name, mention.substance, match.group(), match.span())
        for match in _INTOLERANCE.finditer(text)
        for mention in substances_in(match.group())
    ]


def _diets(text: str) -> list[Avoidance]:
    return [
        Avoidance(AvoidanceKind.DIET, mention.name, mention.substance, match.group(), match.span())
        for match in _DIET_OF_SELF.finditer(text)
        for mention in diets_in(match.group())
    ]


def _refusals(text: str) -> list[Avoidance]:
    """A refusing word, and the substances that follow it at once, joined by "and", "or", 和, 、."""
    by_start = {mention.start: mention for mention in substances_in(text)}
    return [avoidance for match in _REFUSAL.finditer(text) for avoidance in _refused(text, match, by_start)]


def _refused(text: str, match: "re.Match[str]", by_start: dict[int, SubstanceMention]) -> Iterator[Avoidance]:
    position = _end_of(_GAP, text, match.end())
    refusal = text[match.start() : position]
    while (mention := by_start.get(position)) is not None:
        span = (match.start(), mention.end)
        yield Avoidance(AvoidanceKind.REFUSAL, mention.name, mention.substance, refusal + mention.name, span)
        position = _end_of(_JOIN, text, mention.end)


def _free_of(text: str) -> list[Avoidance]:
    found: list[Avoidance] = []
    for mention in substances_in(text):
        if free := _ENGLISH_FREE.match(text, mention.end):
            span = (mention.start, free.end())
            phrase = text[span[0] : span[1]]
            found.append(Avoidance(AvoidanceKind.REFUSAL, mention.name, mention.substance, phrase, span))
    return found


def _of_mention(kind: AvoidanceKind, mention: SubstanceMention, match: "re.Match[str]") -> Avoidance:
    return Avoidance(kind, mention.name, mention.substance, match.group(), match.span())


def _end_of(pattern: "re.Pattern[str]", text: str, position: int) -> int:
    found = pattern.match(text, position)
    return found.end() if found else position


def _once_each(avoidances: list[Avoidance]) -> list[Avoidance]:
    kept: dict[str, Avoidance] = {}
    for avoidance in avoidances:
        kept.setdefault(avoidance.substance.slug if avoidance.substance else avoidance.name, avoidance)
    return list(kept.values())


def _distinct(words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(words))
