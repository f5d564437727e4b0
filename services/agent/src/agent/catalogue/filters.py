"""Which offers a query admits. Pure; prices are compared exactly, as decimals."""

from collections.abc import Iterable

from agent.catalogue.exchange_rates import convert
from agent.catalogue.exclusion import first_mention
from agent.catalogue.products import Product
from agent.catalogue.queries import CatalogueQuery, Exclusion, SearchResult
from agent.catalogue.ranking import Ranked

_RELEVANCE_FLOOR = 0.45
"""What scores below this share of the best listed offer is no answer to the query."""


def price_admitted(product: Product, query: CatalogueQuery) -> bool:
    """Both bounds belong to the range."""
    if query.price_min is None and query.price_max is None:
        return True
    price = convert(product.price, product.currency, query.currency)
    if query.price_min is not None and price < query.price_min:
        return False
    return query.price_max is None or price <= query.price_max


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
