"""Currencies by what people call them: ISO 4217 codes, names of the Unicode CLDR, and what is said in shops."""

import unicodedata
from functools import cache
from typing import Annotated

from babel.numbers import get_currency_name
from pydantic import BeforeValidator

from agent.catalogue.exchange_rates import CURRENCIES

_LANGUAGES = ("zh", "zh_Hant", "en")
_ALSO = {
    "CNY": "rmb|renminbi|yuan|元|块|块钱",
    "HKD": "hk$|港币|港元",
    "TWD": "nt$|台币|新台币",
    "JPY": "yen|日币|日圆",
    "SGD": "s$|sg$|新币",
    "USD": "us$|dollar|dollars|美金|美刀",
    "CAD": "c$|ca$|加元|加币",
    "AUD": "a$|au$|澳元|澳币",
    "EUR": "€|euros",
    "GBP": "£|pound|pounds|sterling|pound sterling|pounds sterling",
}
"""¥ is none of them: it is written for CNY and for JPY."""


def currency_code(text: str) -> str | None:
    """The code of a currency that there is a rate for; None for any other."""
    folded = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return folded.upper() if folded.upper() in CURRENCIES else _names().get(folded)


@cache
def _names() -> dict[str, str]:
    names: dict[str, str] = {}
    for code in sorted(CURRENCIES):
        for language in _LANGUAGES:
            for count in (None, 2):  # US Dollar, US dollars
                names[get_currency_name(code, count, locale=language).casefold()] = code
    return {**names, **{name: code for code, also in _ALSO.items() for name in also.split("|")}}


def asked_currency(value: object) -> object:
    """For validators: the code, None for a blank. Raises ValueError that tells the model what to write."""
    if not isinstance(value, str):
        return value
    code = currency_code(value)
    if code is None and value.strip():
        raise ValueError(f"not a known currency; write one of {', '.join(sorted(CURRENCIES))}")
    return code


AskedCurrency = Annotated[str | None, BeforeValidator(asked_currency)]
"""A currency in a call's arguments, as its code."""
