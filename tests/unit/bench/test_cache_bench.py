"""The cache bench can tell a good prefix from a broken one, by the texts alone."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from bench.cache.ablations import (
    l2_before_history,
    l5_dropped,
    memory_in_system,
    moving_mark,
    personal_skills_in_l1,
    personal_skills_in_tail,
    sliding_window,
    timestamp_in_head,
)
from bench.cache.calls import Call, CallReader, with_answers
from bench.cache.figures import session_figures, skill_calls, sum_of, unexplained
from bench.cache.policies import POLICIES
from bench.cache.replay import Replayed, prepared
from bench.cache.scaling import scaled
from bench.cache.texts import Break, Texts, TextsSent

from common.memory_api.turns import ModelCallKind
from model_client.exact_json import exact_json
from model_client.usage import ModelUsage
from offline_model.tokens import QwenTokens

TOOLS = [{"type": "function", "function": {"name": "item_search", "description": "Searches the catalogue. " * 40}}]
SYSTEM = {"role": "system", "content": "你是购物助手。" * 300}
BLOCK128, EXACT = POLICIES["block128"], POLICIES["exact"]


def user(words: str) -> dict[str, Any]:
    return {"role": "user", "content": f"<turn_context>\n</turn_context>\n<user_message>\n{words}\n</user_message>"}


def said(words: str) -> dict[str, Any]:
    return {"role": "assistant", "content": words}


def searched(call_id: str) -> dict[str, Any]:
    function = {"name": "item_search", "arguments": "{}"}
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": call_id, "type": "function", "function": function}],
    }


def result(call_id: str, words: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": words}


def memory(words: str) -> dict[str, Any]:
    return {"role": "user", "content": f"<user_long_term_memory>\n{words}\n</user_long_term_memory>"}


def strategies(words: str) -> dict[str, Any]:
    return {"role": "user", "content": f"<strategies>\n{words}\n</strategies>"}


class Wire:
    """Makes calls out of messages, as the recorder does out of bodies."""

    def __init__(self) -> None:
        self._reader = CallReader()

    def call(self, *messages: dict[str, Any], session: int = 0, turn: int = 1, **fields: Any) -> Call:
        body = {"model": "m", "stream": True, "tools": TOOLS, "messages": list(messages), **fields}
        return self._reader.read(exact_json(body).encode(), session, turn)


@pytest.fixture(scope="module")
def tokens() -> QwenTokens:
    return QwenTokens()


@pytest.fixture
def wire() -> Wire:
    return Wire()


def contents(call: Call) -> list[str]:
    return [json.loads(text)["content"] for text in call.messages]


def as_reported(calls: Sequence[Call], texts: Sequence[Texts], *cached: int) -> list[Replayed]:
    return [
        Replayed(call, ModelUsage(prompt_tokens=text.total, cached_tokens=number))
        for call, text, number in zip(calls, texts, cached, strict=True)
    ]


# What is sent


def test_kinds_are_told_by_the_request(wire: Wire) -> None:
    plan = {"type": "json_schema", "json_schema": {"name": "turn_plan", "schema": {}}}
    facts = {"type": "json_schema", "json_schema": {"name": "curated_facts", "schema": {}}}
    compaction = {"role": "user", "content": "<compaction_request>\nsummarise"}
    assert wire.call(SYSTEM, user("包")).kind is ModelCallKind.MAIN
    assert wire.call(SYSTEM, user("包"), compaction).kind is ModelCallKind.COMPACTION
    assert wire.call(SYSTEM, user("包"), tools=None, response_format=plan).kind is ModelCallKind.PLANNER
    assert wire.call(SYSTEM, user("包"), tools=None, response_format=facts).kind is ModelCallKind.CURATOR


def test_a_call_is_sent_again_as_it_was(wire: Wire) -> None:
    sent = json.loads(wire.call(SYSTEM, user("包"), temperature=0).body(max_tokens=1))
    expected = {"model": "m", "tools": TOOLS, "messages": [SYSTEM, user("包")], "temperature": 0, "max_tokens": 1}
    assert sent == expected


def test_an_answer_is_what_the_next_request_shows(wire: Wire) -> None:
    first = wire.call(SYSTEM, user("包"))
    other = wire.call(SYSTEM, user("伞"), session=1)
    second = wire.call(SYSTEM, user("包"), said("好"), user("伞"), turn=2)
    answered = with_answers([first, other, second])
    assert [None if call.answer is None else json.loads(call.answer) for call in answered] == [said("好"), None, None]


def test_marks_are_set_only_for_the_cache_that_needs_them(wire: Wire) -> None:
    call = wire.call(SYSTEM, user("包"))
    assert prepared(call, "block128") == call
    assert b"cache_control" in prepared(call, "marks").body()


# What of it had been sent before


def test_a_longer_conversation_owes_all_of_the_shorter_one(wire: Wire, tokens: QwenTokens) -> None:
    first = wire.call(SYSTEM, user("包"))
    second = wire.call(SYSTEM, user("包"), said("好"), user("伞"), turn=2)
    before, now = TextsSent(tokens).of_all([first, second])
    assert (before.seen, before.shared, before.whole) == (0, 0, 0)
    assert now.broken_by is None
    assert before.total - 20 < now.shared == now.seen == now.whole < before.total
    assert now.owed(BLOCK128) == now.shared // 128 * 128
    assert now.owed(EXACT) == now.shared


def test_another_session_shares_the_head_and_an_exact_cache_owes_nothing_for_it(wire: Wire, tokens: QwenTokens) -> None:
    _, other = TextsSent(tokens).of_all([wire.call(SYSTEM, user("包")), wire.call(SYSTEM, user("伞"), session=1)])
    assert other.broken_by is None
    assert 1_024 < other.shared == other.seen < other.total
    assert other.owed(EXACT) == 0


def test_an_exact_cache_owes_only_where_a_request_had_ended(wire: Wire, tokens: QwenTokens) -> None:
    longer = wire.call(SYSTEM, user("包"), searched("a"), result("a", "十款"))
    other = wire.call(SYSTEM, user("包"), said("好"), user("伞"), session=1)
    assert TextsSent(tokens).of_all([longer, other])[1].owed(EXACT) == 0
    ended_there = wire.call(SYSTEM, user("包"), session=2)
    assert TextsSent(tokens).of_all([longer, ended_there, other])[2].owed(EXACT) > 1_024


def test_other_tools_or_another_model_share_nothing(wire: Wire, tokens: QwenTokens) -> None:
    calls = [wire.call(SYSTEM, user("包")), wire.call(SYSTEM, user("包"), session=1, tools=TOOLS * 2)]
    assert TextsSent(tokens).of_all(calls)[1].shared == 0
    calls = [wire.call(SYSTEM, user("包")), wire.call(SYSTEM, user("包"), session=1, model="fast")]
    assert TextsSent(tokens).of_all(calls)[1].seen == 0


def test_less_than_the_minimum_is_not_owed(wire: Wire, tokens: QwenTokens) -> None:
    short = {"role": "system", "content": "助手"}
    now = TextsSent(tokens).of_all(
        [wire.call(short, user("包"), tools=None), wire.call(short, user("伞"), tools=None)]
    )[1]
    assert 0 < now.shared < 128
    assert (now.owed(BLOCK128), now.ceiling(BLOCK128)) == (0, 0)


def test_a_message_twice_in_one_request_counts_once(wire: Wire, tokens: QwenTokens) -> None:
    block = memory("- [preference] 颜色: 黑" * 50)
    first = wire.call(SYSTEM, user("包"), block)
    second = wire.call(SYSTEM, user("包"), block, said("好"), user("伞"), block)
    assert TextsSent(tokens).of_all([first, second])[1].seen < TextsSent(tokens).of_all([first, first])[1].seen + 30


@pytest.mark.parametrize(
    ("after", "cause"),
    [
        ([SYSTEM, user("包"), searched("a"), result("a", "[pruned: gone]"), said("好"), user("伞")], Break.PRUNE),
        ([SYSTEM, {"role": "user", "content": "<session_summary>\n买了包"}, user("伞")], Break.SUMMARY),
        ([SYSTEM, user("伞")], Break.UNEXPLAINED),
        (
            [{**SYSTEM, "content": "另一个"}, user("包"), searched("a"), result("a", "[pruned: gone]")],
            Break.UNEXPLAINED,
        ),
        ([SYSTEM, user("包"), searched("a"), result("a", "另一个结果"), said("好")], Break.UNEXPLAINED),
    ],
)
def test_a_break_and_what_explains_it(
    wire: Wire, tokens: QwenTokens, after: list[dict[str, Any]], cause: Break
) -> None:
    before = wire.call(SYSTEM, user("包"), searched("a"), result("a", "十款双肩包" * 20))
    assert TextsSent(tokens).of_all([before, wire.call(*after, turn=2)])[1].broken_by is cause


def test_side_calls_neither_break_a_prefix_nor_become_one(wire: Wire, tokens: QwenTokens) -> None:
    plan = {"type": "json_schema", "json_schema": {"name": "turn_plan", "schema": {}}}
    compaction = {"role": "user", "content": "<compaction_request>\nsummarise"}
    calls = [
        wire.call(SYSTEM, user("包")),
        wire.call({**SYSTEM, "content": "计划"}, user("包"), tools=None, response_format=plan),
        wire.call(SYSTEM, user("包"), said("好"), compaction),
        wire.call(SYSTEM, user("包"), said("好"), user("伞")),
    ]
    assert [texts.broken_by for texts in TextsSent(tokens).of_all(calls)] == [None] * 4


# Figures


def test_a_call_that_got_less_than_is_owed_is_an_unexplained_break(wire: Wire, tokens: QwenTokens) -> None:
    calls = [wire.call(SYSTEM, user("包")), wire.call(SYSTEM, user("包"), said("好"), user("伞"), turn=2)]
    texts = TextsSent(tokens).of_all(calls)
    owed = texts[1].owed(BLOCK128)
    assert unexplained(as_reported(calls, texts, 0, owed), texts, "block128") == []
    ((call, _),) = unexplained(as_reported(calls, texts, 0, owed - 128), texts, "block128")
    assert call is calls[1]
    figures = session_figures(as_reported(calls, texts, 0, owed), texts, "block128")
    prompt = texts[0].total + texts[1].total
    assert (figures["prompt"], figures["cached"], figures["turns"], figures["calls"]) == (prompt, owed, 2, 2)
    assert figures["rate"] == round(owed / prompt, 4) == figures["ceiling"]
    assert figures["cost_ratio"] == round((prompt - owed + owed * 0.1) / prompt, 4)


def test_tokens_that_are_counted_otherwise_are_told(wire: Wire, tokens: QwenTokens) -> None:
    calls = [wire.call(SYSTEM, user("包"))]
    texts = TextsSent(tokens).of_all(calls)
    replayed = [Replayed(calls[0], ModelUsage(prompt_tokens=texts[0].total + 1, cached_tokens=0))]
    assert len(unexplained(replayed, texts, "block128")) == 1


def test_what_an_engine_does_not_report_is_unknown_and_in_no_sum(wire: Wire) -> None:
    call = wire.call(SYSTEM, user("包"))
    reports = (ModelUsage(1_000, 600), ModelUsage(1_000, None), ModelUsage())
    total = sum_of([Replayed(call, usage) for usage in reports])
    assert (total.calls, total.unknown, total.prompt, total.cached, total.rate) == (3, 2, 1_000, 600, 0.6)


def test_written_tokens_cost_what_the_list_says() -> None:
    assert POLICIES["marks"].cost(1_000, 600, 300) == pytest.approx(100 + 60 + 375)


def test_the_call_after_a_skill_was_read(wire: Wire) -> None:
    body = result("s", '<skill_content name="bundle-planning">\n先按槽位分预算\n</skill_content>')
    assert skill_calls(wire.call(SYSTEM, user("一套"), searched("s"), body))
    assert not skill_calls(wire.call(SYSTEM, user("一套"), searched("s"), body, said("好"), user("伞")))


# Ablations


@pytest.fixture
def two_turns(wire: Wire) -> Call:
    return wire.call(
        SYSTEM,
        strategies("送礼"),
        user("包"),
        memory("旧"),
        searched("a"),
        result("a", "十款"),
        said("好"),
        strategies("学生"),
        user("伞"),
        memory("新"),
        searched("b"),
        result("b", "五款"),
        turn=2,
    )


def test_l2_before_the_history(two_turns: Call) -> None:
    shown = contents(l2_before_history(two_turns))
    assert "学生" in shown[1]
    assert "包" in shown[2]
    assert not any("送礼" in text for text in shown)


def test_l5_dropped_after_its_turn(two_turns: Call) -> None:
    shown = contents(l5_dropped(two_turns))
    assert len(shown) == len(two_turns.messages) - 1
    assert not any("旧" in text for text in shown)
    assert any("新" in text for text in shown)


def test_memory_in_the_system_prompt(two_turns: Call) -> None:
    head, *others = contents(memory_in_system(two_turns))
    assert head.startswith(SYSTEM["content"])
    assert "新" in head
    assert "旧" not in head
    assert not any("<user_long_term_memory>" in text for text in others)


def test_a_timestamp_in_the_head(two_turns: Call, wire: Wire) -> None:
    head, *others = timestamp_in_head(two_turns).messages
    assert tuple(others) == two_turns.messages[1:]
    assert head != timestamp_in_head(wire.call(SYSTEM, turn=3)).messages[0]


def test_a_sliding_window_drops_whole_turns(wire: Wire) -> None:
    turns = [[strategies(f"策略{n}"), user(f"第{n}轮"), said(f"答{n}")] for n in range(8)]
    shown = contents(sliding_window(wire.call(SYSTEM, *(message for turn in turns for message in turn))))
    assert shown[0] == SYSTEM["content"]
    assert "策略2" in shown[1]
    assert len(shown) == 1 + 3 * 6
    assert contents(sliding_window(wire.call(SYSTEM, *turns[0]))) == contents(wire.call(SYSTEM, *turns[0]))


def test_the_mark_that_moves(two_turns: Call) -> None:
    marked = ["cache_control" in text for text in moving_mark(two_turns).messages]
    assert [position for position, is_marked in enumerate(marked) if is_marked] == [0, 5]
    assert moving_mark(two_turns).messages[4] == two_turns.messages[4]


def test_personal_skills_change_the_head_or_come_with_a_turn(wire: Wire) -> None:
    messages = [message for number in range(1, 6) for message in (user(f"第{number}轮"), said("好"))]
    third, fifth = (wire.call(SYSTEM, *messages[: 2 * turn - 1], turn=turn) for turn in (3, 5))
    assert personal_skills_in_l1(third).messages[0] != personal_skills_in_l1(fifth).messages[0]
    assert personal_skills_in_l1(fifth).messages[1:] == fifth.messages[1:]
    before, now = personal_skills_in_tail(third).messages, personal_skills_in_tail(fifth).messages
    assert now[: len(before)] == before
    blocks = [position for position, text in enumerate(now) if "<personal_skills>" in text]
    assert [now[position + 1] for position in blocks] == [fifth.messages[1], fifth.messages[7]]


# Scaling


def test_scaled_requests_still_extend_each_other(wire: Wire) -> None:
    first = wire.call(SYSTEM, user("包"), searched("a"), result("a", "十款双肩包" * 100))
    second = wire.call(SYSTEM, user("包"), searched("a"), result("a", "十款双肩包" * 100), said("好" * 50), turn=2)
    small, longer = scaled([first, second], 0.1)
    assert longer.messages[: len(small.messages)] == small.messages
    assert small.tools == longer.tools
    assert len(small.body()) < len(first.body()) / 4
    assert json.loads(small.messages[2]) == searched("a"), "calls and their ids stay whole"
    assert scaled([first], 1.0) == [first]
