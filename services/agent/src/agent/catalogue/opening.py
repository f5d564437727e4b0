"""Building and opening the catalogue: `python -m agent build-catalogue` once, then every agent opens it.

Qdrant's client is imported only where there is a server: that takes a second, half of what an agent needs to start.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from agent.catalogue import vector_file
from agent.catalogue.catalogue import IndexedCatalogue
from agent.catalogue.embeddings import Embedder, EmbeddingKind, FloatArray
from agent.catalogue.errors import IndexMissing
from agent.catalogue.local_index import LocalIndex
from agent.catalogue.products import Product, load_products
from agent.catalogue.searchable import fingerprint, passage
from common.logs import get_logger

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

_log = get_logger(__name__)

_BATCH = 32
"""Texts per embedding request; a small local model takes about a second for as many."""


@dataclass(frozen=True)
class BuildOutcome:
    fingerprint: str
    products: int
    built: bool
    """False where everything was there already."""


async def build_vectors(embedder: Embedder, directory: Path) -> BuildOutcome:
    """Make the vector file for local mode, unless it is current. Raises EmbeddingUnavailable, EmbeddingRefused."""
    products = load_products()
    name = fingerprint(products, embedder.model)
    item_ids = [product.item_id for product in products]
    try:
        vector_file.read_vectors(directory, name, item_ids)
    except IndexMissing:
        vectors = await _embed(embedder, products)
        vector_file.write_vectors(directory, name, embedder.model, item_ids, vectors)
        return BuildOutcome(name, len(products), built=True)
    return BuildOutcome(name, len(products), built=False)


async def build_collection(embedder: Embedder, client: "QdrantClient") -> BuildOutcome:
    """Fill and publish the collection on a Qdrant server, unless it is published.

    For a command line: Qdrant is called on the event loop. Raises also CatalogueUnavailable.
    """
    from agent.catalogue import qdrant_index

    products = load_products()
    name = fingerprint(products, embedder.model)
    if qdrant_index.is_published(client, name):
        return BuildOutcome(name, len(products), built=False)
    qdrant_index.fill(client, name, products, await _embed(embedder, products))
    qdrant_index.publish(client, name)
    return BuildOutcome(name, len(products), built=True)


async def build_index(
    embedder: Embedder, *, directory: Path | None = None, qdrant_url: str | None = None
) -> BuildOutcome:
    """Build where the settings say: a Qdrant server if there is one, else the directory."""
    if qdrant_url is not None:
        from agent.catalogue import qdrant_index

        client = qdrant_index.connect(qdrant_url)
        try:
            return await build_collection(embedder, client)
        finally:
            client.close()
    if directory is None:
        raise ValueError("either QDRANT_URL or CATALOGUE_DIR is needed")
    return await build_vectors(embedder, directory)


def open_catalogue(
    embedder: Embedder, *, directory: Path | None = None, qdrant_url: str | None = None
) -> IndexedCatalogue:
    """Open what was built, for the lifetime of a process. Blocks shortly: call it while starting.

    Without a Qdrant server the vector file is loaded into this process. Raises IndexMissing, and for a server
    CatalogueUnavailable.
    """
    products = load_products()
    name = fingerprint(products, embedder.model)
    if qdrant_url is not None:
        from agent.catalogue import qdrant_index

        client = qdrant_index.connect(qdrant_url)
        if not qdrant_index.is_published(client, name):
            client.close()
            raise IndexMissing("Qdrant does not hold the catalogue of this release; run build-catalogue")
        return IndexedCatalogue(qdrant_index.QdrantIndex(client), embedder)
    if directory is None:
        raise ValueError("either QDRANT_URL or CATALOGUE_DIR is needed")
    vectors = vector_file.read_vectors(directory, name, [product.item_id for product in products])
    return IndexedCatalogue(LocalIndex(products, vectors), embedder)


async def _embed(embedder: Embedder, products: Sequence[Product]) -> FloatArray:
    texts = [passage(product) for product in products]
    parts: list[FloatArray] = []
    for start in range(0, len(texts), _BATCH):
        parts.append(await embedder.embed(texts[start : start + _BATCH], EmbeddingKind.PASSAGE))
        _log.info("catalogue.embedding", done=min(start + _BATCH, len(texts)), of=len(texts))
    return np.concatenate(parts)
