"""Sparse retrieval: products by the words they share with a query, whatever their vectors say.

The vectors of a model number or a rare name are close to nothing, so such a product may not be among the nearest at
all. The terms of a product are a sparse vector; a query finds what shares some, the rarer the better. This only decides
who is a candidate; the order of the answer is `ranking`'s.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from agent.catalogue.searchable import SearchableProduct, terms
from common.text import normalise

KEY_WEIGHT = 1.0
OTHER_WEIGHT = 0.5


def weight(entry: SearchableProduct, term: str) -> float:
    """Words of the title, the brand and the attributes count more than those of the text."""
    if term in entry.key_terms:
        return KEY_WEIGHT
    return OTHER_WEIGHT if term in entry.other_terms else 0.0


def weighted_terms(entry: SearchableProduct) -> Iterator[tuple[str, float]]:
    """The product's sparse vector, by term."""
    for term in sorted(entry.key_terms | entry.other_terms):
        yield term, weight(entry, term)


def query_terms(query: str) -> list[str]:
    """Each term once, sorted."""
    return sorted(set(terms(normalise(query))))


class SparseIndex:
    """The postings of all products in this process. Scores as Qdrant's sparse vectors with the IDF modifier do."""

    def __init__(self, entries: Sequence[SearchableProduct]) -> None:
        self._postings: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for position, entry in enumerate(entries):
            for term, term_weight in weighted_terms(entry):
                self._postings[term].append((position, term_weight))
        self._rarity = {term: _rarity(len(entries), len(found)) for term, found in self._postings.items()}

    def scores(self, query: str) -> Counter[int]:
        """By position, for the products that share a term with the query."""
        scores: Counter[int] = Counter()
        for term in query_terms(query):
            for position, term_weight in self._postings.get(term, ()):
                scores[position] += term_weight * self._rarity[term]  # type: ignore[assignment]
        return scores


def _rarity(products: int, having: int) -> float:
    return math.log(1 + (products - having + 0.5) / (having + 0.5))
