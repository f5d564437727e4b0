"""How a user points at products that were shown: by place in the list, or as "it"; and how many they want."""

import re

_ORDINALS = {word: number for number, words in enumerate(("一1", "二两2", "三3", "四4", "五5")) for word in words}
_ENGLISH_ORDINALS = {word: number for number, word in enumerate(("first", "second", "third", "fourth", "fifth"))}
_PLACE = re.compile(
    r"第(?P<zh>[一二两三四五1-5])(?:个|款|件|条|双|只|号|样)|"
    r"\b(?P<en>first|second|third|fourth|fifth)\b(?! (?:time|aid|hand|class))|"
    r"\b(?:number|option|no\.|#) ?(?P<number>[1-5])\b",
    re.IGNORECASE,
)
_FIRST_TWO = re.compile(r"前两(?:个|款|件)|(?:这)?两(?:个|款|件)都|\b(?:first two|both)\b", re.IGNORECASE)
_IT = re.compile(
    r"这(?:个|款|件|条|双|只|样)(?!价|月|周|时|国)|那(?:个|款|件)|刚才(?:那|选)|就它|它|"
    r"\b(?:it|this(?= to )|this one|that one|this item|that item)\b",
    re.IGNORECASE,
)
_THESE = re.compile(
    r"(?:从|在)?(?:这|那|上面|刚才)(?:的)?(?:[几些两三四五]|\d)(?:个|款|件|样)?(?:里|中|当中|里面|之中)?|"
    r"\b(?:of|from|among|between) (?:these|those|them)\b|\bthese (?:two|three|four|five|items|options)\b",
    re.IGNORECASE,
)
_COUNTS = {character: value for value, character in enumerate("零一二三四五六七八九十")} | {"两": 2}
_ENGLISH_COUNTS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_COUNT = re.compile(
    r"(?<![第前\d这那])(?P<zh>[一两二三四五六七八九十]|\d{1,2})\s*(?:件|个|份|盒|条|双|只|台|瓶|套|包|罐|支|副|把)(?!都|月|小时|人|国|里)|"
    r"\b(?P<en>two|three|four|five|six|\d{1,2}) (?:of|pieces|units|copies)\b|\bquantity (?P<number>\d{1,2})\b|"
    r"[x×]\s?(?P<times>\d{1,2})\b",
    re.IGNORECASE,
)


def places_in(words: str) -> list[int]:
    """Which ones of a list are meant, counted from 0, in the order of the words."""
    if _FIRST_TWO.search(words):
        return [0, 1]
    found = (
        _ENGLISH_ORDINALS[match["en"].lower()] if match["en"] else _ORDINALS[match["zh"] or match["number"]]
        for match in _PLACE.finditer(words)
    )
    return list(dict.fromkeys(found))


def points_at_one(words: str) -> bool:
    """「这个」, "it": the one that was spoken of last."""
    return _IT.search(words) is not None


def points_at_several(words: str) -> bool:
    """「这几款里」, "which of these": among what was shown."""
    return _THESE.search(words) is not None


def quantity_in(words: str) -> int | None:
    """How many of a thing; None where the words do not say, or say what nobody can order."""
    found = _COUNT.search(words)
    if found is None:
        return None
    text = next(group for group in found.groups() if group is not None).lower()
    count = int(text) if text.isdigit() else _COUNTS.get(text) or _ENGLISH_COUNTS[text]
    return count if count > 0 else None
