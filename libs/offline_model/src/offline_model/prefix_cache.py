"""Simulated prefix caches: how many tokens of a prompt a provider would have read from its cache.

One cache serves all requests, as a provider's does, and is kept per model. A policy says what counts as a hit;
more providers are added as further policies.
"""

import hashlib
from array import array
from collections import OrderedDict
from enum import StrEnum
from itertools import pairwise
from typing import Protocol


class CachePolicy(StrEnum):
    BLOCK128 = "block128"


class PrefixCache(Protocol):
    def match_and_store(self, model: str, prompt: "array[int]") -> int:
        """Number of leading tokens that were cached; afterwards the whole prompt is."""


class BlockPrefixCache:
    """Credit for the longest known prefix in whole blocks, as OpenAI up to GPT-5.5 documents it.

    A hit shorter than `minimum` tokens is no hit, and the last token is always computed. The least recently used
    blocks go first, so memory is bounded by `capacity` blocks (about 150 bytes each).
    """

    def __init__(self, block: int = 128, minimum: int = 1024, capacity: int = 200_000) -> None:
        self._block = block
        self._minimum = minimum
        self._capacity = capacity
        self._known: OrderedDict[bytes, None] = OrderedDict()

    def match_and_store(self, model: str, prompt: "array[int]") -> int:
        blocks = self._chained_blocks(model, prompt)
        hits = next((i for i, block in enumerate(blocks) if block not in self._known), len(blocks))
        self._remember(blocks)
        cached = min(hits, (len(prompt) - 1) // self._block) * self._block
        return cached if cached >= self._minimum else 0

    def _chained_blocks(self, model: str, prompt: "array[int]") -> list[bytes]:
        """A hash per full block, each over everything up to the block's end."""
        chained: list[bytes] = []
        previous = hashlib.blake2b(model.encode(), digest_size=16).digest()
        for start, end in pairwise(range(0, len(prompt) + 1, self._block)):
            previous = hashlib.blake2b(previous + prompt[start:end].tobytes(), digest_size=16).digest()
            chained.append(previous)
        return chained

    def _remember(self, blocks: list[bytes]) -> None:
        # Last block first: when memory runs out, the tail of a prefix goes before its head, which serves more requests.
        for block in reversed(blocks):
            self._known[block] = None
            self._known.move_to_end(block)
        while len(self._known) > self._capacity:
            self._known.popitem(last=False)


def prefix_cache_of(policy: CachePolicy) -> PrefixCache:
    match policy:
        case CachePolicy.BLOCK128:
            return BlockPrefixCache(block=128, minimum=1024)
