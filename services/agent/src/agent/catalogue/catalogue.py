"""The port through which tools look for products, and its implementation on an index of them."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

from agent.catalogue.denials import read_denials
from agent.catalogue.embeddings import Embedder, EmbeddingKind, FloatArray
from agent.catalogue.filters import take
from agent.catalogue.products import Product
from agent.catalogue.queries import CatalogueQuery, SearchResult
from agent.catalogue.ranking import Candidate, rank

Answer = TypeVar("Answer")


class Catalogue(Protocol):
    async def search(self, query: CatalogueQuery) -> SearchResult:
        """Raises CatalogueUnavailable (retryable), EmbeddingRefused or IndexMissing (permanent)."""

    async def get(self, item_id: str) -> Product | None:
        """Raises CatalogueUnavailable (retryable) or IndexMissing (permanent)."""


class ProductIndex(Protocol):
    """Where the products and their vectors are: in this process (`local_index`) or in Qdrant (`qdrant_index`)."""

    def find_candidates(self, vector: FloatArray, query: CatalogueQuery) -> list[Candidate]:
        """The nearest offers and those that share words with the query, of all that pass its filters; exclude words
        are not looked at here."""

    def find_product(self, item_id: str) -> Product | None: ...

    def close(self) -> None: ...


class IndexedCatalogue:
    """Searching computes for milliseconds or waits for a server; a few threads of its own keep that off the event
    loop, which also renews leases."""

    def __init__(self, index: ProductIndex, embedder: Embedder, *, threads: int = 2) -> None:
        self._index = index
        self._embedder = embedder
        self._threads = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="catalogue")

    async def search(self, query: CatalogueQuery) -> SearchResult:
        query = without_denials(query)
        [vector] = await self._embedder.embed([query.query], EmbeddingKind.QUERY)
        return await self._off_loop(lambda: self._search(vector, query))

    async def get(self, item_id: str) -> Product | None:
        return await self._off_loop(lambda: self._index.find_product(item_id))

    async def close(self) -> None:
        """Waits for searches under way. The embedder belongs to the caller."""
        await asyncio.to_thread(self._threads.shutdown)
        self._index.close()

    def _search(self, vector: FloatArray, query: CatalogueQuery) -> SearchResult:
        return take(rank(query.query, self._index.find_candidates(vector, query)), query)

    async def _off_loop(self, work: Callable[[], Answer]) -> Answer:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)


def without_denials(query: CatalogueQuery) -> CatalogueQuery:
    """What the query's own words rule out moves to its exclude words, behind those that were given."""
    wanted, denied = read_denials(query.query)
    return query.model_copy(update={"query": wanted, "exclude": (*query.exclude, *denied)}) if denied else query
