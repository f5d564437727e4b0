"""Rates of the prefix cache: unknown stays unknown, every call counts, and a miss says where it began."""

from typing import Any
from uuid import UUID, uuid5

import pytest

from common.memory_api.turns import ModelCallKind, PrefixBreak
from common.memory_api.usage import TurnModelCall
from common.usage_rates import cache_usage, usage_of

MAIN, PLANNER, CURATOR, COMPACTION = (
    ModelCallKind.MAIN,
    ModelCallKind.PLANNER,
    ModelCallKind.CURATOR,
    ModelCallKind.COMPACTION,
)


def call(
    prompt: int | None, cached: int | None, turn: int = 1, kind: ModelCallKind = MAIN, **more: Any
) -> TurnModelCall:
    return TurnModelCall(
        **{"call_number": 1, **more},
        kind=kind,
        attempt=1,
        model="m",
        prompt_tokens=prompt,
        cached_tokens=cached,
        duration_ms=1,
        turn_id=uuid5(UUID(int=0), str(turn)),
        turn_seq=turn + 7,
        turn_number=turn,
    )


def test_the_rate_is_weighted_by_tokens() -> None:
    total = cache_usage([call(1_000, 0), call(9_000, 9_000)])
    assert (total.prompt_tokens, total.cached_tokens, total.rate) == (10_000, 9_000, 0.9)


@pytest.mark.parametrize(("prompt", "cached"), [(None, None), (5_000, None), (None, 5_000)])
def test_unknown_is_neither_zero_nor_a_hit(prompt: int | None, cached: int | None) -> None:
    summary = usage_of([call(1_000, 500), call(prompt, cached)]).summary
    assert (summary.total.calls, summary.total.unknown_calls, summary.total.rate) == (2, 1, 0.5)
    assert summary.total.prompt_tokens == 1_000
    assert summary.unknown_share == 0.5


def test_nothing_known_has_no_rate() -> None:
    assert usage_of([call(None, None)]).summary.total.rate is None
    empty = usage_of([]).summary
    assert (empty.total.rate, empty.unknown_share, empty.by_turns, empty.by_kind, empty.misses) == (None, 0, [], [], [])


def test_a_reported_zero_is_known() -> None:
    assert usage_of([call(2_000, 0)]).summary.total.rate == 0.0


def test_by_ranges_of_turns_in_the_session() -> None:
    calls = [call(100, turn, turn) for turn in (1, 2, 5, 6, 20, 21, 100, 101, 300)]
    rows = [(row.first_turn, row.last_turn, row.calls, row.cached_tokens) for row in usage_of(calls).summary.by_turns]
    assert rows == [(1, 1, 1, 1), (1, 5, 3, 8), (6, 20, 2, 26), (21, 100, 2, 121), (101, None, 2, 401)]
    assert [row.first_turn for row in usage_of([call(1, 1, 3)]).summary.by_turns] == [1], "no row without calls"


def test_by_kind() -> None:
    calls = [call(100, 10), call(200, 0, kind=CURATOR), call(300, 100, kind=PLANNER), call(100, 90)]
    rows = {row.kind: (row.calls, row.rate) for row in usage_of(calls).summary.by_kind}
    assert rows == {MAIN: (2, 0.5), PLANNER: (1, 100 / 300), CURATOR: (1, 0.0)}


def test_without_the_first_call_on_each_prefix() -> None:
    calls = [
        call(1_500, 0, kind=PLANNER),
        call(6_000, 0),
        call(6_500, 6_000, kind=COMPACTION),
        call(1_600, 1_400, 2, kind=PLANNER),
        call(7_000, 6_400, 2),
    ]
    warm = usage_of(calls).summary.after_first_calls
    assert (warm.calls, warm.prompt_tokens, warm.cached_tokens) == (3, 15_100, 13_800), "a compaction is on main's"


def test_a_break_is_a_miss_with_its_place() -> None:
    broken = call(
        9_000,
        6_000,
        2,
        call_number=4,
        first_differing_layer="L3",
        first_differing_position=20_123,
        first_differing_cause=PrefixBreak.PRUNE,
    )
    (miss,) = usage_of([call(20_000, 19_000), broken]).summary.misses
    assert (miss.turn_number, miss.kind, miss.call_number) == (2, MAIN, 4)
    assert (miss.layer, miss.position, miss.cause) == ("L3", 20_123, PrefixBreak.PRUNE)
    assert miss.lost_tokens == 14_000


def test_what_the_provider_let_go_is_a_miss_without_a_layer() -> None:
    (miss,) = usage_of([call(20_000, 0), call(20_500, 0, 2)]).summary.misses
    assert (miss.turn_number, miss.layer, miss.lost_tokens) == (2, None, 20_000)


def test_rounding_and_new_text_are_no_misses() -> None:
    calls = [call(20_000, 0), call(22_500, 19_968), call(23_000, 22_177), call(23_500, 23_500)]
    assert usage_of(calls).summary.misses == []


def test_an_unknown_call_is_no_miss_but_a_break_is_one_all_the_same() -> None:
    calls = [call(20_000, 0), call(None, None), call(20_000, None, first_differing_layer="L0")]
    (miss,) = usage_of(calls).summary.misses
    assert (miss.layer, miss.lost_tokens) == ("L0", None)


def test_side_calls_are_compared_with_their_own_kind_and_what_that_had_read() -> None:
    """Their prompts share the instructions only, so a longer prompt before says nothing."""
    calls = [
        call(3_000, 1_408, kind=PLANNER),
        call(20_000, 19_000),
        call(4_000, 1_408, 2, kind=PLANNER),
        call(4_000, 0, 3, kind=PLANNER),
        call(2_500, 0, 3, kind=CURATOR),
    ]
    misses = usage_of(calls).summary.misses
    assert [(miss.turn_number, miss.kind, miss.lost_tokens) for miss in misses] == [(3, PLANNER, 1_408)]


def test_the_call_after_a_compaction_is_compared_with_the_main_call_before_it() -> None:
    calls = [
        call(50_000, 49_000),
        call(50_500, 49_900, kind=COMPACTION),
        call(9_000, 6_000, first_differing_layer="L3", first_differing_cause=PrefixBreak.SUMMARY),
        call(9_500, 8_960),
    ]
    misses = usage_of(calls).summary.misses
    assert [(miss.kind, miss.cause, miss.lost_tokens) for miss in misses] == [(MAIN, PrefixBreak.SUMMARY, 44_000)]
