"""Rates for comparing prices across currencies, for the demo catalogue only.

A fixed table, rounded by hand as of 2025-01-15: good enough to say that 60 EUR is under 500 CNY, not to charge anyone.
"""

from decimal import Decimal

RATES_AS_OF = "2025-01-15"

_CNY_PER_UNIT: dict[str, Decimal] = {
    "CNY": Decimal("1"),
    "HKD": Decimal("0.94"),
    "TWD": Decimal("0.222"),
    "JPY": Decimal("0.0465"),
    "KRW": Decimal("0.005"),
    "SGD": Decimal("5.35"),
    "USD": Decimal("7.33"),
    "CAD": Decimal("5.1"),
    "AUD": Decimal("4.55"),
    "EUR": Decimal("7.55"),
    "GBP": Decimal("8.95"),
    "CHF": Decimal("8.05"),
}

CURRENCIES = frozenset(_CNY_PER_UNIT)


def to_cny(amount: Decimal, currency: str) -> Decimal:
    """The amount in CNY, not rounded. Raises KeyError for a currency outside `CURRENCIES`."""
    return amount * _CNY_PER_UNIT[currency]


def convert(amount: Decimal, source: str, target: str) -> Decimal:
    """The amount in another currency, not rounded. Raises KeyError for a currency outside `CURRENCIES`."""
    return amount if source == target else to_cny(amount, source) / _CNY_PER_UNIT[target]
