"""The order of the answer. Pure: candidates in, ranked candidates out.

Vectors alone are weak where the exact word matters (a model number, a material), words alone are weak across
languages and synonyms; so candidates come from both, and both scores are added.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from agent.catalogue.searchable import SearchableProduct
from agent.catalogue.sparse import query_terms, weight

CANDIDATES = 200
"""How many of the nearest offers are ranked, and as many of those that share words with the query."""

_LEXICAL_WEIGHT = 0.5


@dataclass(frozen=True)
class Candidate:
    """An offer that passes the filters, with its cosine similarity to the query (-1 to 1)."""

    entry: SearchableProduct
    similarity: float


@dataclass(frozen=True)
class Ranked:
    """`score` is 0 to 1 and compares the candidates of one query only."""

    entry: SearchableProduct
    score: float


def rank(query: str, candidates: Sequence[Candidate]) -> list[Ranked]:
    """Best first, ties by item id."""
    dense = _spread([candidate.similarity for candidate in candidates])
    lexical = lexical_scores(query, [candidate.entry for candidate in candidates])
    ranked = [
        Ranked(candidate.entry, round((1 - _LEXICAL_WEIGHT) * near + _LEXICAL_WEIGHT * words, 6))
        for near, words, candidate in zip(dense, lexical, candidates, strict=True)
    ]
    return sorted(ranked, key=lambda one: (-one.score, one.entry.product.item_id))


def lexical_scores(query: str, entries: Sequence[SearchableProduct]) -> list[float]:
    """How much of the query each product's words cover, 0 to 1; a term that few products have weighs more."""
    asked = query_terms(query)
    frequency = Counter(term for entry in entries for term in asked if weight(entry, term) > 0)
    rarity = {term: math.log(1 + len(entries) / (1 + frequency[term])) for term in asked}
    total = sum(rarity.values())
    if total == 0:
        return [0.0] * len(entries)
    return [sum(rarity[term] * weight(entry, term) for term in asked) / total for entry in entries]


def _spread(similarities: Sequence[float]) -> list[float]:
    """Stretch to 0..1: these models put everything between about 0.75 and 0.95."""
    if not similarities:
        return []
    low, high = min(similarities), max(similarities)
    if high - low < 1e-9:
        return [1.0] * len(similarities)
    return [(similarity - low) / (high - low) for similarity in similarities]
