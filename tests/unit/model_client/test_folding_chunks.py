"""Every stream fault of facts/context.md 4.2 that the folding must survive."""

import json
from itertools import count
from typing import Any

import pytest
from tests.unit.model_client.scripted_endpoint import delta, fragment

from model_client.answers import ArgumentsDelta, TextDelta, ToolCall
from model_client.errors import ModelMisbehaved, ModelStreamBroken, ModelTruncated
from model_client.folding import AnswerFolder, FoldedAnswer


def fold(*chunks: Any, finish: str = "tool_calls", taken: frozenset[str] = frozenset()) -> FoldedAnswer:
    numbers = count(1)
    folder = AnswerFolder(lambda: f"own-{next(numbers)}", taken)
    for chunk in (*chunks, delta(finish)):
        folder.add(chunk)
    return folder.finish()


def test_text_is_joined_and_told_as_it_comes() -> None:
    folder = AnswerFolder(lambda: "own")
    assert folder.add(delta(content="你")) == [TextDelta("你")]
    assert folder.add(delta(content="好")) == [TextDelta("好")]
    folder.add(delta("stop"))
    assert folder.finish().text == "你好"


@pytest.mark.parametrize(
    "noise",
    [
        {"choices": []},
        {"choices": None},
        {},
        None,
        [],
        {"choices": [{"delta": None, "finish_reason": None}]},
        {"choices": [{"delta": {"content": None, "tool_calls": None}}]},
        {"choices": [None]},
        {"choices": [{"delta": {"tool_calls": [None]}}]},
        {"usage": None, "choices": []},
    ],
)
def test_chunks_with_nothing_in_them_are_passed_over(noise: Any) -> None:
    assert fold(noise, delta(content="a"), noise, delta(content="b"), noise, finish="stop").text == "ab"


def test_parallel_calls_are_kept_apart_by_index() -> None:
    answer = fold(
        fragment("", index=0, id="a", name="item_search"),
        fragment("", index=1, id="b", name="save_memory"),
        fragment('{"q":', index=0),
        fragment('{"k":', index=1),
        fragment("1}", index=0),
        fragment("2}", index=1),
    )
    assert answer.tool_calls == (
        ToolCall("a", "item_search", '{"q":1}'),
        ToolCall("b", "save_memory", '{"k":2}'),
    )


def test_a_missing_index_goes_by_id_and_by_order() -> None:
    answer = fold(
        fragment('{"q"', id="a", name="one"),
        fragment(":1}"),
        fragment('{"q"', id="b", name="two"),
        fragment(":2}"),
    )
    assert [(call.name, call.arguments) for call in answer.tool_calls] == [("one", '{"q":1}'), ("two", '{"q":2}')]


def test_one_index_for_several_calls_is_told_apart_by_id() -> None:
    answer = fold(
        fragment('{"q":1}', index=0, id="a", name="one"),
        fragment('{"q":2}', index=0, id="b", name="one"),
        fragment('{"q":3}', index=0, id="c", name="two"),
    )
    assert [call.call_id for call in answer.tool_calls] == ["a", "b", "c"]


def test_one_index_for_several_calls_without_ids_is_told_apart_by_complete_arguments() -> None:
    answer = fold(fragment('{"q":1}', index=0, name="one"), fragment('{"q":2}', index=0, name="one"))
    assert [call.arguments for call in answer.tool_calls] == ['{"q":1}', '{"q":2}']


def test_a_tail_under_another_index_goes_to_its_call() -> None:
    by_id = fold(fragment('{"q"', index=0, id="a", name="one"), fragment(":1}", index=1, id="a"))
    nameless = fold(fragment('{"q"', index=0, id="a", name="one"), fragment(":1}", index=1))
    assert [call.arguments for call in by_id.tool_calls] == ['{"q":1}']
    assert [call.arguments for call in nameless.tool_calls] == ['{"q":1}']


def test_a_name_that_is_repeated_in_every_fragment_is_one_call() -> None:
    answer = fold(
        fragment('{"q"', index=0, id="a", name="one"),
        fragment(":1", index=0, id="a", name="one"),
        fragment("}", index=0, name="one"),
    )
    assert answer.tool_calls == (ToolCall("a", "one", '{"q":1}'),)


@pytest.mark.parametrize("arguments", [None, "", "  "])
def test_blank_arguments_are_an_empty_object(arguments: str | None) -> None:
    assert fold(fragment(arguments, index=0, id="a", name="one")).tool_calls[0].arguments == "{}"


def test_arguments_stay_exactly_as_they_were_streamed() -> None:
    odd = '{ "b":1 ,\n "a" : "\\u4f60", "a": 2 }'
    chunks = [fragment(odd[:9], index=0, id="a", name="one"), fragment(odd[9:], index=0)]
    assert fold(*chunks).tool_calls[0].arguments == odd


def test_arguments_that_come_as_an_object_become_its_text() -> None:
    call = fold(fragment({"q": "你"}, index=0, id="a", name="one")).tool_calls[0]
    assert json.loads(call.arguments) == {"q": "你"}


def test_missing_duplicate_taken_and_unusable_ids_are_replaced() -> None:
    answer = fold(
        fragment("{}", index=0, name="one"),
        fragment("{}", index=1, id="taken", name="two"),
        fragment("{}", index=2, id="x" * 200, name="three"),
        fragment("{}", index=3, id="fine", name="four"),
        taken=frozenset({"taken"}),
    )
    assert [call.call_id for call in answer.tool_calls] == ["own-1", "own-2", "own-3", "fine"]


def test_a_length_limit_inside_a_call_is_never_an_answer() -> None:
    with pytest.raises(ModelTruncated):
        fold(fragment('{"q":', index=0, id="a", name="one"), finish="length")


def test_a_length_limit_in_text_is_an_answer_that_says_so() -> None:
    answer = fold(delta(content="long"), finish="length")
    assert (answer.text, answer.finish_reason) == ("long", "length")


def test_a_stream_without_a_finish_reason_is_broken() -> None:
    folder = AnswerFolder(lambda: "own")
    folder.add(delta(content="half an ans"))
    with pytest.raises(ModelStreamBroken):
        folder.finish()


@pytest.mark.parametrize("chunks", [[], [delta(content="  \n")], [delta(reasoning_content="hm")]])
def test_an_empty_answer_is_misbehaviour(chunks: list[Any]) -> None:
    with pytest.raises(ModelMisbehaved):
        fold(*chunks, finish="stop")


def test_finish_reason_tool_calls_without_calls_is_a_plain_answer() -> None:
    answer = fold(delta(content="hi"), finish="tool_calls")
    assert (answer.text, answer.tool_calls) == ("hi", ())


def test_split_surrogates_are_joined_and_what_cannot_be_stored_is_replaced() -> None:
    assert fold(delta(content="\ud83d"), delta(content="\ude00!"), finish="stop").text == "😀!"
    assert fold(delta(content="a\x00b\ud83d"), finish="stop").text == "a�b�"


def test_deltas_of_arguments_name_their_call() -> None:
    folder = AnswerFolder(lambda: "own")
    folder.add(fragment("", index=0, id="a", name="shopping_summary"))
    assert folder.add(fragment('{"rep', index=0)) == [ArgumentsDelta(0, "shopping_summary", '{"rep')]
