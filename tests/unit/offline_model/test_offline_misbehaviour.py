"""Directives, and the smallest structured answers."""

from typing import Any

import pytest

from offline_model.directives import Addressee, Directive, DirectiveName, read_directives, without_directives
from offline_model.errors import InvalidRequest
from offline_model.misbehaviour import SeenRequests, misbehaviour_of
from offline_model.playing.structured import minimal_value


def test_names_arguments_and_times() -> None:
    text = "[[offline:hang]] a [[offline:http=503*2]] [[offline:cut*3]] [[offline:text=你好*2]] [[offline:curator.cut]]"
    assert read_directives(text, Addressee.MAIN) == (
        Directive(DirectiveName.HANG),
        Directive(DirectiveName.HTTP, "503", 2),
        Directive(DirectiveName.CUT, "", 3),
        Directive(DirectiveName.TEXT, "你好*2"),
    )
    assert read_directives(text, Addressee.CURATOR) == (Directive(DirectiveName.CUT),)
    assert without_directives(text) == "a"


def test_a_mistyped_directive_is_refused() -> None:
    with pytest.raises(InvalidRequest):
        read_directives("[[offline:hangs]]", Addressee.MAIN)


@pytest.mark.parametrize("directive", [Directive(DirectiveName.HTTP, "200"), Directive(DirectiveName.SLOW, "soon")])
def test_a_senseless_argument_is_refused(directive: Directive) -> None:
    with pytest.raises(InvalidRequest):
        misbehaviour_of([directive], 0)


def test_a_fault_can_end_after_some_requests() -> None:
    directives = [Directive(DirectiveName.HTTP, "503", 2), Directive(DirectiveName.NO_USAGE)]
    assert [misbehaviour_of(directives, earlier).status for earlier in range(3)] == [503, 503, None]
    assert misbehaviour_of(directives, 9).no_usage


def test_counting_is_bounded() -> None:
    seen = SeenRequests(capacity=2)
    assert [seen.count(digest) for digest in ("a", "a", "b", "c", "a")] == [0, 1, 0, 0, 0]


REFERRING = {
    "type": "object",
    "properties": {"a": {"$ref": "#/$defs/A"}},
    "required": ["a"],
    "$defs": {"A": {"enum": ["x"]}},
}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}, {"a": ""}),
        (REFERRING, {"a": "x"}),
        ({"type": "array", "items": {"type": "integer", "minimum": 3}, "minItems": 2}, [3, 3]),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, None),
        ({}, {}),
    ],
)
def test_the_smallest_value_a_schema_accepts(schema: dict[str, Any], value: Any) -> None:
    assert minimal_value(schema) == value
