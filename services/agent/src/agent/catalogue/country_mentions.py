"""The country that a stored text names, such as a fact in the user's own words.

A wrong country is worse than none: the user is asked where none is found.
"""

import re
from collections.abc import Mapping
from functools import cache

from agent.catalogue.countries import country_code, country_names, plain

_STATES = (
    "alabama|alaska|arizona|arkansas|california|colorado|connecticut|delaware|florida|hawaii|idaho|illinois|indiana|iowa|"
    "kansas|kentucky|louisiana|maine|maryland|massachusetts|michigan|minnesota|mississippi|missouri|montana|nebraska|"
    "nevada|new hampshire|new jersey|new mexico|new york|north carolina|north dakota|ohio|oklahoma|oregon|pennsylvania|"
    "rhode island|south carolina|south dakota|tennessee|texas|utah|vermont|virginia|washington|west virginia|wisconsin|"
    "wyoming|新墨西哥|新泽西|马里兰"
)
"""Of the United States: a town of theirs may bear a country's name (Lebanon, New Hampshire)."""
_OTHER_PLACES = (
    "south america|latin america|north america|central america|jersey city|west jordan|south jordan|"
    "netherlands antilles|new england|new south wales|georgia|上海地|马里乌波尔|印度洋|西印度|约旦河西岸"
)
"""Names with a country's within them, and one that is a country's and a state's: they name none."""

_LETTER = r"[0-9A-Za-z\u00df-\u024f]"
_NO_STATE = r"(?!,\s*(?-i:[A-Z]{2})(?![0-9A-Za-z]))"
"""Lebanon, NH."""
_RULED_OUT = re.compile(
    r"不(?!来梅)|[别別](?=[寄送发發去往到再给給把])|勿|除|[以之]外|非(?!洲)|没|沒|避免|禁|拒"
    rf"|(?<!{_LETTER})(?:not|never|cannot|except\w*|exclud\w+|outside|without|avoid\w*|besides|unless|no(?!\.?\s*\d)"
    rf"|(?:other|rather) than|instead of|(?:any|every)\w* but)(?!{_LETTER})|n't",
    re.IGNORECASE,
)


def country_in_text(text: str) -> str | None:
    """ISO 3166-1 alpha-2 of the one country that the text names.

    None where it names no country, or several, or denies anything: what it denies may be the country.
    """
    code = country_code(text)
    if code is not None:
        return code
    written = plain(text)
    if _RULED_OUT.search(_any_place().sub(" ", written)):
        return None
    named = {_places()[name.casefold()] for name in _any_place().findall(written)} - {None}
    return named.pop() if len(named) == 1 else None


@cache
def _places() -> Mapping[str, str | None]:
    none: dict[str, str | None] = dict.fromkeys(_OTHER_PLACES.split("|"))
    return {"us": "US", **country_names(), **dict.fromkeys(_STATES.split("|"), "US"), **none}


@cache
def _any_place() -> re.Pattern[str]:
    """The longest name counts: 「印度」 is not named in 「印度尼西亚」."""
    return re.compile("|".join(map(_standing, sorted(_places(), key=len, reverse=True))), re.IGNORECASE)


def _standing(name: str) -> str:
    """A name in Latin letters stands as a word of its own; a Chinese one anywhere. "us" is a word, US the country."""
    if not re.match(_LETTER, name):
        return re.escape(name)
    written = "(?-i:US)" if name == "us" else re.escape(name)
    return rf"(?<!{_LETTER}){written}(?!{_LETTER}){_NO_STATE}"
