"""What a user says about themself that stays true: the rules behind the curator and behind "remember".

A statement counts only when it is the user's own, is claimed (not asked, supposed or quoted) and is meant to last.
When in doubt it is left out: a missed fact is said again, a wrong one spoils every later turn.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from offline_model.language.avoidance import Avoidance, AvoidanceKind, avoidances_in, taken_back
from offline_model.language.clauses import Clause, clauses_of
from offline_model.language.countries import shipping_mentions
from offline_model.language.languages import is_chinese


@dataclass(frozen=True)
class Statement:
    """`key` names the subject, `value` keeps the user's language, `evidence` are the user's own words."""

    key: str
    value: str
    category: str
    evidence: str
    slug: str | None = None
    """The substance it is about, where it is about one."""
    takes_back: bool = False
    """Says that an earlier refusal holds no longer; worth nothing where there was none."""


_Rule = Callable[[Clause], Iterator[Statement]]

_MY_ADDRESS = re.compile(
    r"我的?(?:默认)?(?:收货|收件)(?:地址|地|国家)|\bmy (?:default )?(?:shipping|delivery) ", re.IGNORECASE
)
_LASTING_REFUSAL = re.compile(
    r"我(?:真的|很|最|实在|本来)*(?:讨厌|反感|拒绝|避免|不用|不穿|不买|不喜欢|不碰|不接受)|家里不|"
    r"\bI(?: really| also)* (?:avoid|hate|refuse|can't stand|(?:don't|do not|won't) (?:use|buy|wear|"
    r"like|own))\b",
    re.IGNORECASE,
)
_EATING = re.compile(r"吃|喝|沾|\b(?:eat|eating|drink)\b", re.IGNORECASE)
_SHOE_SIZE = re.compile(
    r"(?:鞋码|鞋子?(?:尺码)?)(?:是|穿|一般|都|平时)*\s*(?P<a>(?:EU|US|UK)?\s*\d{2}(?:\.5)?)\s*码?|"
    r"我(?:平时|一般|都)?穿\s*(?P<b>\d{2}(?:\.5)?)\s*码的?(?:鞋|靴)|"
    r"\bshoe size(?: is|:)? (?P<c>(?:EU |US |UK )?\d{1,2}(?:\.5)?)|"
    r"\bI(?: usually| always)? (?:wear|take)(?: a)?(?: shoe)? (?:size (?P<d>(?:EU |US |UK )?\d{1,2}(?:\.5)?)|"
    r"(?P<e>(?:EU|US|UK) size \d{1,2}(?:\.5)?))(?: in)? (?:shoes?|boots?|sneakers?)",
    re.IGNORECASE,
)
_CLOTHING_SIZE = re.compile(
    r"(?:衣服|上衣|T恤|衬衫|外套)(?:尺码)?(?:是|穿|一般|都|平时|我)*\s*(?P<a>X{0,3}[SL]|M|"
    r"\d{2,3})(?:\s*[码号])|"
    r"我(?:平时|一般|都|衣服)*穿\s*(?P<b>X{0,3}[SL]|M)\s*[码号]?|"
    r"\bI(?: usually| always)? (?:wear|take)(?: a)?(?: size)? (?P<c>X{0,3}[SL]|M|extra large|large|"
    r"medium|small)\b",
    re.IGNORECASE,
)
_BRAND_LIKED = re.compile(
    r"我?(?:一直|都|最|很|比较|特别)*(?:喜欢|偏爱|只买|爱用|认准|信赖)(?:用|穿|"
    r"买)?\s*(?P<a>[A-Za-z][\w&'’-]*(?: [A-Z][\w&'’-]*)?|[一-龥]{2,6}?)\s*(?:这个|这家|的|家的|"
    r"家)?(?:牌子|品牌)|"
    r"\bI (?:really )?(?:love|like|prefer|trust) the brand (?P<b>[A-Z][\w&'’-]+)|"
    r"\bI (?:really )?(?:love|like|prefer|trust) (?P<c>[A-Z][\w&'’-]+(?: [A-Z][\w&'’-]+)?) (?:products?|"
    r"brand|stuff)\b|"
    r"\bI (?:only|always) buy (?P<d>[A-Z][\w&'’-]+)\b",
)
_BRAND_AVOIDED = re.compile(
    r"我?(?:从来|都|很|再也|以后)*(?:不喜欢|不买|讨厌|不要|不信任)\s*(?P<a>[A-Za-z][\w&'’-]*|"
    r"[一-龥]{2,6}?)\s*(?:这个|这家|的|家的|家)?(?:牌子|品牌)|"
    r"\bI (?:don't|do not|never|won't) (?:like|buy|"
    r"trust) (?:the )?(?:brand )?(?P<b>[A-Z][\w&'’-]+)(?: products?| brand| stuff)?\b",
)
_PET = re.compile(
    r"(?:我|我家|家里|我们家)(?:也|还)?(?:养|"
    r"有)(?:了)?(?P<a>(?:[一两二三四五几\d]+[只条个])?[^，。有养]{0,3}(?:猫|狗|兔子?|仓鼠|鹦鹉|乌龟))|"
    r"\b(?:I|we) (?:have|own|keep) (?P<b>(?:an?|one|two|three|four|\d) (?:\w+ )?(?:cats?|dogs?|rabbits?|"
    r"hamsters?|parrots?|puppy|puppies|kittens?))\b",
    re.IGNORECASE,
)
_CHILD = re.compile(
    r"我(?:家)?(?:有(?:一)?个|家)?\s*(?P<a>\d{1,2}\s*(?:岁|个月)(?:大)?的?(?:女儿|儿子|孩子|宝宝))|"
    r"(?:我|我家)(?:的)?(?P<b>(?:女儿|儿子|孩子|宝宝)(?:今年|现在|已经)*\s*\d{1,2}\s*(?:岁|个月))|"
    r"\b(?:I|we) have (?P<c>an? \d{1,2}[- ](?:year|month)s?[- ]old(?: daughter| son| child| baby)?)|"
    r"\bmy (?P<d>(?:daughter|son|child|baby) is \d{1,2}(?: years old| months old)?)",
    re.IGNORECASE,
)
_SHOPS_FOR = re.compile(
    r"我(?:经常|常常|常|总是|一般都?)(?:是)?(?P<a>(?:给|帮|替)我?(?:妈妈?|爸爸?|女儿|儿子|老婆|老公|"
    r"父母|孩子)买[^，。]{0,8})|"
    r"\bI (?:often|usually|always) (?P<b>(?:buy|shop) (?:[\w ]+ )?for my (?:mom|mother|dad|father|wife|"
    r"husband|daughter|son|kids?|parents))\b",
    re.IGNORECASE,
)
_SKIN = re.compile(
    r"我(?:是|的皮肤是|皮肤)(?:比较|偏|很)?(?P<a>(?:敏感|油性?|干性?|混合|中性)(?:性)?(?:皮肤|皮|肌肤?|型)?)|"
    r"\bI have (?P<b>(?:sensitive|oily|dry|combination) skin)|\bmy (?P<c>skin is (?:sensitive|oily|dry))",
    re.IGNORECASE,
)
_STYLE = re.compile(
    r"我(?:一直|都|比较|很|更|最)*(?:喜欢|偏爱)(?P<a>[一-龥]{2,6}(?:风格|款式|设计))|"
    r"\bI (?:always |generally |usually )?(?:like|prefer|"
    r"love) (?P<b>(?:an? )?[a-z]+(?: [a-z]+)? (?:style|design)s?)\b",
    re.IGNORECASE,
)
_COLOUR = re.compile(
    r"我(?:一直|一向|都|从来|向来|总是)+(?:都)?(?:喜欢|买|穿|用)(?P<a>[黑白红蓝绿灰粉紫黄棕米]色)|"
    r"\bmy favou?rite colou?r is (?P<b>[a-z]+)|\bI always (?:wear|buy|choose) (?P<c>black|white|red|"
    r"blue|green|gr[ae]y|pink|beige)",
    re.IGNORECASE,
)


def statements_in(text: str, meant_to_last: bool = False) -> list[Statement]:
    """The user's stable facts in a text, in order, one per key.

    `meant_to_last`: the user asked to remember the text, so a refusal in it is no passing wish.
    """
    kept: dict[str, Statement] = {}
    for clause in clauses_of(text):
        if clause.claims and not clause.this_time:
            for statement in _statements_of(clause, meant_to_last or clause.standing):
                kept.setdefault(statement.key, statement)
    return list(kept.values())


def statements_of_clause(clause: Clause) -> list[Statement]:
    """What the rules find in one clause, as its signs say that it is meant."""
    return list(_statements_of(clause, clause.standing))


def _statements_of(clause: Clause, lasting: bool) -> Iterator[Statement]:
    if not clause.names_other:
        yield from _default_ship_to(clause, lasting)
    if not clause.about_other:
        yield from _avoidances(clause, lasting)
        yield from _taken_back(clause)
        for rule in _OWN_RULES:
            yield from rule(clause)
    # A child or a person one shops for is named in the clause, and is the user's own fact all the same.
    yield from _single(_CHILD, "child", "context", clause)
    yield from _single(_SHOPS_FOR, "shops_for", "context", clause)


def _default_ship_to(clause: Clause, lasting: bool) -> Iterator[Statement]:
    if not (lasting or _MY_ADDRESS.search(clause.text)):
        return
    for mention in shipping_mentions(clause.text)[:1]:
        yield Statement("default_ship_to", mention.name, "context", clause.text)


def _avoidances(clause: Clause, lasting: bool) -> Iterator[Statement]:
    avoidances = avoidances_in(clause.text)
    materials: list[Avoidance] = []
    for avoidance in avoidances:
        match avoidance.kind:
            case AvoidanceKind.ALLERGY:
                yield _allergy(avoidance, clause)
            case AvoidanceKind.DIET:
                yield _diet(avoidance, clause)
            case AvoidanceKind.REFUSAL if _lasts(avoidance, clause, lasting):
                if avoidance.substance is not None and avoidance.substance.food:
                    yield _constraint(f"{avoidance.substance.slug}_avoid", avoidance.phrase, avoidance, clause)
                else:
                    materials.append(avoidance)
    if materials:
        # One key for all materials, so all that one clause names go into one value.
        value = clause.text[materials[0].span[0] : materials[-1].span[1]]
        yield _constraint("material_avoid", value, materials[0], clause)


def _allergy(avoidance: Avoidance, clause: Clause) -> Statement:
    slug = avoidance.substance.slug if avoidance.substance else "other"
    value = f"对{avoidance.name}过敏" if is_chinese(clause.text) else f"allergic to {avoidance.name}"
    return _constraint(f"{slug}_allergy", value, avoidance, clause)


def _diet(avoidance: Avoidance, clause: Clause) -> Statement:
    lactose = avoidance.substance is not None and avoidance.substance.slug == "milk"
    value = avoidance.phrase.removeprefix("我")
    return _constraint("lactose_intolerance" if lactose else "diet", value, avoidance, clause)


def _lasts(avoidance: Avoidance, clause: Clause, lasting: bool) -> bool:
    """Whether a refusal is a rule of the user's life, and no wish for this purchase."""
    eating = avoidance.substance is not None and avoidance.substance.food and _EATING.search(avoidance.phrase)
    return bool(lasting or eating or _LASTING_REFUSAL.search(clause.text))


def _constraint(key: str, value: str, avoidance: Avoidance, clause: Clause) -> Statement:
    slug = avoidance.substance.slug if avoidance.substance else None
    return Statement(key, value.strip(), "constraint", clause.text, slug)


def _taken_back(clause: Clause) -> Iterator[Statement]:
    for mention in taken_back(clause.text):
        slug = mention.substance.slug
        allergic = "过敏" in clause.text or "allerg" in clause.text.casefold()
        avoided = f"{slug}_avoid" if mention.substance.food else "material_avoid"
        yield Statement(f"{slug}_allergy" if allergic else avoided, clause.text, "preference", clause.text, slug, True)


def _single(pattern: "re.Pattern[str]", key: str, category: str, clause: Clause) -> Iterator[Statement]:
    """The first match of a pattern; the value is its one group that took part."""
    found = pattern.search(clause.text)
    if found is not None:
        value = next(group for group in found.groups() if group is not None)
        yield Statement(key, value.strip(), category, clause.text)


def _sizes(clause: Clause) -> Iterator[Statement]:
    yield from _single(_SHOE_SIZE, "shoe_size", "context", clause)
    yield from _single(_CLOTHING_SIZE, "clothing_size", "context", clause)


def _brands(clause: Clause) -> Iterator[Statement]:
    avoided = list(_single(_BRAND_AVOIDED, "brand_avoid", "preference", clause))
    liked = list(_single(_BRAND_LIKED, "brand_preference", "preference", clause))
    chinese = is_chinese(clause.text)
    for statement in avoided or liked:
        told = ("不喜欢" if avoided else "喜欢") if chinese else ("dislikes" if avoided else "likes")
        value = f"{told} {statement.value}"
        yield Statement(statement.key, value, statement.category, clause.text)


def _pets(clause: Clause) -> Iterator[Statement]:
    yield from _single(_PET, "pet", "context", clause)


def _tastes(clause: Clause) -> Iterator[Statement]:
    yield from _single(_SKIN, "skin_type", "context", clause)
    yield from _single(_STYLE, "style_preference", "preference", clause)
    yield from _single(_COLOUR, "favourite_colour", "preference", clause)


_OWN_RULES: tuple[_Rule, ...] = (_sizes, _brands, _pets, _tastes)
