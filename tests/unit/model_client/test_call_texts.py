"""Arguments of calls, and calls that were written as text."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model_client.arguments import ArgumentsFault, fault_of, read_arguments
from model_client.exact_json import exact_json
from model_client.written_calls import BEGIN, WrittenCallGate, read_written_calls, without_written_calls

_JSON = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.just("包\n\\")
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from('aé"'), inner, max_size=3)),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(("q", "包")), _JSON, max_size=3), st.booleans())
def test_every_beginning_of_an_object_is_cut_off_and_the_whole_is_none(value: dict[str, Any], escaped: bool) -> None:
    text = json.dumps(value, ensure_ascii=escaped)
    assert fault_of(text) is None
    assert read_arguments(text) == value
    for end in range(1, len(text)):
        assert fault_of(text[:end]) is ArgumentsFault.CUT_OFF, text[:end]


@pytest.mark.parametrize(
    "text",
    [
        '{"q":"abc, "n":1}',
        '{"q":1}}',
        "{q:1}",
        "{'q':1}",
        '{"q" 1}',
        '{"q":1,}',
        '{"q":NaN}',
        '{"q":1e999}',
        "[1]",
        '"q"',
        "12",
        "search for bags",
        "[" * 100_000,
    ],
)
def test_what_no_end_could_mend_is_invalid(text: str) -> None:
    assert fault_of(text) is ArgumentsFault.INVALID
    assert read_arguments(text) is None


TOOLS = exact_json(
    [
        {"type": "function", "function": {"name": "search", "parameters": {"properties": {"q": {"type": "string"}}}}},
        {"type": "function", "function": {"name": "Skill"}},
    ]
)


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ('<tool_call>{"name":"search","arguments":{"q":"包"}}</tool_call>', (("search", '{"q":"包"}'),)),
        ('<tool_call>{"name":"search","arguments":"{\\"q\\": 1}"}</tool_call>', (("search", '{"q": 1}'),)),
        ('<tool_call>{"name":"Skill"}</tool_call>', (("Skill", "{}"),)),
        ('<tool_call>{"name":"Skill"}', (("Skill", "{}"),)),
        (
            '<tool_call>{"name":"Skill"}</tool_call> and <tool_call>{"name":"search"}</tool_call>',
            (("Skill", "{}"), ("search", "{}")),
        ),
        ('<tool_call>{"name":"Skill"}</tool_call>' * 2, (("Skill", "{}"),)),
        (
            "<tool_call>\n<function=search>\n<parameter=q>\n12\n</parameter>\n<parameter=n>\n12\n</parameter>\n"
            "<parameter=s>\nblue\nbag\n</parameter>\n</function>\n</tool_call>",
            (("search", '{"q":"12","n":12,"s":"blue\\nbag"}'),),
        ),
        ("<tool_call><function=Skill></function></tool_call>", (("Skill", "{}"),)),
        ('<tool_call>{"name":"delete_all"}</tool_call>', None),
        ('<tool_call>{"name":"search"}</tool_call><tool_call>{"name":"other"}</tool_call>', None),
        ('<tool_call>{"name":"search","arguments":[1]}</tool_call>', None),
        ('<tool_call>{"name":"search","arguments":"[1]"}</tool_call>', None),
        ("<tool_call><function=search>words</function></tool_call>", None),
        ("<tool_call></tool_call>", None),
        ("no call", None),
    ],
)
def test_written_calls_are_read_whole_or_not_at_all(text: str, calls: Any) -> None:
    assert read_written_calls(text, TOOLS) == calls


def test_what_was_said_around_a_written_call_is_left() -> None:
    assert without_written_calls('好。<tool_call>{"name":"Skill"}</tool_call>等等') == "好。等等"
    assert without_written_calls('\n<tool_call>{"name":"Skill"}</tool_call>\n') == ""


@given(st.lists(st.sampled_from(("<", "tool", "_call", ">", "<tool", "<tool_call>", "好", " ", "<<")), max_size=8))
def test_no_part_of_a_written_call_is_told_and_nothing_is_lost(pieces: list[str]) -> None:
    gate = WrittenCallGate()
    told = "".join(gate.add(piece) for piece in pieces)
    whole = "".join(pieces)
    assert whole[: gate.told] == told
    assert BEGIN not in told
    begin = whole.find(BEGIN)
    assert gate.told <= begin if begin >= 0 else BEGIN.startswith(whole[gate.told :])
