"""Caches that match in blocks: OpenAI up to GPT-5.5, DeepSeek V3, DashScope's implicit cache, vLLM."""

import hashlib
from array import array
from collections import OrderedDict
from itertools import pairwise

from offline_model.prefix_cache.simulation import CacheRead
from offline_model.prompts import Prompt


class BlockCache:
    """Credit for the longest known prefix in whole blocks.

    A hit shorter than `minimum` tokens is no hit, and the last token is always computed. Prompts are kept, answers
    are not: some servers keep them too, which would add a little. The least recently used blocks go first, so memory
    is bounded by `capacity` blocks (about 150 bytes each).
    """

    def __init__(self, block: int, minimum: int, capacity: int = 400_000) -> None:
        self._block = block
        self._minimum = minimum
        self._capacity = capacity
        self._known: OrderedDict[bytes, None] = OrderedDict()

    def read(self, model: str, prompt: Prompt) -> CacheRead:
        blocks = self._chained(model, prompt.tokens)
        known = next((i for i, block in enumerate(blocks) if block not in self._known), len(blocks))
        self._use(blocks[:known])
        cached = min(known, (len(prompt) - 1) // self._block) * self._block
        return CacheRead(cached if cached >= self._minimum else 0)

    def keep(self, model: str, prompt: Prompt, answer: "array[int]") -> None:
        self._use(self._chained(model, prompt.tokens))
        while len(self._known) > self._capacity:
            self._known.popitem(last=False)

    def clear(self) -> None:
        self._known.clear()

    def _chained(self, model: str, tokens: "array[int]") -> list[bytes]:
        """A hash per full block, each over everything up to the block's end."""
        chained: list[bytes] = []
        previous = hashlib.blake2b(model.encode(), digest_size=16).digest()
        for start, end in pairwise(range(0, len(tokens) + 1, self._block)):
            previous = hashlib.blake2b(previous + tokens[start:end].tobytes(), digest_size=16).digest()
            chained.append(previous)
        return chained

    def _use(self, blocks: list[bytes]) -> None:
        # Last block first: when memory runs out, the tail of a prefix goes before its head, which serves more requests.
        for block in reversed(blocks):
            self._known[block] = None
            self._known.move_to_end(block)
