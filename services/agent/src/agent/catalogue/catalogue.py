"""The port through which tools look for products, and its implementation on Qdrant."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

from qdrant_client import QdrantClient

from agent.catalogue import qdrant_index
from agent.catalogue.embeddings import Embedder, EmbeddingKind
from agent.catalogue.filters import take
from agent.catalogue.products import Product
from agent.catalogue.queries import CatalogueQuery, SearchResult
from agent.catalogue.ranking import rank

Answer = TypeVar("Answer")


class Catalogue(Protocol):
    async def search(self, query: CatalogueQuery) -> SearchResult:
        """Raises CatalogueUnavailable (retryable), EmbeddingRefused or IndexMissing (permanent)."""

    async def get(self, item_id: str) -> Product | None:
        """Raises CatalogueUnavailable (retryable) or IndexMissing (permanent)."""


class QdrantCatalogue:
    """Searching computes for milliseconds, in process or waiting for a server; a few threads of its own keep that
    off the event loop, which also renews leases."""

    def __init__(self, client: QdrantClient, embedder: Embedder, *, threads: int = 2) -> None:
        self._client = client
        self._embedder = embedder
        self._threads = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="catalogue")

    async def search(self, query: CatalogueQuery) -> SearchResult:
        [vector] = (await self._embedder.embed([query.query], EmbeddingKind.QUERY)).tolist()
        return await self._off_loop(lambda: self._search(vector, query))

    async def get(self, item_id: str) -> Product | None:
        return await self._off_loop(lambda: qdrant_index.find_product(self._client, item_id))

    async def close(self) -> None:
        """Waits for searches under way. The embedder belongs to the caller."""
        await asyncio.to_thread(self._threads.shutdown)
        self._client.close()

    def _search(self, vector: list[float], query: CatalogueQuery) -> SearchResult:
        candidates = qdrant_index.find_candidates(self._client, vector, query)
        return take(rank(query.query, candidates), query)

    async def _off_loop(self, work: Callable[[], Answer]) -> Answer:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)
