"""The landed price: which rule of which day, and that the lines add up."""

from datetime import date
from decimal import Decimal

import pytest

from agent.catalogue.products import Product, load_products
from agent.landed_price.quote import LandedPrice, LineKind, NoQuote, quote
from agent.landed_price.rules import load_rules

AUTUMN = date(2026, 11, 30)
BEFORE_FLAT_DUTY = date(2026, 6, 30)


@pytest.fixture(scope="module")
def backpack() -> Product:
    product = next(product for product in load_products() if product.item_id == "bag-001")
    everywhere = ("CN", "DE", "FR", "GB", "US", "JP", "KR", "CH", "AU", "SG", "HK", "CA")
    return product.model_copy(update={"price": Decimal("299.00"), "ships_to": everywhere})


def priced(backpack: Product, price: str) -> Product:
    return backpack.model_copy(update={"price": Decimal(price)})


def quoted(
    product: Product, destination: str, *, day: date = AUTUMN, currency: str = "EUR", quantity: int = 1
) -> LandedPrice:
    return quote(load_rules(), product, destination, quantity, currency, day)


def amount(price: LandedPrice, kind: LineKind) -> Decimal | None:
    return next(line.amount for line in price.lines if line.kind is kind)


def test_the_lines_add_up_to_the_total_as_shown(backpack: Product) -> None:
    for destination in load_rules().destinations:
        if destination in backpack.ships_to:
            price = quoted(backpack, destination, currency="CNY")
            assert price.total == sum(line.amount for line in price.lines if line.amount is not None)


@pytest.mark.parametrize("currency", ["JPY", "KRW"])
def test_a_currency_without_cents_is_shown_without_them(backpack: Product, currency: str) -> None:
    price = quoted(backpack, "DE", currency=currency)
    assert all(line.amount == int(line.amount) for line in price.lines if line.amount is not None)
    assert (str(price.total), price.complete) == (str(sum(line.amount or 0 for line in price.lines)), True)
    assert "." not in str(price.total)


def test_a_small_parcel_to_germany_pays_a_flat_duty_since_july_2026(backpack: Product) -> None:
    assert amount(quoted(backpack, "DE"), LineKind.DUTY) == Decimal("3.00")
    assert amount(quoted(backpack, "DE", day=BEFORE_FLAT_DUTY), LineKind.DUTY) == Decimal("0.00")


def test_the_flat_duty_is_for_a_line_and_not_for_each_piece(backpack: Product) -> None:
    assert amount(quoted(priced(backpack, "99.00"), "DE", quantity=5), LineKind.DUTY) == Decimal("3.00")


def test_a_rule_that_changed_not_long_ago_names_both_days(backpack: Product) -> None:
    duty = next(line for line in quoted(backpack, "DE").lines if line.kind is LineKind.DUTY)
    assert duty.since == date(2026, 7, 1)
    assert duty.before is not None
    assert duty.before.startswith("until 2026-06-30: no duty up to 150 EUR")
    estonian = backpack.model_copy(update={"ships_to": ("EE",)})
    tax = next(line for line in quoted(estonian, "EE").lines if line.kind is LineKind.TAX)
    assert (tax.since, tax.before) == (date(2025, 7, 1), "until 2025-06-30: VAT 22 %")
    later = next(line for line in quoted(estonian, "EE", day=date(2027, 7, 3)).lines if line.kind is LineKind.TAX)
    assert later.before is None


def test_every_amount_is_an_exact_decimal(backpack: Product) -> None:
    lines = quoted(priced(backpack, "0.10"), "DE", quantity=3, currency="CNY").lines
    assert next(line.amount for line in lines if line.kind is LineKind.GOODS) == Decimal("0.30")
    assert {type(line.amount) for line in lines} == {Decimal}


def test_vat_is_on_goods_shipping_and_duty(backpack: Product) -> None:
    price = quoted(backpack, "DE")
    base = sum(amount(price, kind) or 0 for kind in (LineKind.GOODS, LineKind.SHIPPING, LineKind.DUTY))
    tax = amount(price, LineKind.TAX)
    assert tax is not None
    assert abs(tax - base * Decimal("0.19")) < Decimal("0.02")


def test_above_the_limit_the_tariff_and_the_carriers_handling_apply(backpack: Product) -> None:
    price = quoted(priced(backpack, "2000.00"), "DE")
    assert (amount(price, LineKind.DUTY) or 0) > 3
    assert (amount(price, LineKind.HANDLING) or 0) >= 6


def test_the_limit_counts_the_whole_order(backpack: Product) -> None:
    assert amount(quoted(backpack, "GB"), LineKind.DUTY) == 0
    assert (amount(quoted(backpack, "GB", quantity=5), LineKind.DUTY) or 0) > 0


def test_a_duty_that_nobody_can_say_makes_the_price_incomplete(backpack: Product) -> None:
    price = quoted(backpack, "US")
    assert amount(price, LineKind.DUTY) is None
    assert not price.complete
    assert quoted(backpack, "US", day=date(2025, 8, 28)).complete


def test_inside_the_customs_area_nothing_is_imported(backpack: Product) -> None:
    price = quoted(backpack.model_copy(update={"ships_from": "FR", "currency": "EUR"}), "DE")
    assert [line.kind for line in price.lines] == [LineKind.GOODS, LineKind.SHIPPING, LineKind.TAX]
    assert amount(price, LineKind.TAX) == 0


def test_a_changed_tax_rate_applies_from_its_day() -> None:
    snack = next(product for product in load_products() if "SG" in product.ships_to and product.ships_from == "CN")
    before = amount(quoted(snack, "SG", day=date(2023, 12, 31)), LineKind.TAX)
    after = amount(quoted(snack, "SG", day=date(2024, 1, 1)), LineKind.TAX)
    assert before is not None
    assert after is not None
    assert after > before


def test_food_and_books_pay_the_reduced_rate() -> None:
    tea = next(p for p in load_products() if p.domain == "tea_coffee" and "DE" in p.ships_to and p.ships_from == "CN")
    tax = next(line for line in quoted(tea, "DE").lines if line.kind is LineKind.TAX)
    assert "Reduced" in tax.rule


@pytest.mark.parametrize(("destination", "currency"), [("BR", "EUR"), ("DE", "XYZ")])
def test_what_is_not_in_the_tables_is_said(backpack: Product, destination: str, currency: str) -> None:
    with pytest.raises(NoQuote, match=destination if destination == "BR" else currency):
        quoted(backpack, destination, currency=currency)


def test_a_product_that_is_not_sent_there_has_no_price(backpack: Product) -> None:
    with pytest.raises(NoQuote, match="not sent"):
        quoted(backpack.model_copy(update={"ships_to": ("CN",)}), "DE")


def test_every_duty_table_names_only_domains_of_the_catalogue() -> None:
    domains = {product.domain for product in load_products()}
    for area in load_rules().areas.values():
        assert not set(area.duty_rates) - domains
