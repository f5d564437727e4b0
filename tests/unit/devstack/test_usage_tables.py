"""What `make usage` prints: the provider's own numbers, unknown as unknown, and the place of every miss."""

import io
from uuid import UUID

from rich.console import Console

from common.memory_api.turns import ModelCallKind, PrefixBreak
from common.memory_api.usage import TurnModelCall
from common.usage_rates import usage_of
from devstack.terminal.screen import Screen
from devstack.terminal.usage_tables import show_model_calls, show_usage


def call(prompt: int | None, cached: int | None, turn: int = 1) -> TurnModelCall:
    return TurnModelCall(
        call_number=1,
        kind=ModelCallKind.MAIN,
        attempt=1,
        model="m",
        prompt_tokens=prompt,
        cached_tokens=cached,
        duration_ms=1,
        turn_id=UUID(int=turn),
        turn_seq=turn,
        turn_number=turn,
    )


def shown(*calls: TurnModelCall) -> str:
    output = io.StringIO()
    show_usage(Screen(Console(file=output, width=140)), "0199-session", usage_of(calls))
    return output.getvalue()


def test_unknown_tokens_are_shown_as_unknown_and_not_counted() -> None:
    output = io.StringIO()
    show_model_calls(Screen(Console(file=output, width=140)), {"A": [call(100, 80), call(50, None)]})
    assert "80 / 100 = 80.0%" in output.getvalue()
    assert "?" in output.getvalue()
    assert "not reported by the provider: 50%" in shown(call(100, 80), call(50, None))


def test_rates_by_turns_and_by_kind() -> None:
    lines = shown(call(1_000, 0), call(3_000, 3_000, 6)).splitlines()
    cells = {
        words[0]: words[1:] for words in ([cell.strip() for cell in line.split("│")[1:-1]] for line in lines) if words
    }
    assert cells["全部 · all calls"][-1] == "75.0%"
    assert cells["轮次 · turns 1–5"][-1] == "0.0%"
    assert cells["轮次 · turns 6–20"][-1] == "100.0%"
    assert cells["类别 · main"][:2] == ["2", "0"]


def test_a_miss_is_shown_with_layer_place_and_cause() -> None:
    broken = call(9_000, 1_000, 2).model_copy(
        update={
            "first_differing_layer": "L3",
            "first_differing_position": 4_321,
            "first_differing_cause": PrefixBreak.SUMMARY,
        }
    )
    line = next(line for line in shown(call(9_000, 8_000), broken).splitlines() if "4321" in line)
    assert [cell.strip() for cell in line.split("│")[1:-1]][-3:] == ["L3", "4321", "summary"]
    assert "no prefix was broken" in shown(call(9_000, 8_000), call(9_500, 8_960))
