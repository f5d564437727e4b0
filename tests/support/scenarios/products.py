"""Whether products are what a scenario expects, judged by the catalogue's own entries."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from tests.support.scenarios.expectation import Price, Products

from agent.catalogue.exchange_rates import convert
from agent.catalogue.products import Product, load_products


def faults_of_products(wanted: Products, items: Sequence[Mapping[str, Any]]) -> list[str]:
    """`items` are cards, or entries of a search's result."""
    ids = [str(item["item_id"]) for item in items]
    unknown = [item_id for item_id in ids if item_id not in _catalogue()]
    if unknown:
        return [f"not in the catalogue: {unknown}"]
    if wanted.none:
        return [f"there are products: {ids}"] if ids else []
    products = [_catalogue()[item_id] for item_id in ids]
    return [*_faults_of_number(wanted, ids), *_faults_of_marks(wanted, items), *_faults_of_each(wanted, products)]


def _faults_of_number(wanted: Products, ids: Sequence[str]) -> Iterator[str]:
    if len(ids) < wanted.at_least:
        yield f"{len(ids)} products, fewer than {wanted.at_least}"
    if wanted.at_most is not None and len(ids) > wanted.at_most:
        yield f"{len(ids)} products, more than {wanted.at_most}"
    if wanted.first is not None and ids[:1] != [wanted.first]:
        yield f"the first of {ids} is not {wanted.first}"
    yield from (f"{item_id} is not among {ids}" for item_id in wanted.includes if item_id not in ids)
    yield from (f"{item_id} is among them" for item_id in wanted.lacks if item_id in ids)


def _faults_of_marks(wanted: Products, items: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    marked = [item["item_id"] for item in items if item.get("marks")]
    if wanted.marked is not None and wanted.marked != bool(marked):
        yield f"marked are {marked}" if marked else "none is marked"


def _faults_of_each(wanted: Products, products: Sequence[Product]) -> Iterator[str]:
    for product in products:
        if wanted.price_at_most is not None and _over(product, wanted.price_at_most):
            yield f"{product.item_id} costs {product.price} {product.currency}"
        if wanted.ships_to is not None and wanted.ships_to not in product.ships_to:
            yield f"{product.item_id} does not ship to {wanted.ships_to}"
        if wanted.domains and product.domain not in wanted.domains:
            yield f"{product.item_id} is of {product.domain}"
        made_of = set(wanted.without).intersection((*product.materials, *product.allergens))
        if made_of:
            yield f"{product.item_id} has {sorted(made_of)}"


def _over(product: Product, most: Price) -> bool:
    return convert(product.price, product.currency, most.currency) > most.amount


@cache
def _catalogue() -> dict[str, Product]:
    return {product.item_id: product for product in load_products()}
