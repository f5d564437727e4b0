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
from agent.catalogue.sparse import SparseIndex


class LocalIndex:
    """`vectors` holds one row of length 1 per product, in their order."""

    def __init__(self, products: Sequence[Product], vectors: FloatArray) -> None:
        self._entries = [make_searchable(product) for product in products]
        self._by_id = {product.item_id: product for product in products}
        self._vectors = vectors
        self._sparse = SparseIndex(self._entries)

    def find_candidates(self, vector: FloatArray, query: CatalogueQuery) -> list[Candidate]:
        similarities = self._vectors @ np.asarray(vector, dtype=np.float32)
        shared = self._sparse.scores(query.query)
        found = [position for position, entry in enumerate(self._entries) if admitted(entry, query)]
        most = max(CANDIDATES, query.limit)
        nearest = sorted(found, key=lambda position: (-similarities[position], position))[:most]
        sharing = sorted((p for p in found if p in shared), key=lambda position: (-shared[position], position))[:most]
        chosen = dict.fromkeys(nearest + sharing)
        return [Candidate(self._entries[position], float(similarities[position])) for position in chosen]

    def find_product(self, item_id: str) -> Product | None:
        return self._by_id.get(item_id)

    def close(self) -> None:
        """Nothing is held open."""
