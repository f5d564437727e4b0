"""Making room: results are pruned for nothing, conversations summarised for a call; and neither of them in vain."""

import json
from collections.abc import AsyncGenerator
from itertools import count, pairwise
from uuid import uuid4

import pytest
from tests.unit.agent.example_facts import a_fact
from tests.unit.agent.memory_in_process import MemoryInProcess
from tests.unit.agent.scripted_agent import (
    QuickClock,
    ScriptedAgent,
    ShelfCatalogue,
    Step,
    calls,
    says,
    summary,
    tokens_of,
    with_ids,
)

from agent.compaction.limits import ContextLimits
from agent.compaction.pruning import results_to_prune
from agent.compaction.summaries import read_summary
from agent.compaction.tail import Tail, choose_tail
from agent.context.entries import EntryFactory
from agent.context.release import build_release
from agent.context.rendering import Part, Rendering
from agent.context.replacements import PRUNED, summary_of
from agent.skills.loaded import skill_content
from common.ids import new_id
from common.memory_api.sessions import EntryKind, LogEntry, NewLogEntry
from common.memory_api.turns import FailureCode, PrefixBreak
from model_client.answers import ModelAnswer, ModelEvent
from model_client.errors import ContextOverflow, ModelUnavailable
from model_client.profiles import PROFILES
from model_client.requests import ModelRequest

MAKE = EntryFactory(new_id, PROFILES["generic"])
RELEASE = build_release([], "")
SEARCH = ("item_search", {"query": "双肩包"})
READ = ("Skill", {"name": "search-discovery"})
SUMMARY_TEXT = "用户在找通勤双肩包，预算五百元，不要真皮；看过两件，还没有决定。对坚果过敏一直有效。"
SUMMARY = says(f"<summary>\n{SUMMARY_TEXT}\n</summary>")
SHELF = ("bag-001", "bag-002", "bag-003", "bag-004", "bag-005", "bag-006")


def result(call_id: str, length: int) -> NewLogEntry:
    return MAKE.tool_result(call_id, "x" * length)


def log_of(*turns: list[NewLogEntry]) -> list[LogEntry]:
    log: list[LogEntry] = []
    for entries in turns:
        turn_id = uuid4()
        for entry in entries:
            log.append(LogEntry(**entry.model_dump(), position=len(log) + 1, turn_id=turn_id))
    return log


def answer(*call_ids: str) -> NewLogEntry:
    named = [{"id": each, "type": "function", "function": {"name": "x", "arguments": "{}"}} for each in call_ids]
    payload = json.dumps({"role": "assistant", "content": "", "tool_calls": named}, separators=(",", ":"))
    return NewLogEntry(entry_id=new_id(), layer="L3", payload=payload)


def parts_of(log: list[LogEntry]) -> tuple[Part, ...]:
    return Rendering.of(RELEASE, log).parts


# Pruning


def test_the_oldest_results_go_until_enough_is_left() -> None:
    log = log_of([result(f"c{number}", 1_000) for number in range(10)])
    size = log[0].payload.__len__()
    assert results_to_prune(parts_of(log), before=99, left=4 * size, at_least=0) == (1, 2, 3, 4, 5, 6)
    assert results_to_prune(parts_of(log), before=4, left=4 * size, at_least=0) == (1, 2, 3)
    assert results_to_prune(parts_of(log), before=4, left=4 * size, at_least=4 * size) == (), "not worth a prefix"
    assert results_to_prune(parts_of(log), before=99, left=10 * size, at_least=0) == ()


def test_skill_bodies_receipts_and_placeholders_stay() -> None:
    skill = MAKE.tool_result("c1", skill_content("search-discovery", "步" * 1_000))
    log = log_of([skill, result("c2", 100), MAKE.tool_result("c3", PRUNED), result("c4", 1_000), result("c5", 1_000)])
    assert results_to_prune(parts_of(log), before=99, left=0, at_least=0) == (4, 5)


def test_a_pruned_result_is_one_line_and_keeps_its_call() -> None:
    log = log_of([answer("c1"), result("c1", 1_000), answer("c2"), result("c2", 1_000), MAKE.prune([2])])
    messages = [json.loads(text) for text in Rendering.of(RELEASE, log).messages[1:]]
    assert messages[1] == {"role": "tool", "tool_call_id": "c1", "content": PRUNED}
    assert messages[3]["content"] == "x" * 1_000
    assert len(messages) == 4


# What stays behind a summary


def test_the_tail_is_as_many_whole_turns_as_fit() -> None:
    turn = [MAKE.user_message("甲" * 100), answer("a"), result("a", 500)]
    log = log_of(turn, turn, turn, turn)
    size = sum(len(entry.payload.encode()) for entry in turn)
    assert choose_tail(parts_of(log), log, 2 * size) == Tail(7)
    assert choose_tail(parts_of(log), log, 3 * size - 1) == Tail(7)
    assert choose_tail(parts_of(log), log, 99 * size) == Tail(1)


def test_of_a_turn_that_is_too_long_the_opening_and_the_last_steps_stay() -> None:
    earlier = [MAKE.user_message("甲"), answer("a"), result("a", 500)]
    present = [MAKE.turn_block("打法"), MAKE.user_message("乙"), MAKE.memory_block("记忆", [])]
    steps = [entry for each in "bcd" for entry in (answer(each), result(each, 1_000))]
    log = log_of(earlier, [*present, *steps])
    one_step = sum(len(entry.payload.encode()) for entry in steps[:2])
    assert choose_tail(parts_of(log), log, 2 * one_step) == Tail(9, kept=(4, 5, 6))
    assert choose_tail(parts_of(log), log, 10) == Tail(11, kept=(4, 5, 6)), "the last step's results were not read yet"


def test_a_summary_stands_for_what_is_before_it_and_later_entries_follow() -> None:
    earlier, later = [MAKE.user_message("甲")], [MAKE.user_message("乙"), MAKE.memory_block("记忆", []), answer("a")]
    entries = [*later, result("a", 10), MAKE.summary("摘要", kept=(2, 3), tail_from=4), MAKE.notice("快点")]
    log = log_of(earlier, entries)
    messages = [json.loads(text) for text in Rendering.of(RELEASE, log).messages]
    contents = ["摘要", "乙", "记忆", "", "x" * 10, "<system_notice>\n快点\n</system_notice>"]
    assert [message["content"] for message in messages[1:]] == contents
    assert messages[1]["role"] == "user"
    again = log_of(earlier, [*entries, MAKE.summary("新的摘要", kept=(), tail_from=6)])
    contents = [json.loads(text)["content"] for text in Rendering.of(RELEASE, again).messages[1:]]
    assert contents == ["新的摘要", "<system_notice>\n快点\n</system_notice>"], "an earlier summary is in the new one"


@pytest.mark.parametrize("text", ["", "没有标记的摘要" * 20, "<summary>短</summary>", "<summary>" + "没有关上" * 30])
def test_what_is_no_summary(text: str) -> None:
    assert read_summary(text) is None


# The whole


def limits(window: int = 131_072, **changes: float) -> ContextLimits:
    return ContextLimits(window, **changes)


def replacements(memory: MemoryInProcess) -> list[str]:
    return [entry.kind.value for entry in memory.log if entry.kind is not EntryKind.MESSAGE]


async def a_turn(memory: MemoryInProcess, *steps: Step, within: ContextLimits, text: str = "找双肩包") -> ScriptedAgent:
    memory.new_turn(text)
    agent = ScriptedAgent(memory, *steps, catalogue=ShelfCatalogue(*SHELF), limits=within)
    await agent.run()
    assert memory.finished is not None
    return agent


def is_compaction(request: ModelRequest) -> bool:
    return str(json.loads(request.messages[-1])["content"]).startswith("<compaction_request>")


async def test_results_are_pruned_once_and_deep() -> None:
    memory = MemoryInProcess()
    within = limits(20_000, prune_at=0.12)
    for _ in range(8):
        await a_turn(memory, calls(SEARCH), summary("好", "bag-001"), within=within)
    pruned = [index for index, entry in enumerate(memory.log) if entry.kind is EntryKind.PRUNE]
    assert 1 <= len(pruned) <= 3, "not with every turn"
    broken = [call for call in memory.all_calls if call.first_differing_layer is not None]
    assert [call.first_differing_cause for call in broken] == [PrefixBreak.PRUNE] * len(pruned)
    assert all(call.first_differing_position is not None for call in broken)


FULL = limits(5_000, prune_at=1.0, compact_at=0.5, progress=99.0, keep=0.01)
"""Every request is too long for this one."""


async def test_a_conversation_that_is_too_long_is_summarised_on_its_own_prefix() -> None:
    memory = MemoryInProcess()
    memory.facts = [a_fact("nut_allergy", "对坚果过敏", "constraint")]
    first = await a_turn(memory, calls(SEARCH), says("好"), within=limits())
    second = await a_turn(memory, SUMMARY, summary("好", "bag-001"), within=FULL, text="还有吗")
    request, after = second.model.requests
    before = first.model.requests[-1]
    assert is_compaction(request)
    assert request.messages[: len(before.messages)] == before.messages
    assert (request.tools, request.model, request.options) == (before.tools, before.model, before.options)
    contents = [json.loads(text)["content"] for text in after.messages]
    assert contents[1].startswith("<session_summary>\n")
    assert SUMMARY_TEXT in contents[1]
    assert "还有吗" in contents[2], "what the user says now stands as it is"
    assert "nut_allergy" in contents[4]
    [stored] = [entry for entry in memory.log if entry.kind is EntryKind.SUMMARY]
    assert stored.bears_memory
    assert [call.kind for call in memory.model_calls] == ["planner", "compaction", "main"]
    assert memory.model_calls[1].first_differing_layer is None
    assert memory.model_calls[2].first_differing_cause is PrefixBreak.SUMMARY


async def test_a_summary_of_a_conversation_without_memory_bears_none() -> None:
    memory = MemoryInProcess()
    await a_turn(memory, SUMMARY, says("好"), within=FULL)
    assert replacements(memory) == ["summary"]
    assert not any(entry.bears_memory for entry in memory.log)


BAD_SUMMARIES: list[Step] = [
    says("我不写摘要"),
    says("<summary>短</summary>"),
    calls(SEARCH, text="<summary>"),
    ModelUnavailable("down"),
    ContextOverflow(),
]


@pytest.mark.parametrize("bad", BAD_SUMMARIES)
async def test_a_summary_that_fails_changes_nothing_and_is_not_tried_again_soon(bad: Step) -> None:
    memory = MemoryInProcess()
    before = await a_turn(memory, says("好"), within=limits())
    agent = await a_turn(memory, bad, calls(SEARCH), says("好"), within=FULL)
    assert memory.finished is not None
    assert memory.finished.failure is None
    main = [request for request in agent.model.requests if not is_compaction(request)]
    assert len(main) == 2, "one attempt in the turn, whatever its number of steps"
    for earlier, later in pairwise([before.model.requests[-1], *main]):
        assert later.messages[: len(earlier.messages)] == earlier.messages
    tried: list[bool] = []
    for _ in range(3):
        later_turn = await a_turn(memory, SUMMARY, says("好"), within=FULL)
        tried.append(any(is_compaction(request) for request in later_turn.model.requests))
    assert tried == [False, False, True]


async def test_a_summary_that_frees_too_little_is_no_summary() -> None:
    memory = MemoryInProcess()
    long = says(f"<summary>{SUMMARY_TEXT * 300}</summary>")
    await a_turn(memory, long, says("好"), within=limits(5_000, compact_at=0.5))
    [stored] = [entry for entry in memory.log if entry.kind is EntryKind.SUMMARY]
    kept = summary_of(stored)
    assert kept is not None
    assert kept.message is None


async def test_a_request_that_overflows_is_made_shorter_once_and_sent_again() -> None:
    memory = MemoryInProcess()
    for _ in range(3):
        await a_turn(memory, calls(SEARCH), summary("好", "bag-001"), within=limits())
    agent = await a_turn(memory, ContextOverflow(), SUMMARY, says("好"), within=limits())
    assert memory.finished is not None
    assert memory.finished.reply == "好"
    assert replacements(memory) == ["prune", "summary"]
    failed, compaction, retry = agent.model.requests
    assert is_compaction(compaction)
    assert sum(map(len, compaction.messages)) < sum(map(len, failed.messages))
    assert sum(map(len, retry.messages)) < sum(map(len, compaction.messages))


async def test_a_request_that_overflows_again_fails_the_turn() -> None:
    memory = MemoryInProcess()
    await a_turn(memory, calls(SEARCH), says("好"), within=limits())
    await a_turn(memory, ContextOverflow(), SUMMARY, ContextOverflow(), within=limits())
    assert memory.finished is not None
    assert memory.finished.failure is FailureCode.MODEL_UNAVAILABLE
    await a_turn(memory, says("又好了"), within=limits())
    assert memory.finished.failure is None


async def test_room_is_made_once_however_much_there_would_be() -> None:
    memory = MemoryInProcess()
    for _ in range(4):
        await a_turn(memory, calls(SEARCH, SEARCH), summary("好", "bag-001"), within=limits())
    await a_turn(memory, ContextOverflow(), says("不写摘要"), ContextOverflow(), within=limits())
    assert memory.finished is not None
    assert memory.finished.failure is FailureCode.MODEL_UNAVAILABLE
    assert replacements(memory) == ["prune", "summary"]


async def test_a_skill_that_a_summary_took_may_be_read_again() -> None:
    memory = MemoryInProcess()
    await a_turn(memory, calls(READ), calls(READ), says("好"), within=limits())
    await a_turn(memory, SUMMARY, calls(READ), says("好"), within=FULL)
    results = [
        json.loads(entry.payload)["content"] for entry in memory.log if entry.payload.startswith('{"role":"tool"')
    ]
    assert [content.startswith("<skill_content") for content in results] == [True, False, True]


class TokenCountingModel:
    """Counts a request's tokens, refuses what is longer than its window, and answers in one of three ways."""

    def __init__(self, window: int) -> None:
        self._window = window
        self._numbers = count(1)
        self.longest = 0
        self.compactions = 0

    async def stream(self, request: ModelRequest, *, give_up_at: float | None = None) -> AsyncGenerator[ModelEvent]:
        tokens = tokens_of(request)
        if "response_format" in request.options:
            raise ModelUnavailable("no planner")
        if tokens > self._window:
            raise ContextOverflow
        self.longest = max(self.longest, tokens)
        step = self._step(request)
        yield with_ids(step, request, self._numbers, tokens)

    def _step(self, request: ModelRequest) -> ModelAnswer:
        if is_compaction(request):
            self.compactions += 1
            return SUMMARY
        last = json.loads(request.messages[-1])
        return summary("好", "bag-001") if last["role"] == "tool" else calls(SEARCH, SEARCH)


async def test_a_session_of_300_turns_stays_inside_the_window() -> None:
    memory = MemoryInProcess()
    model = TokenCountingModel(window=24_000)
    within = limits(24_000)
    for number in range(300):
        memory.new_turn(f"第 {number} 个双肩包")
        shelf = ShelfCatalogue(*SHELF)
        await ScriptedAgent(memory, model=model, catalogue=shelf, limits=within, clock=QuickClock()).run()
        assert memory.finished is not None
        assert memory.finished.failure is None, number
    kinds = replacements(memory)
    assert model.longest <= 24_000
    assert 1 <= model.compactions <= 60
    assert kinds.count("summary") == model.compactions
    assert len(kinds) < 90, "room for several turns is made each time"
    broken = [call for call in memory.all_calls if call.first_differing_layer is not None]
    assert all(call.first_differing_cause is not None for call in broken)
    assert len(broken) <= len(kinds)
