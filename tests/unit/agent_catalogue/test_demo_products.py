"""The demo catalogue as data: what the demo and the model rely on."""

from collections import Counter
from decimal import Decimal

import pytest
from pydantic import ValidationError

from agent.catalogue.allergens import ALLERGENS
from agent.catalogue.domains import DOMAINS
from agent.catalogue.exchange_rates import convert
from agent.catalogue.exclusion import first_mention
from agent.catalogue.materials import MATERIALS
from agent.catalogue.products import Product, load_products
from agent.catalogue.searchable import make_searchable

PRODUCTS = load_products()

_COUNTRY_CODES = "AT AU BE CA CH CN CZ DE DK ES FI FR GB HK ID IE IT JP KR MO MX MY NL NZ PH PL PT SE SG TH TW US VN"
ASSIGNED_COUNTRIES = frozenset(_COUNTRY_CODES.split())
"""The ISO 3166-1 codes in use; a new one has to be looked up and added."""

NUTS = ("nuts", "peanut", "almond", "hazelnut", "walnut", "cashew", "pistachio", "macadamia", "pecan")
NUT_WORDS = tuple(word for slug in NUTS for word in ALLERGENS[slug].words())


def of_domain(slug: str) -> list[Product]:
    return [product for product in PRODUCTS if product.domain == slug]


def test_there_are_22_domains_with_at_least_15_products_each() -> None:
    assert len(DOMAINS) == 22
    assert len(PRODUCTS) >= 330
    counts = Counter(product.domain for product in PRODUCTS)
    assert min(counts[slug] for slug in DOMAINS) >= 15


def test_ids_are_unique_and_name_their_domain() -> None:
    ids = [product.item_id for product in PRODUCTS]
    assert len(set(ids)) == len(ids)
    assert ids == sorted(ids)
    for product in PRODUCTS:
        assert product.item_id.startswith(DOMAINS[product.domain].item_prefix + "-")


def test_every_product_is_written_in_both_languages() -> None:
    for product in PRODUCTS:
        for text in (product.title_zh, product.description_zh):
            assert any("\u4e00" <= character <= "\u9fff" for character in text), product.item_id
        for text in (product.title_en, product.description_en):
            assert not any("\u3400" <= character <= "\u9fff" for character in text), product.item_id
            assert sum(character.isascii() and character.isalpha() for character in text) >= 5, product.item_id


def test_no_two_products_are_the_same() -> None:
    for field in ("title_zh", "title_en", "description_zh", "description_en"):
        texts = Counter(getattr(product, field) for product in PRODUCTS)
        assert [text for text, count in texts.items() if count > 1] == []


def test_countries_are_assigned_codes_and_offers_reach_their_own_country_or_abroad() -> None:
    for product in PRODUCTS:
        assert {product.ships_from, *product.ships_to} <= ASSIGNED_COUNTRIES, product.item_id
        assert len(set(product.ships_to)) == len(product.ships_to), product.item_id


def test_several_currencies_and_platforms_are_there() -> None:
    assert {product.currency for product in PRODUCTS} == {"CNY", "USD", "EUR", "JPY"}
    assert len({product.platform for product in PRODUCTS}) >= 5
    assert all(product.attributes and product.materials for product in PRODUCTS)


def test_the_demo_finds_commuter_backpacks_up_to_500_yuan_for_germany() -> None:
    fitting = [
        product.item_id
        for product in of_domain("bags_luggage")
        if "通勤" in product.title_zh
        and ("双肩包" in product.title_zh or "背包" in product.title_zh)
        and "DE" in product.ships_to
        and convert(product.price, product.currency, "CNY") <= Decimal(500)
    ]
    assert len(fitting) >= 8


def test_snacks_come_with_nuts_and_without_for_germany() -> None:
    snacks = of_domain("snacks_food")
    with_nuts = [product for product in snacks if set(product.allergens) & set(NUTS)]
    without = [product for product in snacks if product not in with_nuts]
    assert len(with_nuts) >= 10
    assert len(without) >= 10
    assert sum("DE" in product.ships_to for product in without) >= 8
    assert sum("DE" in product.ships_to for product in with_nuts) >= 6


@pytest.mark.parametrize("domain", ["snacks_food", "tea_coffee", "skincare_beauty", "books_gifts", "pets"])
def test_a_nut_that_is_mentioned_is_also_declared(domain: str) -> None:
    for product in of_domain(domain):
        entry = make_searchable(product)
        ingredients = " ".join(word for slug in product.materials for word in MATERIALS[slug].words())
        mentioned = first_mention(NUT_WORDS, entry.claims, ingredients)
        assert mentioned is None or set(product.allergens) & set(NUTS), (product.item_id, mentioned)


def test_every_term_has_both_languages() -> None:
    for slug, names in (ALLERGENS | MATERIALS).items():
        assert names.zh.strip(), slug
        assert names.en.strip(), slug


@pytest.mark.parametrize(
    "change",
    [
        {"price": "0"},
        {"price": "-1"},
        {"price": "9.999"},
        {"currency": "XXX"},
        {"domain": "weapons"},
        {"ships_to": ["Germany"]},
        {"ships_to": []},
        {"allergens": ["dust"]},
        {"materials": ["unobtainium"]},
        {"title_en": ""},
        {"item_id": "1"},
        {"colour": "red"},
    ],
)
def test_what_is_no_product_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Product.model_validate(PRODUCTS[0].model_dump(mode="json") | change)


def test_names_follow_the_language() -> None:
    backpack = next(product for product in PRODUCTS if product.item_id == "bag-001")
    assert backpack.title("zh") == backpack.title_zh
    assert backpack.material_names("zh") == ["涤纶", "网布"]
    assert backpack.material_names("en") == ["polyester", "mesh"]
