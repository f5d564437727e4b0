"""Whether a text mentions a word that the user ruled out. Pure.

Chinese words match as substrings. Latin words match as words, singular or plural: as a substring "nut" would
also hit "minute" and "nutrition". A mention that says the opposite (无镍, "nut-free") is no mention; the lists of
materials and allergens are never read that way, so a slogan cannot outweigh them.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from agent.catalogue.denials import read_denials
from common.text import normalise

_LATIN_WORD = re.compile(r"[0-9a-z\u00df-\u024f][0-9a-z\u00df-\u024f '&.+-]*")
_CHINESE_TAIL = re.compile(r"(?<=..)(?:类|制品|成分|食品)$")
_LATIN_LETTER = r"[0-9a-z\u00df-\u024f]"
_DENIED_BEFORE_ZH = r"(?:不含|不带|不加|不是|无添加|未添加|不添加|没有|不|没|未|无|零|(?<![0-9.])0|非)\s?"
_DENIED_BEFORE_EN = (
    r"\b(?:no(?: added)?|not|without|free of|free from|non|(?:do|does)(?: not|n['’]t) contain)[ -](?:an? |any )?"
)
_LISTED_ZH = r"不含(?:[\u4e00-\u9fff]{1,6}(?:、|和|或|及|与))*"
_LISTED_EN = (
    rf"\bfree (?:of|from) (?:{_LATIN_LETTER}+(?: {_LATIN_LETTER}+)?(?:, (?:and |or )?| and | or ))*"
    "(?:(?<= and )|(?<= or ))"
)
_DENIED_AFTER_EN = r"[ -]free\b"


def first_mention(words: Iterable[str], claims: str, declared: str) -> str | None:
    """The first of the words that one of the texts mentions, as it was given. Both texts are normalised.

    `claims` is what the seller says in sentences, where a denial counts; `declared` are the lists.
    """
    return next((word for word in words if any(_is_mentioned(each, claims, declared) for each in _meant(word))), None)


@lru_cache(maxsize=2_000)
def _meant(word: str) -> tuple[str, ...]:
    """What a word rules out. Who excludes 「不含坚果」 or "nut-free" repeats the user's words, and means the nuts."""
    return read_denials(word).denied or (normalise(word),)


def _is_mentioned(word: str, claims: str, declared: str) -> bool:
    pattern = _mention(word)
    if pattern is None:
        return False
    return bool(pattern.search(declared) or pattern.search(_denial(word).sub(" ", claims)))


@lru_cache(maxsize=2_000)
def _mention(word: str) -> re.Pattern[str] | None:
    core = _core(word)
    return re.compile(core) if core else None


@lru_cache(maxsize=2_000)
def _denial(word: str) -> re.Pattern[str]:
    core = _core(word)
    before = (_LISTED_ZH, _LISTED_EN, _DENIED_BEFORE_ZH, _DENIED_BEFORE_EN)
    return re.compile("|".join([*(f"{denied}{core}" for denied in before), f"{core}{_DENIED_AFTER_EN}"]))


def _core(word: str) -> str:
    if not word:
        return ""
    if not _LATIN_WORD.fullmatch(word):
        return re.escape(_CHINESE_TAIL.sub("", word))
    return rf"(?<!{_LATIN_LETTER}){_either_number(word)}(?!{_LATIN_LETTER})"


def _either_number(word: str) -> str:
    """A pattern for the singular and the plural of an English noun, whichever of them is given."""
    if word.endswith("ies") and len(word) > 4:
        return re.escape(word[:-3]) + "(?:y|ies)"
    if word.endswith("y") and len(word) > 2:
        return re.escape(word[:-1]) + "(?:y|ys|ies)"
    if word.endswith("s") and not word.endswith("ss") and len(word) > 3:
        return re.escape(word[:-1]) + "(?:s|es)?"
    return re.escape(word) + "(?:s|es)?"
