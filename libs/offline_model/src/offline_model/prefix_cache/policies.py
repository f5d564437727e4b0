"""The simulated caches by name. docs/decisions/0021 says whose rules each one follows."""

from collections.abc import Callable
from enum import StrEnum

from common.clock import Clock
from offline_model.prefix_cache.blocks import BlockCache
from offline_model.prefix_cache.boundaries import BoundaryCache
from offline_model.prefix_cache.marks import MarkedCache
from offline_model.prefix_cache.simulation import PrefixCache


class CachePolicy(StrEnum):
    BLOCK16 = "block16"
    BLOCK64 = "block64"
    BLOCK128 = "block128"
    BLOCK256 = "block256"
    BLOCK528 = "block528"
    EXACT = "exact"
    MARKS = "marks"


_CACHES: dict[CachePolicy, Callable[[Clock], PrefixCache]] = {
    CachePolicy.BLOCK16: lambda _: BlockCache(block=16, minimum=16),
    CachePolicy.BLOCK64: lambda _: BlockCache(block=64, minimum=64),
    CachePolicy.BLOCK128: lambda _: BlockCache(block=128, minimum=1024),
    CachePolicy.BLOCK256: lambda _: BlockCache(block=256, minimum=256),
    CachePolicy.BLOCK528: lambda _: BlockCache(block=528, minimum=528),
    CachePolicy.EXACT: lambda _: BoundaryCache(),
    CachePolicy.MARKS: lambda clock: MarkedCache(clock),
}


def prefix_cache_of(policy: CachePolicy, clock: Clock) -> PrefixCache:
    """A cache of its own, empty."""
    return _CACHES[policy](clock)
