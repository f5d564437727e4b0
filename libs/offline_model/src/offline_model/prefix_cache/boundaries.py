"""Caches that cannot be cut: DeepSeek V4, OpenAI from GPT-5.6, llama.cpp and MLX with hybrid or sliding-window models.

Their state exists only where a request's prompt or its answer ended. A prompt gets credit for an entire earlier text
and for nothing shorter, so one changed token costs everything from the last boundary before it.
"""

import hashlib
from array import array
from bisect import insort
from collections import Counter, OrderedDict
from collections.abc import Iterator

from offline_model.prefix_cache.simulation import CacheRead
from offline_model.prompts import Prompt


class BoundaryCache:
    """Credit for the longest known boundary before the prompt's end; the least recently used boundaries go first.

    The boundary must lie before the last token, which has to be computed and whose state cannot be stepped back from:
    the same prompt again finds the boundary before its own. What DeepSeek adds (prefixes it detects, fixed intervals)
    is left out, so this is the hardest case.
    """

    def __init__(self, capacity: int = 20_000) -> None:
        self._capacity = capacity
        self._lengths = Counter[int]()
        self._ordered_lengths: list[int] = []
        self._known: OrderedDict[bytes, int] = OrderedDict()

    def read(self, model: str, prompt: Prompt) -> CacheRead:
        cached = 0
        for length, digest in self._prefixes(model, prompt.tokens):
            if digest in self._known:
                self._known.move_to_end(digest)
                cached = length
        return CacheRead(cached)

    def keep(self, model: str, prompt: Prompt, answer: "array[int]") -> None:
        digest = _started(model)
        digest.update(prompt.tokens.tobytes())
        self._add(digest.digest(), len(prompt))
        digest.update(answer.tobytes())
        self._add(digest.digest(), len(prompt) + len(answer))

    def clear(self) -> None:
        self._known.clear()
        self._lengths.clear()
        self._ordered_lengths.clear()

    def _prefixes(self, model: str, tokens: "array[int]") -> Iterator[tuple[int, bytes]]:
        """The prompt's prefixes that are as long as some boundary, shortest first, each with its hash."""
        digest = _started(model)
        start = 0
        for length in self._ordered_lengths:
            if length >= len(tokens):
                return
            digest.update(tokens[start:length].tobytes())
            start = length
            yield length, digest.copy().digest()

    def _add(self, digest: bytes, length: int) -> None:
        if digest not in self._known:
            self._lengths[length] += 1
            if self._lengths[length] == 1:
                insort(self._ordered_lengths, length)
        self._known[digest] = length
        self._known.move_to_end(digest)
        while len(self._known) > self._capacity:
            self._forget_oldest()

    def _forget_oldest(self) -> None:
        _, length = self._known.popitem(last=False)
        self._lengths[length] -= 1
        if not self._lengths[length]:
            del self._lengths[length]
            self._ordered_lengths.remove(length)


def _started(model: str) -> "hashlib.blake2b":
    return hashlib.blake2b(model.encode() + b"\x00", digest_size=16)
