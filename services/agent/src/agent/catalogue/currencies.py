"""Currencies by what people call them: ISO 4217 codes, names of the Unicode CLDR, and what is said in shops."""

from functools import cache
from typing import Annotated

from babel import Locale
from pydantic import BeforeValidator

from agent.catalogue.exchange_rates import CURRENCIES

_LANGUAGES = ("zh", "zh_Hant", "en")
_ALSO = {
    "rmb": "CNY",
    "元": "CNY",
    "yuan": "CNY",
    "美金": "USD",
    "us$": "USD",
    "dollar": "USD",
    "dollars": "USD",
    "€": "EUR",
    "euros": "EUR",
    "£": "GBP",
    "pound": "GBP",
    "pounds": "GBP",
    "日币": "JPY",
    "yen": "JPY",
    "港币": "HKD",
    "台币": "TWD",
}


def currency_code(text: str) -> str | None:
    """The code of a currency that there is a rate for; None for any other."""
    folded = text.strip().casefold()
    return folded.upper() if folded.upper() in CURRENCIES else _names().get(folded)


@cache
def _names() -> dict[str, str]:
    locales = [Locale.parse(language) for language in _LANGUAGES]
    return {**{locale.currencies[code].casefold(): code for locale in locales for code in sorted(CURRENCIES)}, **_ALSO}


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
