"""Vectors of queries that were asked before: people look for the same things, and refine what they asked for."""

import hashlib
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from agent.catalogue.embeddings import Embedder, EmbeddingKind, FloatArray


class QueryCache:
    """An embedder that keeps the vectors of the newest `capacity` queries, about 2 kB each. Passages pass through.

    Kept under a hash of the text, so that no user's words stay in memory; a vector depends on the text alone.
    """

    def __init__(self, inner: Embedder, capacity: int = 2_000) -> None:
        self._inner = inner
        self._capacity = capacity
        self._kept: OrderedDict[bytes, FloatArray] = OrderedDict()

    @property
    def model(self) -> str:
        return self._inner.model

    async def embed(self, texts: Sequence[str], kind: EmbeddingKind) -> FloatArray:
        if kind is not EmbeddingKind.QUERY:
            return await self._inner.embed(texts, kind)
        names = {text: hashlib.sha256(text.encode()).digest() for text in texts}
        known = {text: self._kept[name] for text, name in names.items() if name in self._kept}
        missing = [text for text in names if text not in known]
        if missing:
            known.update(zip(missing, await self._inner.embed(missing, kind), strict=True))
        for text, vector in known.items():
            self._keep(names[text], vector)
        return np.stack([known[text] for text in texts])

    def _keep(self, name: bytes, vector: FloatArray) -> None:
        self._kept[name] = vector
        self._kept.move_to_end(name)
        while len(self._kept) > self._capacity:
            self._kept.popitem(last=False)
