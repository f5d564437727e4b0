"""Where marks stand, and that they cost nothing but themselves."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.model_client.example_requests import LONG_TEXT

from model_client.answers import ToolCall, assistant_payload
from model_client.cache_marks import marked_messages
from model_client.exact_json import exact_json
from model_client.profiles import PROFILES

DASHSCOPE = PROFILES["dashscope"]
MARK = ',"cache_control":{"type":"ephemeral"}'
SYSTEM = exact_json({"role": "system", "content": LONG_TEXT})


def said(role: str, content: str) -> str:
    return exact_json({"role": role, "content": content})


def step(calls: int, text: str = "") -> list[str]:
    """An answer that calls tools, and their results."""
    ids = [f"call_{number}" for number in range(calls)]
    results = [exact_json({"role": "tool", "tool_call_id": call_id, "content": "found"}) for call_id in ids]
    return [assistant_payload(text, tuple(ToolCall(call_id, "search", "{}") for call_id in ids)), *results]


def marked(messages: Sequence[str], profile: str = "dashscope", tools: str | None = None) -> list[int]:
    rendered = marked_messages(messages, tools, PROFILES[profile])
    return [position for position, message in enumerate(rendered) if "cache_control" in message]


def test_the_system_message_and_the_ends_of_three_requests_are_marked() -> None:
    first = [SYSTEM, said("user", "hi")]
    second = first + step(3)
    third = second + step(1)
    fourth = third + step(1)
    assert marked(first) == [0, 1]
    assert marked(second) == [0, 1, 5]
    assert marked(third) == [0, 1, 5, 7]
    assert marked(fourth) == [0, 5, 7, 9]


def test_a_prefix_that_may_be_too_short_has_no_mark() -> None:
    short = [said("system", "be brief"), said("user", "hi")]
    assert marked(short) == []
    assert marked(short, tools=exact_json([LONG_TEXT])) == [0, 1]
    assert marked([said("system", "be brief"), said("user", LONG_TEXT)]) == [1]


def test_profiles_whose_cache_needs_no_marks_get_none() -> None:
    messages = [SYSTEM, said("user", "hi")]
    assert marked_messages(messages, None, PROFILES["generic"]) == messages
    breakpoints = marked_messages(messages, None, PROFILES["openai-5.6"])
    assert json.loads(breakpoints[0])["content"][0]["prompt_cache_breakpoint"] == {"mode": "explicit"}
    assert breakpoints[1] == messages[1]


@pytest.mark.parametrize("content", [None, "", [{"type": "text", "text": "x"}]])
def test_a_message_without_a_text_stays_as_it_is(content: Any) -> None:
    message = exact_json({"role": "assistant", "content": content, "tool_calls": []})
    assert marked_messages([SYSTEM, message], None, DASHSCOPE)[1] == message


_TEXTS = st.text(st.sampled_from('包a"\\\n\x00😀\u2028{}[],:'), max_size=12)
_STEPS = st.builds(step, st.integers(0, 30), _TEXTS)
_USER = st.builds(lambda text: [said("user", text)], _TEXTS)


@given(st.lists(st.one_of(_STEPS, _USER), max_size=8))
def test_a_moving_mark_changes_no_other_byte_and_the_last_requests_mark_stays(parts: list[list[str]]) -> None:
    messages = [SYSTEM, said("user", "hi")]
    before: list[str] = []
    for part in parts:
        messages = messages + part
        now = list(marked_messages(messages, None, DASHSCOPE))
        assert 1 <= "".join(now).count(MARK) <= 4
        assert [text_of(message) for message in now] == [text_of(message) for message in messages]
        assert [message.replace(MARK, "") for message in now][: len(before)] == [
            message.replace(MARK, "") for message in before
        ]
        if before and part[0].startswith('{"role":"assistant"') and MARK in before[-1]:
            assert MARK in now[len(before) - 1]
        before = now


def text_of(message: str) -> str:
    content = json.loads(message)["content"]
    return content if isinstance(content, str) else "".join(block["text"] for block in content)
