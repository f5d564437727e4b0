"""The landed price of one product: pure arithmetic over the import rules of a day."""

from dataclasses import dataclass, replace
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from enum import StrEnum

from babel.numbers import get_currency_precision

from agent.catalogue.exchange_rates import CURRENCIES, convert
from agent.catalogue.products import Product
from agent.landed_price.rules import CustomsArea, Destination, DutyRelief, ImportRules, Tax, in_force, replaced


class LineKind(StrEnum):
    GOODS = "goods"
    SHIPPING = "shipping"
    DUTY = "duty"
    TAX = "tax"
    HANDLING = "handling"


@dataclass(frozen=True)
class Line:
    """One addend. `amount` is None where nobody can say it in advance; `rule` says where it comes from and `since`
    from which day on that rule holds. `before` is the rule whose place it took not long ago."""

    kind: LineKind
    amount: Decimal | None
    rule: str
    since: date | None = None
    estimated: bool = False
    before: str | None = None


@dataclass(frozen=True)
class LandedPrice:
    """`total` is the sum of the known lines, in `currency`; it is complete only where every line is known."""

    item_id: str
    destination: str
    quantity: int
    currency: str
    day: date
    lines: tuple[Line, ...]
    total: Decimal

    @property
    def complete(self) -> bool:
        return all(line.amount is not None for line in self.lines)


class NoQuote(Exception):
    """The message says why, for the model."""


@dataclass(frozen=True)
class _Parcel:
    """What the rules look at, amounts in the destination's customs currency."""

    domain: str
    goods: Decimal
    shipping: Decimal
    area: CustomsArea
    destination: Destination
    day: date


def quote(
    rules: ImportRules, product: Product, destination: str, quantity: int, currency: str, day: date
) -> LandedPrice:
    """Lines in the buyer's `currency`, rounded to its smallest unit each, so that they add up to the total as shown.

    Raises NoQuote for a destination that is not in the table or that the product is not sent to, and for a currency
    without a rate.
    """
    found = rules.destinations.get(destination)
    if found is None:
        raise NoQuote(f"no import rules for {destination}; known: {', '.join(sorted(rules.destinations))}")
    if destination not in product.ships_to:
        raise NoQuote(f"{product.item_id} is not sent to {destination}; it is sent to {', '.join(product.ships_to)}")
    if currency not in CURRENCIES:
        raise NoQuote(f"no rate for {currency}; known: {', '.join(sorted(CURRENCIES))}")
    lines = _lines(rules, product, destination, quantity, day)
    shown = tuple(_in(line, rules.areas[found.area].currency, currency) for line in lines)
    total = sum((line.amount for line in shown if line.amount is not None), Decimal(0))
    return LandedPrice(product.item_id, destination, quantity, currency, day, shown, total)


def _lines(rules: ImportRules, product: Product, country: str, quantity: int, day: date) -> list[Line]:
    destination = rules.destinations[country]
    area = rules.areas[destination.area]
    goods = convert(product.price * quantity, product.currency, area.currency)
    origin = rules.area_of(product.ships_from)
    shipping = _shipping(rules, origin, destination.area, area.currency)
    price_of_goods = Line(LineKind.GOODS, goods, f"{quantity} × {product.price} {product.currency}")
    if origin == destination.area or product.ships_from == country:
        inside = Line(LineKind.TAX, Decimal(0), "sent from inside the customs area: tax is in the price, no import")
        return [price_of_goods, shipping, inside]
    parcel = _Parcel(product.domain, goods, shipping.amount or Decimal(0), area, destination, day)
    duty = _duty(parcel)
    tax = _tax(parcel, duty)
    return [price_of_goods, shipping, duty, tax, _handling(rules, parcel, duty, tax)]


def _shipping(rules: ImportRules, origin: str, area: str, currency: str) -> Line:
    table = rules.shipping
    price = table.within_area if origin == area else table.bands.get(origin, {}).get(area)
    amount = None if price is None else convert(price, table.currency, currency)
    return Line(LineKind.SHIPPING, amount, table.source, estimated=True)


def _duty(parcel: _Parcel) -> Line:
    relief = in_force(parcel.area.reliefs, parcel.day)
    if relief is None or (relief.until is not None and parcel.day > relief.until):
        return Line(LineKind.DUTY, None, "no rule on record for that day")
    return replace(_duty_under(relief, parcel), since=relief.since, before=_relief_before(relief, parcel))


def _duty_under(relief: DutyRelief, parcel: _Parcel) -> Line:
    if parcel.goods <= relief.duty_free_up_to:
        return Line(LineKind.DUTY, Decimal(0), relief.source)
    if relief.flat_duty_per_line is not None and parcel.goods <= relief.flat_duty_up_to:
        return Line(LineKind.DUTY, relief.flat_duty_per_line, relief.source)
    rate = parcel.area.duty_rate(parcel.domain)
    if rate is None:
        return Line(LineKind.DUTY, None, f"{relief.source}; the rate depends on heading and origin")
    amount = (parcel.goods + parcel.shipping) * rate
    return Line(LineKind.DUTY, amount, f"{_percent(rate)}: {parcel.area.duty_source}", estimated=True)


def _relief_before(relief: DutyRelief, parcel: _Parcel) -> str | None:
    found = replaced(parcel.area.reliefs, relief, parcel.day)
    if found is None:
        return None
    earlier, last_day = found
    return f"until {last_day}: no duty up to {earlier.duty_free_up_to} {parcel.area.currency} ({earlier.source})"


def _tax(parcel: _Parcel, duty: Line) -> Line:
    free = in_force(parcel.area.tax_free, parcel.day)
    if free is not None and parcel.goods <= free.up_to:
        return Line(LineKind.TAX, Decimal(0), free.source, free.since)
    tax = in_force(parcel.destination.taxes, parcel.day)
    if tax is None:
        return Line(LineKind.TAX, None, "no rule on record for that day")
    reduced = parcel.destination.reduced_tax
    if reduced is not None and parcel.domain in reduced.domains:
        rate, source = reduced.rate, reduced.source
    else:
        rate, source = tax.rate, f"{tax.name} {_percent(tax.rate)}"
    before = _tax_before(tax, parcel)
    if duty.amount is None:
        rule = f"{source} of goods, shipping and a duty that is not known"
        return Line(LineKind.TAX, None, rule, tax.since, before=before)
    base = parcel.goods + parcel.shipping + duty.amount
    return Line(LineKind.TAX, base * rate, f"{source} of goods, shipping and duty", tax.since, before=before)


def _tax_before(tax: Tax, parcel: _Parcel) -> str | None:
    found = replaced(parcel.destination.taxes, tax, parcel.day)
    if found is None:
        return None
    earlier, last_day = found
    return f"until {last_day}: {earlier.name} {_percent(earlier.rate)}"


def _handling(rules: ImportRules, parcel: _Parcel, duty: Line, tax: Line) -> Line:
    """A carrier asks for it where it advances charges; where the seller collects the tax it advances nothing."""
    if parcel.goods <= parcel.area.seller_collects_tax_up_to:
        return Line(LineKind.HANDLING, Decimal(0), "the seller collects the charges with the price")
    if duty.amount is None or tax.amount is None:
        return Line(LineKind.HANDLING, None, "depends on charges that are not known")
    charges = duty.amount + tax.amount
    if charges == 0:
        return Line(LineKind.HANDLING, Decimal(0), "there is nothing to advance")
    minimum = convert(rules.handling.minimum, rules.handling.currency, parcel.area.currency)
    return Line(LineKind.HANDLING, max(charges * rules.handling.rate, minimum), rules.handling.source, estimated=True)


def _in(line: Line, source: str, target: str) -> Line:
    if line.amount is None:
        return line
    smallest = Decimal(1).scaleb(-get_currency_precision(target))
    return replace(line, amount=convert(line.amount, source, target).quantize(smallest, ROUND_HALF_UP))


def _percent(rate: Decimal) -> str:
    return f"{(rate * 100).normalize():f} %"
