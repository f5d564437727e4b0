"""What was asked before is not embedded again."""

from collections.abc import Sequence

import numpy as np

from agent.catalogue.embeddings import EmbeddingKind, FloatArray
from agent.catalogue.query_cache import QueryCache


class Lengths:
    """Embeds a text as its length, and notes what it was asked."""

    model = "lengths"

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    async def embed(self, texts: Sequence[str], kind: EmbeddingKind) -> FloatArray:
        self.asked.append(list(texts))
        return np.array([[len(text)] for text in texts], dtype=np.float32)


async def test_only_new_queries_are_asked_for_and_rows_keep_their_order() -> None:
    inner = Lengths()
    cache = QueryCache(inner)
    assert cache.model == "lengths"
    for texts in (["a"], ["a", "bb"], ["ccc", "a", "ccc", "bb"], ["bb"]):
        vectors = await cache.embed(texts, EmbeddingKind.QUERY)
        assert vectors.tolist() == [[len(text)] for text in texts]
    assert inner.asked == [["a"], ["bb"], ["ccc"]]


async def test_passages_pass_through() -> None:
    inner = Lengths()
    cache = QueryCache(inner)
    for _ in range(2):
        await cache.embed(["a"], EmbeddingKind.PASSAGE)
    await cache.embed(["a"], EmbeddingKind.QUERY)
    assert inner.asked == [["a"], ["a"], ["a"]]


async def test_what_was_not_asked_for_long_is_forgotten() -> None:
    inner = Lengths()
    cache = QueryCache(inner, capacity=2)
    for text in ("a", "bb", "a", "ccc", "a", "bb"):
        await cache.embed([text], EmbeddingKind.QUERY)
    assert inner.asked == [["a"], ["bb"], ["ccc"], ["bb"]]
