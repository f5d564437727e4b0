"""Closing a log that was cut off: every call gets exactly one result, and the turn ends with an answer."""

import json

from hypothesis import given
from hypothesis import strategies as st

from memory.turns.closing import closing_payloads, is_answer, open_calls


def call(*ids: str) -> str:
    return json.dumps(
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": each, "type": "function", "function": {"name": "f", "arguments": "{}"}} for each in ids
            ],
        }
    )


def result(call_id: str) -> str:
    return json.dumps({"role": "tool", "tool_call_id": call_id, "content": "{}"})


USER = '{"role":"user","content":"…"}'
ANSWER = '{"role":"assistant","content":"完"}'


def test_open_calls_get_results_in_their_order_and_then_the_answer() -> None:
    closing = [json.loads(each) for each in closing_payloads([USER, call("a", "b", "c"), result("b")], "停")]
    assert [each.get("tool_call_id") for each in closing] == ["a", "c", None]
    assert closing[-1] == {"role": "assistant", "content": "停"}


def test_a_turn_that_has_its_answer_needs_nothing() -> None:
    assert closing_payloads([USER, ANSWER], "停") == []


def test_a_turn_without_an_answer_gets_one() -> None:
    assert len(closing_payloads([USER], "停")) == 1


@given(st.lists(st.lists(st.integers(0, 2), max_size=3), max_size=6))
def test_whatever_was_stored_the_closed_log_is_valid(steps: list[list[int]]) -> None:
    payloads = [USER]
    for number, answered in enumerate(steps):
        payloads.append(call(*(f"{number}-{index}" for index in range(3))))
        payloads += [result(f"{number}-{index}") for index in sorted(set(answered))]
    closed = [json.loads(each) for each in [*payloads, *closing_payloads(payloads, "停")]]
    assert open_calls(closed) == []
    assert is_answer(closed[-1])
    results = [each["tool_call_id"] for each in closed if each["role"] == "tool"]
    assert len(results) == len(set(results))
