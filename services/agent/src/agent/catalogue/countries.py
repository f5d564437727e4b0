"""Countries by code or by exact name: those of the Unicode CLDR in Chinese and English, and what else people say."""

import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from typing import Annotated

from babel import Locale
from pydantic import BeforeValidator

_LANGUAGES = ("zh", "zh_Hant", "en")
_ALSO = {
    "US": "usa|united states of america|america",
    "GB": "uk|great britain|britain|england|scotland|wales|northern ireland|英格兰|苏格兰|威尔士|北爱尔兰",
    "IE": "republic of ireland",
    "KR": "korea|republic of korea|南韩|大韩民国",
    "NL": "holland",
    "CZ": "czech republic",
    "AE": "uae|阿联酋",
    "AU": "澳洲",
    "CN": "mainland china|中国大陆|中国内地",
    "HK": "hong kong|hong kong sar|hong kong, china|香港|中国香港",
    "MO": "macau|macao|macao, china|澳门|澳門|中国澳门",
    "TW": "taiwan, china|中国台湾",
    "TR": "turkey",
    "VN": "viet nam",
    "CI": "ivory coast|象牙海岸",
    "MM": "myanmar|burma",
    "RU": "russian federation",
    "DE": "deutschland",
    "AT": "österreich",
    "CH": "schweiz|suisse",
    "ES": "españa",
    "IT": "italia",
}
_OTHER_CODES = {"UK": "GB", "EL": "GR"}
"""In wide use, in the EU's own texts for one, and not in ISO 3166."""
_WORD = re.compile("ad|ai|am|as|at|be|by|do|id|in|is|it|ma|me|mr|ms|my|no|pa|pm|ps|re|so|to|tv")
"""English words that are codes in capitals only. "us" is the country: nobody writes the word where one is asked for."""
_NO_COUNTRIES = frozenset(["EU", "EZ", "UN", "QO", "XA", "XB", "ZZ", "AC", "CP", "CQ", "DG", "EA", "IC", "TA"])
"""Codes that the CLDR gives to groups of countries, to what is unknown, to tests, and to islands and coasts that belong
to a country of ISO 3166."""
_CODES = (
    frozenset(code for code in Locale("en").territories if isinstance(code, str) and re.fullmatch("[A-Z]{2}", code))
    - _NO_COUNTRIES
)
_BETWEEN_TWO = re.compile(r"[(),]| - ")
_INITIAL = re.compile(r"\b(\w|st)\.", re.IGNORECASE)


def country_code(text: str) -> str | None:
    """ISO 3166-1 alpha-2 of a code, of an exact name, or of both together: "Germany", "the US", "DE, Germany".

    None for everything else. A name within other words may be another place (New Mexico), or be ruled out.
    """
    written = plain(text)
    code = _exact(written)
    if code is None:
        codes = {_exact(part.strip()) for part in _BETWEEN_TWO.split(written) if part.strip()}
        code = codes.pop() if len(codes) == 1 else None
    return code


def plain(text: str) -> str:
    """As names are compared, but for upper and lower case: without accents, typographic signs and the dots of
    initials."""
    letters = "".join(sign for sign in unicodedata.normalize("NFKD", text) if not unicodedata.combining(sign))
    return " ".join(_INITIAL.sub(r"\1", letters).replace("’", "'").replace("&", "and").split())


@cache
def country_names() -> Mapping[str, str]:
    """Codes by names as `plain` writes them, in lower case."""
    names: dict[str, str] = {}
    for language in _LANGUAGES:
        territories = Locale.parse(language).territories
        names.update({_folded(territories[code]): code for code in sorted(_CODES) if code in territories})
    return {**names, **{_folded(name): code for code, also in _ALSO.items() for name in also.split("|")}}


def _exact(written: str) -> str | None:
    bare = re.sub(r"^the ", "", written, flags=re.IGNORECASE)
    code = _OTHER_CODES.get(bare.upper(), bare.upper())
    if code in _CODES and (bare.isupper() or not _WORD.fullmatch(bare.casefold())):
        return code
    return country_names().get(bare.casefold())


def _folded(name: str) -> str:
    return plain(name).casefold()


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
