"""What a query itself rules out: 「不含坚果的零食」, "nut-free snacks". Pure.

Neither vectors nor words understand a denial: both would bring what it names to the top. So it is taken out of what is
looked for and becomes an exclude word. Only materials and allergens are read this way; 「无线」 denies nothing.
"""

import re
from typing import NamedTuple

from agent.catalogue.vocabulary import words_within
from common.text import normalise

_LETTER = r"[0-9a-z\u00df-\u024f]"
_BEFORE_ZH = (
    r"(?:(?<![含带加要有吃])(?:不含|不带|不加|不要|没有|不吃)"  # not 「有没有坚果」, which asks for some
    r"|不想要|不能有|别带|避开|无添加|未添加|不添加|无|零|非)\s?"
)
_BEFORE_EN = rf"(?<!{_LETTER})(?:no|not|non|without|free of|free from|avoid|avoiding|allergic to)[ -](?:an? |any )?"
_JOINED = r"(?:\s?(?:、|,|和|或者|或|与|及|以及)\s?|\s(?:and|or|nor)\s)"
_KIND_ZH = r"(?:类|制品|成分)?"
_ALLERGIC_ZH = r"(?:过敏|不耐受)的?"
_AFTER_EN = r"[ -](?:free|allergy|intolerance)\b"


class AskedFor(NamedTuple):
    """`wanted` is the query without its denials (whole where nothing would be left), `denied` the words in them."""

    wanted: str
    denied: tuple[str, ...]


def read_denials(query: str) -> AskedFor:
    text = normalise(query)
    known = words_within(text)
    if not known:
        return AskedFor(query, ())
    word = "(?:" + "|".join(map(_pattern, known)) + ")"
    denied: list[str] = []

    def take_out(found: re.Match[str]) -> str:
        denied.extend(re.findall(word, found.group()))
        return " "

    wanted = " ".join(_denial(word).sub(take_out, text).split())
    if not denied:
        return AskedFor(query, ())
    return AskedFor(wanted or query, tuple(dict.fromkeys(denied)))


def _denial(word: str) -> re.Pattern[str]:
    words = f"{word}{_KIND_ZH}(?:{_JOINED}{word}{_KIND_ZH})*"
    return re.compile(f"(?:{_BEFORE_ZH}|{_BEFORE_EN}){words}(?:过敏)?的?|对?{words}{_ALLERGIC_ZH}|{words}{_AFTER_EN}")


def _pattern(word: str) -> str:
    return rf"(?<!{_LETTER}){re.escape(word)}(?:s|es)?(?!{_LETTER})" if word.isascii() else re.escape(word)
