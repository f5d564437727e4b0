"""The copy of a text that the rules look at; what is stored is never taken from it.

Unicode has many ways to write one digit and many characters nobody sees. The copy has one form of each: compatibility
forms (NFKC) folded, invisible and combining characters out, every script's digits, circled ones and Chinese numerals
as ASCII digits, every dash as `-`, every kind of white space as one space character.
"""

import re
import unicodedata
from dataclasses import dataclass

# Letters and symbols by category that show nothing.
_BLANK_LETTERS = frozenset("\u115f\u1160\u3164\uffa0\u2800")
_DOTS = frozenset("·•・∙⋅‧●")
_DASHES = frozenset("\u2212ー─━")
"""What people type for one, besides Unicode's own dashes."""

_CHINESE_NUMERALS = str.maketrans(
    {
        character: str(digit)
        for digit, characters in enumerate(
            ("〇○零洞", "一幺壹弌", "二贰貳", "三叁參", "四肆", "五伍", "六陆陸", "七柒", "八捌", "九玖")
        )
        for character in characters
    }
)
_DIGIT = re.compile(r"[0-9]")


@dataclass(frozen=True, slots=True)
class ScannedText:
    """One text in the forms that rules need. `text` and `numbers` have the same length and positions."""

    cased: str
    text: str
    """Lower case."""
    numbers: str
    """`text` with Chinese numerals as digits."""
    digit_count: int
    about: str
    """What the text is about, in lower case: the words of its key. Empty for a text without a key."""


def scanned(text: str, about: str = "") -> ScannedText:
    cased = fold(text)
    lower = cased.lower()
    numbers = lower if lower.isascii() else lower.translate(_CHINESE_NUMERALS)
    return ScannedText(cased, lower, numbers, len(_DIGIT.findall(numbers)), about)


def fold(text: str) -> str:
    """One form for each character. Linear in the text, which NFKC may lengthen by a constant factor."""
    if text.isascii() and text.isprintable():
        return text
    return unicodedata.normalize("NFKC", text).translate(_FOLDED)


def is_invisible(character: str) -> bool:
    """Format characters, private and unassigned ones, and letters that show nothing."""
    return unicodedata.category(character) in ("Cf", "Cs", "Co", "Cn") or character in _BLANK_LETTERS


def _folded(character: str) -> str:
    category = unicodedata.category(character)
    if character in _DOTS:
        return "·"
    if category == "Pd" or character in _DASHES:
        return "-"
    if character.isspace():
        return " "
    if category in ("Cc", "Mn", "Me") or is_invisible(character):
        return ""
    digit = unicodedata.digit(character, None)
    return character if digit is None else str(digit)


class _FoldedCharacters(dict[int, str]):
    """A table for `str.translate` that fills itself, up to a bound."""

    _BOUND = 20_000

    def __missing__(self, code: int) -> str:
        if len(self) >= self._BOUND:
            self.clear()
        return self.setdefault(code, _folded(chr(code)))


_FOLDED = _FoldedCharacters()
