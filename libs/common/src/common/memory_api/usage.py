"""What model calls cost, per session. The arithmetic of the summary is in `common.usage_rates`."""

from uuid import UUID

from pydantic import Field

from common.memory_api.base import Message
from common.memory_api.turns import ModelCall, ModelCallKind, PrefixBreak


class TurnModelCall(ModelCall):
    turn_id: UUID
    turn_seq: int
    turn_number: int = Field(ge=1, description="1 for the session's first turn")


class CacheUsage(Message):
    """What some calls read from the provider's prefix cache. The sums are over calls that reported both counts."""

    calls: int
    unknown_calls: int = Field(description="Calls whose prompt or cached tokens the provider did not report")
    prompt_tokens: int
    cached_tokens: int
    rate: float | None = Field(description="cached_tokens / prompt_tokens; null where nothing is known")


class TurnRangeUsage(CacheUsage):
    first_turn: int
    last_turn: int | None = Field(description="null: to the session's end")


class KindUsage(CacheUsage):
    kind: ModelCallKind


class PrefixMiss(Message):
    """A call that read much less from the cache than had been sent before, or that did not extend the call before.

    Without a layer the request was as it should be, and the provider no longer had (or never kept) what it had read.
    """

    turn_id: UUID
    turn_number: int
    kind: ModelCallKind
    call_number: int
    lost_tokens: int | None = Field(description="Tokens that had been sent before and were not read; null: unknown")
    layer: str | None = Field(description="The first layer that differs from the call before")
    position: int | None = Field(description="Characters that both requests share before they differ")
    cause: PrefixBreak | None


class UsageSummary(Message):
    total: CacheUsage
    after_first_calls: CacheUsage = Field(description="Without the first call on each prefix, which is cold")
    unknown_share: float = Field(description="unknown_calls / calls; 0 without calls")
    by_turns: list[TurnRangeUsage]
    by_kind: list[KindUsage]
    misses: list[PrefixMiss]


class Usage(Message):
    calls: list[TurnModelCall]
    summary: UsageSummary
