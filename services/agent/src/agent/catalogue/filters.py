"""Which offers a query admits. Pure; prices are compared exactly, as decimals."""

from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache

from agent.catalogue.exchange_rates import convert
from agent.catalogue.exclusion import first_mention
from agent.catalogue.products import Product
from agent.catalogue.queries import CatalogueQuery, Exclusion, SearchResult
from agent.catalogue.ranking import Ranked
from agent.catalogue.searchable import SearchableProduct
from common.text import normalise

_RELEVANCE_FLOOR = 0.45
"""What scores below this share of the best listed offer is no answer to the query."""


def admitted(entry: SearchableProduct, query: CatalogueQuery) -> bool:
    """Whether the offer passes every filter of the query, except the exclude words."""
    product = entry.product
    return (
        (query.domain is None or product.domain == query.domain)
        and (query.ships_to is None or query.ships_to in product.ships_to)
        and (not query.platforms or product.platform in map(normalise, query.platforms))
        and (not query.brands or entry.brand_key in map(normalise, query.brands))
        and price_admitted(product, query)
    )


def price_admitted(product: Product, query: CatalogueQuery) -> bool:
    """Both bounds belong to the range."""
    if query.price_min is None and query.price_max is None:
        return True
    price = _converted(product.price, product.currency, query.currency)
    if query.price_min is not None and price < query.price_min:
        return False
    return query.price_max is None or price <= query.price_max


@lru_cache(maxsize=50_000)
def _converted(price: Decimal, source: str, target: str) -> Decimal:
    return convert(price, source, target)


def take(ranked: Iterable[Ranked], query: CatalogueQuery) -> SearchResult:
    """The first `limit` that no exclude word hits, and what those words kept out on the way.

    The best of what is left sets the bar: where the best of all is ruled out, the next best still count.
    """
    items: list[Product] = []
    excluded: list[Exclusion] = []
    bar = 0.0
    for one in ranked:
        if len(items) == query.limit or one.score < bar:
            break
        word = first_mention(query.exclude, one.entry.claims, one.entry.declared)
        if word is not None:
            excluded.append(Exclusion(one.entry.product.item_id, word))
            continue
        bar = bar or one.score * _RELEVANCE_FLOOR
        items.append(one.entry.product)
    return SearchResult(items, excluded)
