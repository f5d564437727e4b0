"""The products in this process: all vectors in one matrix, the filters as conditions on the products themselves.

For the demo's few hundred products a scan of everything takes well under a millisecond. Qdrant's in-process mode
gives the same answers, but copies and validates the payload of every point it looks at in Python.
"""

from collections.abc import Sequence

import numpy as np

from agent.catalogue.embeddings import FloatArray
from agent.catalogue.filters import admitted
from agent.catalogue.products import Product
from agent.catalogue.queries import CatalogueQuery
from agent.catalogue.ranking import CANDIDATES, Candidate
from agent.catalogue.searchable import make_searchable


class LocalIndex:
    """`vectors` holds one row of length 1 per product, in their order."""

    def __init__(self, products: Sequence[Product], vectors: FloatArray) -> None:
        self._entries = [make_searchable(product) for product in products]
        self._by_id = {product.item_id: product for product in products}
        self._vectors = vectors

    def find_candidates(self, vector: FloatArray, query: CatalogueQuery) -> list[Candidate]:
        similarities = self._vectors @ np.asarray(vector, dtype=np.float32)
        found = [
            Candidate(entry, float(similarity))
            for entry, similarity in zip(self._entries, similarities, strict=True)
            if admitted(entry, query)
        ]
        found.sort(key=lambda candidate: (-candidate.similarity, candidate.entry.product.item_id))
        return found[: max(CANDIDATES, query.limit)]

    def find_product(self, item_id: str) -> Product | None:
        return self._by_id.get(item_id)

    def close(self) -> None:
        """Nothing is held open."""
