"""Every case of the table in facts/context.md 4.2 that a stream can show, over real HTTP. The number is the row's.

Row 18 (calls without results, after a crash or an interrupt) is about the log and has its tests with the agent.
"""

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.unit.model_client.scripted_endpoint import (
    GOOD,
    REQUEST,
    all_events,
    answer,
    answer_of,
    client_of,
    delta,
    fragment,
    sse,
    streamed,
    text,
)

from model_client.answers import ArgumentsDelta, ModelAnswer, Restarted, TextDelta, ToolCall
from model_client.arguments import ArgumentsFault, fault_of
from model_client.client import ModelClient
from model_client.errors import (
    ModelCallUnreadable,
    ModelEmpty,
    ModelFiltered,
    ModelStreamBroken,
    ModelTruncated,
)
from model_client.profiles import PROFILES
from model_client.requests import ModelRequest
from model_client.usage import ModelUsage

USAGE = {"prompt_tokens": 10, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 8}}
TOOLS = json.dumps(
    [
        {
            "type": "function",
            "function": {
                "name": "item_search",
                "parameters": {"properties": {"query": {"type": "string"}, "limit": {"type": "integer"}}},
            },
        }
    ]
)
WITH_TOOLS = replace(REQUEST, tools=TOOLS)


async def answered(*chunks: object, request: ModelRequest = WITH_TOOLS, done: bool = True) -> ModelAnswer:
    """The answer to a stream that needs no second try."""
    async with client_of(streamed(*chunks, done=done)) as (client, endpoint):
        result = await answer_of(client, request)
    assert len(endpoint.bodies) == 1
    return result


async def collect(client: ModelClient, events: list[Any]) -> None:
    async for event in client.stream(WITH_TOOLS):
        events.append(event)


def named(result: ModelAnswer) -> list[tuple[str, str]]:
    return [(call.name, call.arguments) for call in result.tool_calls]


@pytest.mark.parametrize("filter_chunk", [{"choices": []}, {"choices": None}, {"prompt_filter_results": []}])
async def test_1_chunks_without_choices_are_passed_over_and_their_usage_read(filter_chunk: dict[str, Any]) -> None:
    result = await answered(filter_chunk, text("hi", "stop"), {**filter_chunk, "usage": USAGE})
    assert (result.text, result.usage) == ("hi", ModelUsage(10, 8, 4))


async def test_2_a_delta_of_null_is_passed_over() -> None:
    empty = {"choices": [{"index": 0, "delta": None, "finish_reason": None}]}
    assert (await answered(empty, text("a"), empty, text("b", "stop"))).text == "ab"


@pytest.mark.parametrize(
    ("reports", "expected"),
    [
        ([], ModelUsage()),
        ([None], ModelUsage()),
        ([{"prompt_tokens": 10}], ModelUsage(10)),
        # vLLM: first without details, then again with them and no choices
        ([{"prompt_tokens": 10, "completion_tokens": 4}, USAGE], ModelUsage(10, 8, 4)),
        ([USAGE, {"prompt_tokens": 10, "prompt_tokens_details": None}, None], ModelUsage(10, 8, 4)),
    ],
)
async def test_3_usage_that_is_null_absent_partial_or_told_twice(reports: list[Any], expected: ModelUsage) -> None:
    result = await answered(text("hi", "stop"), *({"choices": [], "usage": report} for report in reports))
    assert result.usage == expected
    assert result.usage.reported == (expected.cached_tokens is not None)


async def test_4_running_totals_replace_each_other() -> None:
    totals = [{"prompt_tokens": 10, "completion_tokens": written} for written in (1, 2, 3)]
    chunks = [{**text(word), "usage": total} for word, total in zip("abc", totals, strict=True)]
    assert (await answered(*chunks, text("", "stop"))).usage == ModelUsage(10, None, 3)


async def test_5_calls_without_an_index() -> None:
    result = await answered(
        fragment('{"q"', id="a", name="one"),
        fragment(":1}"),
        fragment('{"q"', id="b", name="two"),
        fragment(":2}", finish_reason="tool_calls"),
    )
    assert result.tool_calls == (ToolCall("a", "one", '{"q":1}'), ToolCall("b", "two", '{"q":2}'))


async def test_6_one_index_for_several_calls() -> None:
    result = await answered(
        fragment('{"q":1}', index=0, id="a", name="one"),
        fragment('{"q":2}', index=0, id="b", name="one"),
        fragment('{"q":3}', index=0, name="one"),
        delta("tool_calls"),
    )
    assert named(result) == [("one", '{"q":1}'), ("one", '{"q":2}'), ("one", '{"q":3}')]


async def test_7_the_tail_of_a_call_under_another_index() -> None:
    result = await answered(
        fragment('{"q"', index=0, id="a", name="one"), fragment(":1}", index=1, id="a"), delta("tool_calls")
    )
    assert result.tool_calls == (ToolCall("a", "one", '{"q":1}'),)


async def test_8_interleaved_fragments_of_parallel_calls() -> None:
    result = await answered(
        fragment("", index=0, id="a", name="one"),
        fragment("", index=1, id="b", name="two"),
        fragment('{"q":', index=0),
        fragment('{"k":', index=1),
        fragment("1}", index=0),
        fragment("2}", index=1),
        delta("tool_calls"),
    )
    assert named(result) == [("one", '{"q":1}'), ("two", '{"k":2}')]


@pytest.mark.parametrize("blank", ["", None, "  \n"])
async def test_9_blank_arguments_are_an_empty_object(blank: str | None) -> None:
    result = await answered(fragment(blank, index=0, id="a", name="one"), delta("tool_calls"))
    assert (named(result), result.malformed_calls) == ([("one", "{}")], ())


@pytest.mark.parametrize("no_object", ["[1]", '"text"', "null", "12"])
async def test_9_arguments_that_are_no_object_are_said_to_be_malformed(no_object: str) -> None:
    result = await answered(fragment(no_object, index=0, id="a", name="one"), delta("tool_calls"))
    assert result.malformed_calls == ("a",)
    assert fault_of(result.tool_calls[0].arguments) is ArgumentsFault.INVALID


CUT_CALL = fragment('{"query":"back', index=0, id="a", name="item_search")


async def test_10_a_call_that_is_cut_off_is_asked_for_once_more_with_more_room() -> None:
    cut = streamed(CUT_CALL, delta("length"))
    limited = replace(WITH_TOOLS, max_tokens=100)
    async with client_of(cut, GOOD) as (client, endpoint):
        events = await all_events(client, limited)
    assert Restarted(accepted=True) in events
    assert [json.loads(body)["max_tokens"] for body in endpoint.bodies] == [100, 200]
    async with client_of(cut) as (client, endpoint):
        with pytest.raises(ModelTruncated):
            await all_events(client, limited)
        assert len(endpoint.bodies) == 2


async def test_10_without_a_limit_of_ours_the_second_try_has_the_same_bytes() -> None:
    async with client_of(streamed(CUT_CALL, delta("length")), GOOD) as (client, endpoint):
        await all_events(client, WITH_TOOLS)
    assert len(set(endpoint.bodies)) == 1


async def test_11_a_call_that_is_cut_off_under_another_finish_reason() -> None:
    at_first, at_second = (
        streamed(CUT_CALL, delta("tool_calls"), {"choices": [], "usage": {"completion_tokens": limit}})
        for limit in (100, 200)
    )
    async with client_of(at_first, GOOD) as (client, endpoint):
        await all_events(client, replace(WITH_TOOLS, max_tokens=100))
        assert len(endpoint.bodies) == 2
    async with client_of(at_first, at_second) as (client, endpoint):
        with pytest.raises(ModelTruncated):
            await all_events(client, replace(WITH_TOOLS, max_tokens=100))


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [('{"query": back}', ArgumentsFault.INVALID), ('{"query":"back', ArgumentsFault.CUT_OFF)],
)
async def test_12_malformed_is_told_from_cut_off_by_the_text(arguments: str, fault: ArgumentsFault) -> None:
    usage = {"choices": [], "usage": {"completion_tokens": 7}}
    call = fragment(arguments, index=0, id="a", name="item_search", finish_reason="tool_calls")
    result = await answered(call, usage, request=replace(WITH_TOOLS, max_tokens=100))
    assert result.malformed_calls == ("a",)
    assert fault_of(result.tool_calls[0].arguments) is fault
    assert json.loads(result.payload)["tool_calls"][0]["function"]["arguments"] == arguments


async def test_13_tool_calls_as_the_reason_and_no_call_is_a_plain_answer() -> None:
    result = await answered(text("hi"), delta("tool_calls"))
    assert (result.text, result.tool_calls) == ("hi", ())


async def test_14_reasoning_that_eats_the_budget_is_truncation_and_is_kept() -> None:
    eaten = streamed(delta(reasoning_content="let me think about "), delta("length", reasoning_content="bags"))
    async with client_of(eaten) as (client, endpoint):
        with pytest.raises(ModelTruncated) as truncated:
            await all_events(client, replace(REQUEST, max_tokens=50))
        assert [json.loads(body)["max_tokens"] for body in endpoint.bodies] == [50, 100]
    assert truncated.value.reasoning == "let me think about bags"
    assert "bags" not in str(truncated.value)


async def test_14_text_that_is_cut_off_is_an_answer_that_says_so() -> None:
    result = await answered(text("a long st", "length"))
    assert (result.text, result.truncated) == ("a long st", True)
    assert not (await answered(text("short", "stop"))).truncated


WRITTEN = [
    '<tool_call>\n{"name": "item_search", "arguments": {"query": "包", "limit": 3}}\n</tool_call>',
    "<tool_call>\n<function=item_search>\n<parameter=query>\n包\n</parameter>\n<parameter=limit>\n3\n</parameter>\n"
    "</function>\n</tool_call>",
]


@pytest.mark.parametrize("written", WRITTEN)
async def test_15_a_call_written_into_the_text_is_taken_for_one_and_never_shown(written: str) -> None:
    pieces = [text(piece) for piece in ("我来搜", *written, " ")]
    async with client_of(streamed(*pieces, delta("stop"))) as (client, _):
        *deltas, result = await all_events(client, WITH_TOOLS)
    assert isinstance(result, ModelAnswer)
    assert named(result) == [("item_search", '{"query":"包","limit":3}')]
    assert "".join(each.text for each in deltas if isinstance(each, TextDelta)) == result.text == "我来搜 "
    assert [each for each in deltas if isinstance(each, ArgumentsDelta)]


@pytest.mark.parametrize("written", WRITTEN)
async def test_15_a_call_written_into_the_reasoning_counts_where_there_is_nothing_else(written: str) -> None:
    result = await answered(delta(reasoning_content=f"I will search. {written}"), delta("stop"))
    assert named(result) == [("item_search", '{"query":"包","limit":3}')]
    beside = await answered(delta(reasoning_content=f"I could {written}"), text("你好", "stop"))
    assert (beside.text, beside.tool_calls) == ("你好", ())


@pytest.mark.parametrize(
    "written",
    [
        '<tool_call>{"name": "delete_all", "arguments": {}}</tool_call>',
        '<tool_call>{"name": "item_search", "arguments": {"query"',
        "<tool_call>search for bags</tool_call>",
    ],
)
async def test_15_a_written_call_that_cannot_be_used_is_tried_again_and_reported(written: str) -> None:
    async with client_of(streamed(text(f"我来搜{written}", "stop"))) as (client, endpoint):
        told: list[Any] = []
        with pytest.raises(ModelCallUnreadable):
            await collect(client, told)
    assert len(endpoint.bodies) == 2
    assert told == [TextDelta("我来搜"), Restarted(accepted=True), TextDelta("我来搜")]


async def test_15_a_call_in_the_reasoning_that_cannot_be_used_is_no_answer_at_all() -> None:
    thought = delta(reasoning_content='<tool_call>{"name": "delete_all"}</tool_call>')
    async with client_of(streamed(thought, delta("stop"))) as (client, _):
        with pytest.raises(ModelEmpty):
            await all_events(client, WITH_TOOLS)


async def test_15_without_tools_the_words_are_words() -> None:
    result = await answered(text("write <tool_call> to call a tool", "stop"), request=replace(REQUEST, tools=None))
    assert result.text == "write <tool_call> to call a tool"


async def test_16_an_answer_in_the_reasoning_is_none_unless_that_is_wanted() -> None:
    only_thought = streamed(delta(reasoning_content="你好"), delta("stop"))
    async with client_of(only_thought) as (client, endpoint):
        with pytest.raises(ModelEmpty) as empty:
            await all_events(client)
        assert len(endpoint.bodies) == 2
    assert empty.value.reasoning == "你好"
    wanted = replace(PROFILES["generic"], answer_in_reasoning=True)
    async with client_of(only_thought, profile=wanted) as (client, _):
        events = await all_events(client)
    assert events[0] == TextDelta("你好")
    assert isinstance(events[-1], ModelAnswer)
    assert events[-1].payload == '{"role":"assistant","content":"你好"}'


async def test_17_ids_that_are_missing_doubled_taken_or_too_long_are_replaced() -> None:
    result = await answered(
        fragment("{}", index=0, name="one"),
        fragment("{}", index=1, id="taken", name="two"),
        fragment("{}", index=2, id="x" * 41, name="three"),
        fragment("{}", index=3, id="fine", name="four"),
        delta("tool_calls"),
        request=replace(WITH_TOOLS, taken_call_ids=frozenset({"taken"})),
    )
    ids = [call.call_id for call in result.tool_calls]
    assert len(set(ids)) == 4
    assert ids[3] == "fine"
    assert not {"", "taken", "x" * 41} & set(ids)


async def test_17_one_id_for_several_calls() -> None:
    result = await answered(
        fragment('{"q":1}', index=0, id="call_0", name="one"),
        fragment('{"q":2}', index=1, id="call_0", name="two"),
        delta("tool_calls"),
    )
    assert named(result) == [("one", '{"q":1}'), ("two", '{"q":2}')]
    assert len({call.call_id for call in result.tool_calls}) == 2


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(streamed(text("par"), {"error": {"message": "overloaded"}}), id="error"),
        pytest.param(streamed(text("par"), {"object": "error", "message": "overloaded", "code": 500}), id="object"),
        pytest.param(
            answer(200, sse(text("par"), done=False) + b'event: error\ndata: {"code":"Throttling","message":"x"}\n\n'),
            id="event",
        ),
        pytest.param(streamed(text("par"), delta("error")), id="finish reason error"),
        pytest.param(streamed(text("par"), done=False), id="no finish, no DONE"),
        pytest.param(streamed(text("par")), id="no finish"),
        pytest.param(GOOD[:-60], id="cut in mid-stream"),
    ],
)
async def test_19_a_stream_that_turns_into_an_error_is_never_an_answer(broken: bytes) -> None:
    async with client_of(broken, GOOD) as (client, endpoint):
        *deltas, result = await all_events(client)
    assert isinstance(result, ModelAnswer)
    assert result.text == "hello"
    assert deltas.count(Restarted(accepted=True)) == 1
    assert len(set(endpoint.bodies)) == 1
    async with client_of(broken, retry_for=0.0) as (client, _):
        with pytest.raises(ModelStreamBroken):
            await all_events(client)


async def test_19_an_end_without_done_is_an_answer_where_the_model_had_finished() -> None:
    assert (await answered(text("hi", "stop"), done=False)).text == "hi"


async def test_19_what_the_filter_withheld_is_not_asked_for_again() -> None:
    async with client_of(streamed(text("par"), delta("content_filter"))) as (client, endpoint):
        with pytest.raises(ModelFiltered):
            await all_events(client)
    assert len(endpoint.bodies) == 1


async def test_20_dashscope_gets_a_stream_no_forced_tool_while_thinking_and_its_reasoning_back() -> None:
    forced = replace(WITH_TOOLS, options={"tool_choice": "required"}, thinking=True)
    stream = streamed(delta(reasoning_content="hm"), text("ok", "stop"))
    async with client_of(stream, profile="dashscope") as (client, endpoint):
        first = await answer_of(client, forced)
        await answer_of(client, replace(forced, thinking=False))
        await answer_of(client, replace(forced, messages=(*REQUEST.messages, first.payload)))
    thinking, plain, later = (json.loads(body) for body in endpoint.bodies)
    assert all(body["stream"] is True for body in (thinking, plain, later))
    assert "tool_choice" not in thinking
    assert plain["tool_choice"] == "required"
    assert later["messages"][1]["reasoning_content"] == "hm"
    assert "x-dashscope-cachecontrol: enable" in endpoint.heads[0].lower()


@pytest.mark.parametrize(
    ("profile", "field"),
    [("dashscope", "reasoning_content"), ("vllm", "reasoning"), ("generic", None), ("openai", None)],
)
@pytest.mark.parametrize("told_as", ["reasoning_content", "reasoning"])
async def test_20_reasoning_is_echoed_only_where_the_profile_wants_it(
    profile: str, field: str | None, told_as: str
) -> None:
    async with client_of(streamed(delta(**{told_as: "hm"}), text("ok", "stop")), profile=profile) as (client, _):
        message = json.loads((await answer_of(client)).payload)
    assert {name: value for name, value in message.items() if "reasoning" in name} == ({field: "hm"} if field else {})
