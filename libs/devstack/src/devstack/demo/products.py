"""The demo's own look at the catalogue: whether what was listed is what it should be."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from agent.catalogue.exchange_rates import convert
from agent.catalogue.products import Product, load_products

NUTS = frozenset({"nuts", "peanut", "almond", "hazelnut", "walnut", "cashew", "pistachio", "macadamia", "pecan"})
PLASTICS = frozenset({"abs", "polypropylene", "polycarbonate", "pet_plastic", "copolyester", "pvc", "acrylic", "tpu"})
NUT_WORDS = ("坚果", "花生", "杏仁", "nut")


def listed_products(items: Iterable[dict[str, Any]]) -> list[Product]:
    """The catalogue's own entries of what was listed. Raises KeyError for a product that does not exist."""
    by_id = {product.item_id: product for product in load_products()}
    return [by_id[item["item_id"]] for item in items]


def over_budget(products: Iterable[Product], most: Decimal, currency: str) -> list[str]:
    return [p.item_id for p in products if convert(p.price, p.currency, currency) > most]


def not_shipped_to(products: Iterable[Product], country: str) -> list[str]:
    return [p.item_id for p in products if country not in p.ships_to]


def made_of(products: Iterable[Product], materials: frozenset[str]) -> list[str]:
    return [p.item_id for p in products if materials.intersection(p.materials)]


def sum_of_prices(products: Iterable[Product], currency: str) -> Decimal:
    return sum((convert(p.price, p.currency, currency) for p in products), Decimal(0))


def with_nuts(products: Iterable[Product]) -> list[str]:
    return [p.item_id for p in products if NUTS.intersection(p.allergens)]


def about_nuts(facts: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The constraints that speak of nuts, whatever the model called them."""
    constraints = [fact for fact in facts if fact["category"] == "constraint"]
    return [fact for fact in constraints if any(word in f"{fact['key']} {fact['value']}" for word in NUT_WORDS)]


def excludes_nuts(searches: Iterable[dict[str, Any]]) -> bool:
    """Whether every search there was (and there was one) rules nuts out."""
    excluded = [" ".join(search.get("exclude") or []).lower() for search in searches]
    return bool(excluded) and all(any(word in words for word in NUT_WORDS) for words in excluded)
