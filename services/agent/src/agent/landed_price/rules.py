"""Import rules as data: what a destination charges, and since when.

`data/import_rules.json` is written by hand from public rules; every figure carries its source and its dates. Where a
rule changed recently both are kept, so that a quote for an earlier day uses the rule of that day.
"""

from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Protocol, TypeVar

from pydantic import BaseModel, ConfigDict


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Tax(_Table):
    """VAT, GST or consumption tax; `rate` is a share (0.19)."""

    name: str
    rate: Decimal
    since: date


class ReducedTax(_Table):
    rate: Decimal
    domains: frozenset[str]
    source: str


class Destination(_Table):
    area: str
    taxes: tuple[Tax, ...]
    reduced_tax: ReducedTax | None = None


class DutyRelief(_Table):
    """Duty on small parcels. Values are of the goods alone, in the area's currency, limits included."""

    duty_free_up_to: Decimal
    since: date
    until: date | None = None
    flat_duty_per_line: Decimal | None = None
    flat_duty_up_to: Decimal = Decimal(0)
    source: str


class TaxRelief(_Table):
    """Goods up to this value are imported without tax."""

    up_to: Decimal
    since: date
    source: str


class CustomsArea(_Table):
    """Countries with one tariff. Duty rates are typical for a domain; without any, the duty is unknown."""

    currency: str
    reliefs: tuple[DutyRelief, ...]
    tax_free: tuple[TaxRelief, ...]
    seller_collects_tax_up_to: Decimal = Decimal(0)
    duty_rates: dict[str, Decimal] = {}
    flat_duty_rate: Decimal | None = None
    duty_source: str

    def duty_rate(self, domain: str) -> Decimal | None:
        return self.duty_rates.get(domain, self.flat_duty_rate)


class Shipping(_Table):
    """An estimate by customs areas, in `currency`. Good until a day; afterwards it wants to be looked at again."""

    source: str
    currency: str
    until: date
    within_area: Decimal
    bands: dict[str, dict[str, Decimal]]


class Handling(_Table):
    """What a carrier asks for advancing import charges."""

    source: str
    rate: Decimal
    minimum: Decimal
    currency: str


class ImportRules(_Table):
    as_of: date
    areas: dict[str, CustomsArea]
    destinations: dict[str, Destination]
    shipping: Shipping
    handling: Handling

    def area_of(self, country: str) -> str:
        """The customs area of a country; a country that is not in the table is an area of its own."""
        destination = self.destinations.get(country)
        return country if destination is None else destination.area


_A_DAY = timedelta(days=1)
_RECENT = timedelta(days=730)


class _Dated(Protocol):
    @property
    def since(self) -> date: ...


Rule = TypeVar("Rule", bound=_Dated)


def in_force(rules: Sequence[Rule], day: date) -> Rule | None:
    """The rule of a day: the latest that had begun; None where the table does not reach back that far."""
    begun = [rule for rule in rules if rule.since <= day]
    return max(begun, key=lambda rule: rule.since) if begun else None


def replaced(rules: Sequence[Rule], rule: Rule, day: date) -> tuple[Rule, date] | None:
    """The rule that this one took the place of, with its last day; None where that is more than two years before."""
    before = in_force(rules, rule.since - _A_DAY)
    return None if before is None or day - rule.since > _RECENT else (before, rule.since - _A_DAY)


@cache
def load_rules() -> ImportRules:
    text = files("agent.landed_price").joinpath("data", "import_rules.json").read_text(encoding="utf-8")
    return ImportRules.model_validate_json(text)
