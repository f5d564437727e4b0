"""The arithmetic of prefix cache rates: pure functions over model calls as their provider reported them.

A rate is Σ cached / Σ prompt tokens over all calls, side calls included. A call that did not report both counts is
unknown: it is counted as such and is in no sum, because 0 would be a guess.
"""

from collections.abc import Iterable, Sequence

from common.memory_api.turns import ModelCallKind
from common.memory_api.usage import (
    CacheUsage,
    KindUsage,
    PrefixMiss,
    TurnModelCall,
    TurnRangeUsage,
    Usage,
    UsageSummary,
)

TURN_RANGES: tuple[tuple[int, int | None], ...] = ((1, 1), (1, 5), (6, 20), (21, 100), (101, None))
"""By the number of the turn in its session, both ends included."""

_MISS_TOKENS = 1_024
"""Fewer lost tokens are rounding: providers count in blocks of up to 528 tokens and ask for up to 1,024 to begin."""


def usage_of(calls: Sequence[TurnModelCall]) -> Usage:
    """The calls of one session, in the order in which they were made, and what they come to."""
    total = cache_usage(calls)
    return Usage(
        calls=list(calls),
        summary=UsageSummary(
            total=total,
            after_first_calls=cache_usage(_after_first_calls(calls)),
            unknown_share=total.unknown_calls / total.calls if total.calls else 0.0,
            by_turns=_by_turns(calls),
            by_kind=_by_kind(calls),
            misses=_misses(calls),
        ),
    )


def cache_usage(calls: Iterable[TurnModelCall]) -> CacheUsage:
    known = prompt = cached = count = 0
    for call in calls:
        count += 1
        if call.prompt_tokens is not None and call.cached_tokens is not None:
            known += 1
            prompt += call.prompt_tokens
            cached += call.cached_tokens
    return CacheUsage(
        calls=count,
        unknown_calls=count - known,
        prompt_tokens=prompt,
        cached_tokens=cached,
        rate=cached / prompt if prompt else None,
    )


def _by_turns(calls: Sequence[TurnModelCall]) -> list[TurnRangeUsage]:
    """A row for each range that has calls."""
    rows: list[TurnRangeUsage] = []
    for first, last in TURN_RANGES:
        inside = [call for call in calls if first <= call.turn_number and (last is None or call.turn_number <= last)]
        if inside:
            rows.append(TurnRangeUsage(first_turn=first, last_turn=last, **cache_usage(inside).model_dump()))
    return rows


def _by_kind(calls: Sequence[TurnModelCall]) -> list[KindUsage]:
    by_kind = {kind: [call for call in calls if call.kind is kind] for kind in ModelCallKind}
    return [KindUsage(kind=kind, **cache_usage(own).model_dump()) for kind, own in by_kind.items() if own]


def _after_first_calls(calls: Sequence[TurnModelCall]) -> list[TurnModelCall]:
    return [call for call, before in zip(calls, _calls_before(calls), strict=True) if before is not None]


def _misses(calls: Sequence[TurnModelCall]) -> list[PrefixMiss]:
    misses: list[PrefixMiss] = []
    for call, before in zip(calls, _calls_before(calls), strict=True):
        lost = None if before is None else _lost_tokens(before, call)
        if call.first_differing_layer is not None or (lost is not None and lost >= _MISS_TOKENS):
            misses.append(
                PrefixMiss(
                    turn_id=call.turn_id,
                    turn_number=call.turn_number,
                    kind=call.kind,
                    call_number=call.call_number,
                    lost_tokens=lost,
                    layer=call.first_differing_layer,
                    position=call.first_differing_position,
                    cause=call.first_differing_cause,
                )
            )
    return misses


def _lost_tokens(before: TurnModelCall, call: TurnModelCall) -> int | None:
    """Tokens that `before` shows to have been there and that `call` did not read.

    Calls on the main prefix extend each other, so all of the prompt before could have been read. Side calls share
    only their instructions, of which the cached part of the call before is what is known.
    """
    reusable = before.prompt_tokens if _prefix_of(call) is ModelCallKind.MAIN else before.cached_tokens
    if reusable is None or call.cached_tokens is None:
        return None
    return max(0, reusable - call.cached_tokens)


def _calls_before(calls: Sequence[TurnModelCall]) -> list[TurnModelCall | None]:
    """For each call, the last one before it on the same prefix.

    A compaction is a fork of the main prefix: it extends a main call, and nothing extends it.
    """
    newest: dict[ModelCallKind, TurnModelCall] = {}
    before: list[TurnModelCall | None] = []
    for call in calls:
        before.append(newest.get(_prefix_of(call)))
        newest[call.kind] = call
    return before


def _prefix_of(call: TurnModelCall) -> ModelCallKind:
    """A compaction runs on the main prefix; every other kind has one of its own."""
    return ModelCallKind.MAIN if call.kind is ModelCallKind.COMPACTION else call.kind
