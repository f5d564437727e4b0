"""Countries by what people call them, from the names of the Unicode CLDR."""

import re
from functools import cache
from typing import Annotated

from babel import Locale
from pydantic import BeforeValidator

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
    "czech republic": "CZ",
    "uae": "AE",
    "阿联酋": "AE",
    "澳洲": "AU",
    "香港": "HK",
    "中国香港": "HK",
    "hong kong": "HK",
    "澳门": "MO",
    "澳門": "MO",
    "中国澳门": "MO",
    "macau": "MO",
    "macao": "MO",
    "中国台湾": "TW",
}
_OTHER_CODES = {"UK": "GB", "EL": "GR"}
"""In wide use, in the EU's own texts for one, and not in ISO 3166. In a longer text "el" names nothing."""
_NO_COUNTRIES = frozenset(["EU", "EZ", "UN", "QO", "XA", "XB", "ZZ", "AC", "CP", "CQ", "DG", "EA", "IC", "TA"])
"""Codes that the CLDR gives to groups of countries, to what is unknown, to tests, and to islands and coasts that belong
to a country of ISO 3166."""
_CODES = (
    frozenset(code for code in Locale("en").territories if isinstance(code, str) and re.fullmatch("[A-Z]{2}", code))
    - _NO_COUNTRIES
)


def country_code(text: str) -> str | None:
    """ISO 3166-1 alpha-2 of a code or a name; of a longer text, the one country that it names.

    None where it names no country, or several.
    """
    folded = text.strip().casefold()
    code = _OTHER_CODES.get(folded.upper(), folded.upper())
    if code in _CODES:
        return code
    if folded in _names():
        return _names()[folded]
    named = {_names()[name] for name in _any_name().findall(folded)}
    return named.pop() if len(named) == 1 else None


def _asked_for(value: object) -> object:
    if not isinstance(value, str):
        return value
    code = country_code(value)
    if code is None and value.strip():
        raise ValueError(
            "this names no country, or several; write the ISO 3166-1 alpha-2 code of one (DE, GB, US), "
            "or ask the user which one it is"
        )
    return code


AskedCountry = Annotated[str | None, BeforeValidator(_asked_for)]
"""A country in a call's arguments, as its code. A blank is none; of what is not understood the error tells the model
what to write."""


@cache
def _names() -> dict[str, str]:
    names: dict[str, str] = {}
    for language in _LANGUAGES:
        territories = Locale.parse(language).territories
        names.update({territories[code].casefold(): code for code in sorted(_CODES) if code in territories})
    return {**names, **_ALSO}


@cache
def _any_name() -> re.Pattern[str]:
    """The longest name counts: 「印度」 is not named in 「印度尼西亚」."""
    return re.compile("|".join(map(_standing, sorted(_names(), key=len, reverse=True))))


def _standing(name: str) -> str:
    """A name in Latin letters stands as a word of its own; a Chinese one anywhere."""
    letter = r"[0-9a-z\u00df-\u024f]"
    return rf"(?<!{letter}){re.escape(name)}(?!{letter})" if re.match(letter, name) else re.escape(name)
