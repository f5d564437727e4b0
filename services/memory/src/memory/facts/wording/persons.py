"""Persons (and pets) that a text speaks of, other than the user."""

import re
from dataclasses import dataclass

from common.text import normalise

SELF = "self"
OTHER = "other"
"""Somebody who is only pointed at (she, someone): nobody a fact could be about."""

_PERSONS: tuple[tuple[str, str, str], ...] = (
    ("mother_in_law", "岳母|丈母娘|婆婆", "mother-in-law"),
    ("father_in_law", "岳父|老丈人|公公", "father-in-law"),
    ("grandmother", "奶奶|外婆|姥姥|祖母", "grandma|grandmother|granny"),
    ("grandfather", "爷爷|外公|姥爷|祖父", "grandpa|grandfather|granddad"),
    ("parents", "父母|爸妈|爹妈|老人家", "parents|folks"),
    ("mother", "妈妈|妈|母亲|老妈|娘", "mom|mum|mother|mommy|mama"),
    ("father", "爸爸|爸|父亲|老爸|爹", "dad|father|daddy|papa"),
    ("girlfriend", "女朋友|女友", "girlfriend"),
    ("boyfriend", "男朋友|男友", "boyfriend"),
    ("wife", "老婆|妻子|太太|媳妇", "wife"),
    ("husband", "老公|丈夫", "husband"),
    ("partner", "对象|伴侣|爱人|另一半", "partner|spouse|fiancee?"),
    ("daughter", "女儿|闺女", "daughters?"),
    ("son", "儿子", "sons?"),
    ("child", "孩子|小孩|宝宝|娃|小朋友|侄子|侄女|外甥", "child|children|kids?|baby|babies|toddler|nephew|niece"),
    ("sister", "姐姐|妹妹|姐|妹", "sisters?"),
    ("brother", "哥哥|弟弟|哥|弟", "brothers?"),
    ("relative", "亲戚|姑姑|姨|舅舅|叔叔|表[哥姐弟妹]|堂[哥姐弟妹]", "aunt|uncle|cousins?|in-laws"),
    ("friend", "朋友|闺蜜|哥们|网友", "friends?|buddy"),
    ("colleague", "同事|同学|老师|学生", "colleagues?|coworkers?|co-workers?|classmates?|teacher"),
    ("boss", "老板|领导|上司", "boss|manager"),
    ("roommate", "室友|舍友|邻居", "roommates?|flatmates?|neighbou?rs?"),
    ("guest", "客户|客人", "guests?|clients?|customers?"),
    ("cat", "猫咪?|喵", "cats?|kittens?"),
    ("dog", "狗狗?|狗子|犬", "dogs?|pupp(?:y|ies)"),
    ("pet", "宠物|仓鼠|兔子|鹦鹉|乌龟", "pets?|hamsters?|rabbits?|parrots?"),
    (
        "other",
        "(?<!其)(?<!吉)他们?|她们?|别人|人家|有人|大家|某人",
        "he|she|they|him|her|them|his|their|someone|somebody",
    ),
)
"""Names with Chinese words and English words. Whoever is not the user; longer words stand before shorter ones."""

_SELF = re.compile(r"我|咱|(?<!\x00)家[里中]|\b(?:i|i'm|i've|i'd|me|my|mine|we|our|us|myself)\b")

# Inside these the character names nobody: 大娘 is a form of address, 牛奶奶 is milk, 狗粮 is a product.
_NOT_A_PERSON = re.compile(
    r"牛奶|奶粉|姑娘|新娘|公公平平|老板娘|他命|宝宝霜|儿童|娃娃|狗粮|猫粮|猫砂|热狗|海狗|熊猫|猫眼|母婴|妈妈包"
    r"|老爹鞋|孕妈|哥伦比亚|吉他"
    r"|hot dogs?|cat ?food|dog ?food|pet ?food|baby blue|his and hers|boyfriend jeans|dad shoes|mom jeans"
)

_MENTION = re.compile(
    "|".join(f"(?P<{name}>{chinese}|(?<![a-z])(?:{english})(?![a-z]))" for name, chinese, english in _PERSONS)
)


_MORE_GENERAL = {
    "daughter": "child",
    "son": "child",
    "wife": "partner",
    "husband": "partner",
    "girlfriend": "partner",
    "boyfriend": "partner",
    "mother": "parents",
    "father": "parents",
    "cat": "pet",
    "dog": "pet",
}
_OF_PERSONS = frozenset(f"{name}_" for name, _, _ in _PERSONS) | {"mom_", "mum_", "dad_", "kid_", "baby_", "kids_"}
PET = "pet"

_OPENING = re.compile(
    r"(?:请?(?:你)?(?:记住|记得)|remember(?: that)?)?[\s，,:：]*(?P<owner>我们?家?的?|咱们?家?的?|家里的?|my "
    r"|our |the |user's )?"
)
_DOES = re.compile(r"\s*(?:对|不|是|吃|爱|喜欢|讨厌|有|怕|is|are|has|eats?|likes?|hates?|needs?|only|can't|doesn't)")
_SAYS_MORE = re.compile(r"\w")

_SIGNS = re.compile(f"[a-z{''.join(sorted({sign for _, words, _ in _PERSONS for sign in words if sign > 'z'}))}]")
_WORDS = re.compile(
    "|".join(
        (
            *(chinese for _, chinese, _ in _PERSONS),
            f"(?<![a-z])(?:{'|'.join(english for _, _, english in _PERSONS)})(?![a-z])",
        )
    )
)
"""What `_MENTION` finds without saying who it is: several times as quick."""


@dataclass(frozen=True)
class Mention:
    """A person's name in a normalised text, and where it stands."""

    person: str
    start: int
    end: int


def mentions_in(text: str) -> list[Mention]:
    """Every other person of a normalised text, in order."""
    if _SIGNS.search(text) is None or _WORDS.search(text) is None:
        return []
    masked = _NOT_A_PERSON.sub(lambda found: "\x00" * len(found.group()), text)
    return [Mention(str(found.lastgroup), found.start(), found.end()) for found in _MENTION.finditer(masked)]


def names_self(text: str) -> bool:
    """Whether the user speaks of themself, and not only as the one whose relative it is (我妈, my mother)."""
    blanked = text
    for mention in mentions_in(text):
        owner = re.search(r"(?:我们?家?的?|咱们?家?的?|\b(?:my|our)\s+(?:\w+\s+)?)$", blanked[: mention.start])
        start = owner.start() if owner else mention.start
        blanked = blanked[:start] + "\x00" * (mention.end - start) + blanked[mention.end :]
    return _SELF.search(blanked) is not None


def without_persons(text: str) -> str:
    """The text with every person's name blanked, so that only what is said of them is left."""
    kept = list(text)
    for mention in mentions_in(text):
        kept[mention.start : mention.end] = " " * (mention.end - mention.start)
    return "".join(kept)


def kind_of(person: str) -> str:
    """What a person is called more generally: a daughter is a child. Keys and values often say no more than that."""
    return _MORE_GENERAL.get(person, person)


def may_be_same(left: str, right: str) -> bool:
    """A daughter is a daughter, or the child; she is not the son."""
    return left in (right, kind_of(right)) or kind_of(left) == right


def person_in_key(fact_key: str) -> str | None:
    """The person whom a key names with one of its words: `mother_nut_allergy`."""
    found = (mention.person for mention in mentions_in(fact_key.replace("_", " ")))
    return next((person for person in found if person != OTHER), None)


def subject_of(fact_key: str, value: str) -> str:
    """Whom a fact is about: the person with whom its value begins, else the one whom its key names, else the user."""
    return subject_in(fact_key, normalise(value))


def subject_in(fact_key: str, text: str) -> str:
    """The same of a normalised value."""
    first = next(iter(mentions_in(text)), None)
    if first is not None and _begins_with(first, text):
        return first.person
    named = person_in_key(fact_key)
    return named if named is not None and kind_of(named) != PET and "_" in fact_key else SELF


def _begins_with(mention: Mention, text: str) -> bool:
    """Whether the text tells of this person. Of a pet only where it is somebody's or does something: "cats" is none."""
    opening, rest = _OPENING.fullmatch(text[: mention.start]), text[mention.end :]
    if opening is None or not _SAYS_MORE.search(rest):
        return False
    return kind_of(mention.person) != PET or opening["owner"] is not None or _DOES.match(rest) is not None
