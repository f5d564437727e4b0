"""Countries by what people call them, from the names of the Unicode CLDR."""

from functools import cache

from babel import Locale

_LANGUAGES = ("zh", "zh_Hant", "en", "de", "fr", "es", "ja")
_ALSO = {
    "usa": "US",
    "america": "US",
    "u.s.": "US",
    "uk": "GB",
    "england": "GB",
    "britain": "GB",
    "korea": "KR",
    "南韩": "KR",
    "holland": "NL",
}
_CODES = frozenset(
    code for code in Locale("en").territories if isinstance(code, str) and len(code) == 2 and code.isalpha()
)


def country_code(text: str) -> str | None:
    """ISO 3166-1 alpha-2 of a code or a name; of a longer text, the one country that it names.

    None where it names no country, or several.
    """
    folded = text.strip().casefold()
    if folded.upper() in _CODES:
        return folded.upper()
    if folded in _names():
        return _names()[folded]
    named = {code for name, code in _names().items() if _stands_in(name, folded)}
    return named.pop() if len(named) == 1 else None


@cache
def _names() -> dict[str, str]:
    names: dict[str, str] = {}
    for language in _LANGUAGES:
        territories = Locale.parse(language).territories
        names.update({territories[code].casefold(): code for code in _CODES if code in territories})
    return {**names, **_ALSO}


def _stands_in(name: str, text: str) -> bool:
    """A name in Latin letters stands as a word of its own; a Chinese one anywhere."""
    if name not in text:
        return False
    if not name.isascii():
        return True
    before, _, after = text.partition(name)
    return not (before[-1:].isalnum() or after[:1].isalnum())
