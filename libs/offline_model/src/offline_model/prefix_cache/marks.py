"""Caches with explicit marks: Anthropic's, and DashScope's explicit one (`cache_control` in a content block)."""

import hashlib
from array import array
from collections import OrderedDict
from collections.abc import Iterator

from common.clock import Clock
from offline_model.errors import InvalidRequest
from offline_model.prefix_cache.simulation import CacheRead
from offline_model.prompts import Prompt

_MOST_MARKS = 4


class MarkedCache:
    """Something is cached only where an earlier request had a mark.

    For each mark of a request, the `lookback` blocks that end with the marked one are searched, from the last to the
    first, for what an earlier request wrote at one of them; the longest find counts. After the answer every marked
    prefix of at least `minimum` tokens is written. It lives for `lifetime` seconds after it was last written or read.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        minimum: int = 1024,
        lookback: int = 20,
        lifetime: float = 300.0,
        capacity: int = 100_000,
    ) -> None:
        self._clock = clock
        self._minimum = minimum
        self._lookback = lookback
        self._lifetime = lifetime
        self._capacity = capacity
        self._until: OrderedDict[bytes, float] = OrderedDict()
        """When each known prefix ends to live, the next one to end first."""

    def read(self, model: str, prompt: Prompt) -> CacheRead:
        if len(prompt.marks) > _MOST_MARKS:
            raise InvalidRequest(f"a request takes at most {_MOST_MARKS} cache_control marks", "too_many_cache_marks")
        self._forget_expired()
        prefixes = _prefixes(model, prompt)
        cached = max((self._found(mark, prefixes) for mark in prompt.marks), default=0)
        last = max((prefixes[mark][0] for mark in prompt.marks), default=0)
        return CacheRead(cached, max(0, last - cached) if last >= self._minimum else 0)

    def keep(self, model: str, prompt: Prompt, answer: "array[int]") -> None:
        prefixes = _prefixes(model, prompt)
        for mark in prompt.marks:
            length, digest = prefixes[mark]
            if length >= self._minimum:
                self._renew(digest)
        while len(self._until) > self._capacity:
            self._until.popitem(last=False)

    def clear(self) -> None:
        self._until.clear()

    def _found(self, mark: int, prefixes: list[tuple[int, bytes]]) -> int:
        for length, digest in reversed(prefixes[max(0, mark + 1 - self._lookback) : mark + 1]):
            if digest in self._until:
                self._renew(digest)
                return length
        return 0

    def _renew(self, digest: bytes) -> None:
        self._until[digest] = self._clock.monotonic() + self._lifetime
        self._until.move_to_end(digest)

    def _forget_expired(self) -> None:
        now = self._clock.monotonic()
        while self._until and next(iter(self._until.values())) <= now:
            self._until.popitem(last=False)


def _prefixes(model: str, prompt: Prompt) -> list[tuple[int, bytes]]:
    """For each block of the prompt: the length of the prefix that ends with it, and its hash."""
    return list(_hashed(model, prompt))


def _hashed(model: str, prompt: Prompt) -> Iterator[tuple[int, bytes]]:
    digest = hashlib.blake2b(model.encode() + b"\x00", digest_size=16)
    start = 0
    for end in prompt.block_ends:
        digest.update(prompt.tokens[start:end].tobytes())
        start = end
        yield end, digest.copy().digest()
