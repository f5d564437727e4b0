"""A turn from claim to finish, with a scripted model and memory in this process."""

import asyncio
import json
from dataclasses import replace
from itertools import pairwise

import pytest
from structlog.testing import capture_logs
from tests.support.waiting import wait_for
from tests.unit.agent.example_facts import a_fact
from tests.unit.agent.memory_in_process import MemoryInProcess
from tests.unit.agent.scripted_agent import (
    PRODUCTS,
    DyingAt,
    ScriptedAgent,
    ShelfCatalogue,
    calls,
    main_calls,
    messages,
    roles,
    said,
    says,
    summary,
)

from agent.tools.save_memory import NOT_SAVED, REFUSED
from common.answers import fixed_answer
from common.crash_points import CrashPoint
from common.memory_api.facts import FactAction
from common.memory_api.sessions import Layer
from common.memory_api.turns import Behaviour, FailureCode
from common.memory_api.user_data import BehaviourKind, UserSettings
from common.problems import ProblemCode
from common.streams.progress import ProgressEvent
from model_client.errors import ModelMisbehaved, ModelRefused, ModelUnavailable

SEARCH = ("item_search", {"query": "双肩包"})
SAVE = ("save_memory", {"key": "nut_allergy", "value": "对坚果过敏", "category": "constraint"})


async def test_a_search_and_a_summary() -> None:
    memory = MemoryInProcess()
    agent = ScriptedAgent(memory, calls(SEARCH), summary("这两个不错", "bag-002", "bag-001"))
    await agent.run()
    assert roles(memory) == ["user", "assistant", "tool", "assistant", "tool"]
    assert memory.finished is not None
    assert memory.finished.reply == "这两个不错"
    assert memory.finished.failure is None
    cards = memory.finished.items
    assert [card.item_id for card in cards] == ["bag-002", "bag-001"]
    assert cards[0].price == PRODUCTS["bag-002"].price
    assert cards[0].reason == "合适"
    assert memory.finished.behaviour == [Behaviour(kind=BehaviourKind.SEARCH, text="双肩包")]
    assert [(call.call_number, call.kind) for call in memory.model_calls] == [(1, "planner"), (2, "main"), (3, "main")]
    assert memory.model_calls[1].cached_tokens == 50
    assert agent.published.events[0].turn_id == memory.turn_id


async def test_a_plain_answer() -> None:
    memory = MemoryInProcess("你好")
    await ScriptedAgent(memory, says("你好，想买点什么？")).run()
    assert memory.finished is not None
    assert memory.finished.reply == "你好，想买点什么？"
    assert memory.finished.items == []
    assert len(main_calls(memory)) == 1


async def test_every_request_extends_the_one_before_also_over_turns() -> None:
    memory = MemoryInProcess()
    memory.facts = [a_fact("nut_allergy", "对坚果过敏", "constraint")]
    first = ScriptedAgent(memory, calls(SEARCH), calls(SEARCH, SAVE), summary())
    await first.run()
    memory.new_turn("再便宜一点")
    second = ScriptedAgent(memory, calls(SEARCH), summary())
    await second.run()
    requests = [*first.model.requests, *second.model.requests]
    assert len(requests) == 5
    for earlier, later in pairwise(requests):
        assert later.messages[: len(earlier.messages)] == earlier.messages
        assert (later.tools, later.model) == (earlier.tools, earlier.model)
    assert memory.release is not None


async def test_the_memory_block_goes_in_before_the_first_call_of_every_turn() -> None:
    memory = MemoryInProcess()
    memory.facts = [a_fact("nut_allergy", "对坚果过敏", "constraint")]
    agent = ScriptedAgent(memory, says("好"))
    await agent.run()
    assert "- [constraint] nut_allergy: 对坚果过敏" in agent.model.requests[0].messages[-1]
    block = said(memory)[1]
    assert block.layer == "L5"
    assert block.bears_memory
    assert block.memory_fact_ids == [memory.facts[0].fact_id]
    assert memory.finished is not None
    assert [(use.fact_id, use.how) for use in memory.finished.memory_uses] == [(memory.facts[0].fact_id, "injected")]
    memory.new_turn("还有呢")
    memory.facts = []
    again = ScriptedAgent(memory, says("好"))
    await again.run()
    assert "目前没有长期记忆" in again.model.requests[0].messages[-1]
    memory_of_new_user = MemoryInProcess()
    none = ScriptedAgent(memory_of_new_user, says("好"))
    await none.run()
    assert len(none.model.requests[0].messages) == 3, "system, the user's words, the plan"


@pytest.mark.parametrize(("profile", "role"), [("generic", "user"), ("openai", "system")])
async def test_the_memory_blocks_role_follows_the_profile(profile: str, role: str) -> None:
    memory = MemoryInProcess()
    memory.facts = [a_fact("a", "b")]
    await ScriptedAgent(memory, says("好"), profile=profile).run()
    assert messages(memory)[1]["role"] == role


async def test_calls_of_one_step_each_get_one_result_in_order() -> None:
    memory = MemoryInProcess()
    step = calls(SEARCH, ("no_such_tool", {}), ("item_search", "{not json"), ("item_search", "[1]"), SAVE)
    await ScriptedAgent(memory, step, says("好")).run()
    results = [message for message in messages(memory) if message["role"] == "tool"]
    assert [result["tool_call_id"] for result in results] == [f"call-{number}" for number in range(1, 6)]
    assert results[0]["content"].startswith('<external_content source="item_search">')
    assert "there is no such tool" in results[1]["content"]
    assert "not a JSON object" in results[2]["content"]
    assert "not a JSON object" in results[3]["content"]
    assert json.loads(results[4]["content"]) == {"saved": True, "key": "nut_allergy", "message": "记住了 对坚果过敏"}


async def test_entries_that_hold_memory_are_marked() -> None:
    memory = MemoryInProcess()
    memory.facts = [a_fact("shoe_size", "42")]
    await ScriptedAgent(memory, calls(SAVE), calls(("recall_memories", {"topic": "鞋"})), says("好")).run()
    marked = [
        (message["role"], entry.bears_memory) for entry, message in zip(said(memory), messages(memory), strict=True)
    ]
    assert marked == [
        ("user", False),
        ("user", True),  # the memory block
        ("assistant", True),  # save_memory's arguments
        ("tool", True),  # its receipt
        ("assistant", True),
        ("tool", True),  # what was recalled
        ("assistant", True),  # may quote it
    ]
    assert memory.finished is not None
    assert {use.how for use in memory.finished.memory_uses} == {"injected", "recalled"}


@pytest.mark.parametrize("shows", ["block", "recall", "save", "behaviour"])
async def test_whatever_follows_memory_in_a_session_bears_memory(shows: str) -> None:
    """Words, searches and results after it may quote it: all that a clear must overwrite."""
    memory = MemoryInProcess()
    if shows == "block":
        memory.facts = [a_fact("shoe_size", "42")]
    if shows == "behaviour":
        memory.behaviour = [Behaviour(kind=BehaviourKind.SEARCH, text="无坚果零食")]
    beginning = {"recall": [calls(("recall_memories", {"topic": ""}))], "save": [calls(SAVE)]}.get(shows, [])
    await ScriptedAgent(memory, *beginning, calls(SEARCH), summary()).run()
    first = next(position for position, entry in enumerate(said(memory)) if entry.bears_memory)
    assert first == {"block": 1, "recall": 2, "save": 1, "behaviour": 0}[shows]
    memory.new_turn("还有呢")
    memory.facts, memory.behaviour = [], []
    await ScriptedAgent(memory, calls(SEARCH), says("好")).run()
    begin = memory.log.index(said(memory)[first])
    assert all(entry.bears_memory for entry in memory.log[begin:])
    assert len(memory.log) > begin + 5


async def test_a_session_that_has_seen_no_memory_bears_none() -> None:
    memory = MemoryInProcess()
    await ScriptedAgent(memory, calls(SEARCH), summary()).run()
    assert not any(entry.bears_memory for entry in memory.log)


def told(agent: ScriptedAgent, step: int) -> str:
    """What a watcher shows of a step: each delta stands at its offset."""
    text = ""
    for delta in agent.progress.of(ProgressEvent.TEXT_DELTA):
        if delta["step"] == step:
            text = text[: delta["offset"]] + delta["text"]
    return text


@pytest.mark.parametrize("action", [FactAction.REFUSED, FactAction.ADDED])
@pytest.mark.parametrize("summary_first", [False, True])
async def test_a_summary_beside_a_save_is_refused_and_not_told(action: FactAction, summary_first: bool) -> None:
    """It was written before anybody knew what memory would do."""
    memory = MemoryInProcess("记住")
    memory.next_fact_action = action
    step = [SAVE, ("shopping_summary", {"reply": "给你这个包。记住了，对坚果过敏", "items": []})]
    agent = ScriptedAgent(memory, calls(*(reversed(step) if summary_first else step)), says("看过回执了"))
    await agent.run()
    assert memory.finished is not None
    assert memory.finished.reply == "看过回执了"
    assert memory.saves == 1
    results = {message["tool_call_id"]: message["content"] for message in messages(memory) if message["role"] == "tool"}
    assert len(results) == 2
    assert sum("call shopping_summary alone" in result for result in results.values()) == 1
    assert not any("记住了" in delta["text"] for delta in agent.progress.of(ProgressEvent.TEXT_DELTA))
    assert (told(agent, 1), told(agent, 2)) == ("", "看过回执了")
    assert [data["tool"] for data in agent.progress.of(ProgressEvent.TOOL_STARTED)] == ["save_memory"]


async def test_words_beside_a_save_stay_in_the_log_and_are_not_told() -> None:
    memory = MemoryInProcess("记住")
    memory.next_fact_action = FactAction.REFUSED
    agent = ScriptedAgent(memory, calls(SAVE, text="好的，记住了"), says("没能存下来"))
    await agent.run()
    told = [(delta["offset"], delta["text"]) for delta in agent.progress.of(ProgressEvent.TEXT_DELTA)]
    assert told == [(0, "好的，"), (0, ""), (0, "没能存下来")], "the claim never, and the words before it taken back"
    assert messages(memory)[1]["content"] == "好的，记住了"


@pytest.mark.parametrize("broken", ["\\ud83d", "\\u0000"])
async def test_an_argument_that_cannot_be_stored_costs_a_character_and_not_the_turn(broken: str) -> None:
    memory = MemoryInProcess()
    arguments = f'{{"query":"背包{broken}"}}'
    catalogue = ShelfCatalogue("bag-001")
    agent = ScriptedAgent(memory, calls(("item_search", arguments)), summary("好", "bag-001"), catalogue=catalogue)
    await agent.run()
    assert [query.query for query in catalogue.queries] == ["背包\ufffd"]
    assert messages(memory)[1]["tool_calls"][0]["function"]["arguments"] == arguments
    assert memory.finished is not None
    assert memory.finished.behaviour == [Behaviour(kind=BehaviourKind.SEARCH, text="背包\ufffd")]
    assert agent.progress.of(ProgressEvent.TOOL_STARTED)[0]["arguments"] == {"query": "背包\ufffd"}


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999"])
async def test_a_number_that_json_does_not_have_is_answered(number: str) -> None:
    memory = MemoryInProcess()
    step = calls(("item_search", f'{{"query":"包","price_max":{number}}}'))
    await ScriptedAgent(memory, step, says("好")).run()
    assert "not a JSON object" in messages(memory)[2]["content"]


@pytest.mark.parametrize("broken", ["\ud83d", "\x00"])
async def test_an_answer_that_cannot_be_stored_costs_a_character_and_not_the_turn(broken: str) -> None:
    memory = MemoryInProcess()
    agent = ScriptedAgent(memory, says(f"好{broken}的"))
    await agent.run()
    assert memory.finished is not None
    assert memory.finished.reply == "好\ufffd的"
    assert told(agent, 1) == "好\ufffd的"


async def test_what_the_provider_calls_things_is_stored_as_a_label() -> None:
    memory = MemoryInProcess()
    odd = replace(says("好"), finish_reason="st\x00op\ud83d" + "!" * 100)
    await ScriptedAgent(memory, odd).run()
    assert main_calls(memory)[0].finish_reason == "stop" + "!" * 60


async def test_the_models_words_for_a_tool_are_not_logged() -> None:
    memory = MemoryInProcess()
    with capture_logs() as lines:
        await ScriptedAgent(memory, calls(("卡号 6222 0000", {}), SEARCH), says("好")).run()
    assert "6222" not in repr(lines)
    assert {line["tool"] for line in lines if line["event"] == "tool.ran"} == {"unknown", "item_search"}


async def test_the_receipt_of_save_memory_says_what_memory_did() -> None:
    async def receipt(memory: MemoryInProcess) -> tuple[dict[str, object], ScriptedAgent]:
        agent = ScriptedAgent(memory, calls(SAVE), says("好"))
        await agent.run()
        return json.loads(next(m["content"] for m in messages(memory) if m["role"] == "tool")), agent

    told, agent = await receipt(MemoryInProcess())
    assert told["saved"] is True
    assert agent.progress.of(ProgressEvent.MEMORY_SAVED) == [
        {"key": "nut_allergy", "value": "对坚果过敏", "category": "preference", "source": "save_memory"}
    ]
    for action in (FactAction.REFUSED, FactAction.CANDIDATE, FactAction.OUTDATED, FactAction.DELETED_BY_USER):
        memory = MemoryInProcess()
        memory.next_fact_action = action
        told, agent = await receipt(memory)
        assert told["saved"] is False
        assert agent.progress.of(ProgressEvent.MEMORY_SAVED) == []
    refused = MemoryInProcess()
    refused.problems["facts/save"] = ProblemCode.FACT_REFUSED
    assert (await receipt(refused))[0]["message"] == REFUSED
    down = MemoryInProcess()
    down.down.add("facts/save")
    assert (await receipt(down))[0]["message"] == NOT_SAVED


async def test_a_product_no_search_returned_is_not_shown() -> None:
    memory = MemoryInProcess()
    await ScriptedAgent(memory, calls(SEARCH), summary("看看", "snk-001", "bag-001", "bag-001")).run()
    assert memory.finished is not None
    assert [card.item_id for card in memory.finished.items] == ["bag-001"]


async def test_the_users_platforms_limit_the_search() -> None:
    memory = MemoryInProcess()
    memory.settings = UserSettings(platforms=["taobao", "jd"])
    catalogue = ShelfCatalogue("bag-001")
    step = calls(SEARCH, ("item_search", {"query": "包", "platforms": ["amazon", "jd"]}))
    await ScriptedAgent(memory, step, says("好"), catalogue=catalogue).run()
    assert [query.platforms for query in catalogue.queries] == [("taobao", "jd"), ("jd",)]


async def test_a_catalogue_that_is_down_is_told_to_the_model() -> None:
    catalogue = ShelfCatalogue()
    catalogue.down = True
    memory = MemoryInProcess()
    await ScriptedAgent(memory, calls(SEARCH), says("现在搜不了"), catalogue=catalogue).run()
    assert "not available" in messages(memory)[2]["content"]
    assert memory.finished is not None
    assert memory.finished.failure is None


async def test_the_model_is_told_once_to_finish_and_then_stopped() -> None:
    memory = MemoryInProcess()
    agent = ScriptedAgent(memory, *[calls(SEARCH)] * 5, max_steps=5)
    await agent.run()
    notices = [entry for entry in memory.log if "<system_notice>" in entry.payload]
    assert len(notices) == 1
    assert notices[0].payload in agent.model.requests[3].messages
    assert notices[0].payload not in agent.model.requests[2].messages
    assert memory.finished is not None
    assert memory.finished.failure is FailureCode.STEP_LIMIT
    assert memory.finished.reply == fixed_answer(FailureCode.STEP_LIMIT, memory.text)


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (ModelUnavailable("down"), FailureCode.MODEL_UNAVAILABLE),
        (ModelRefused(401), FailureCode.MODEL_UNAVAILABLE),
        (ModelMisbehaved("empty"), FailureCode.MODEL_MISBEHAVED),
    ],
)
async def test_a_model_that_fails_fails_the_turn_with_an_answer(error: Exception, failure: FailureCode) -> None:
    memory = MemoryInProcess("find me a bag")
    agent = ScriptedAgent(memory, error)
    await agent.run()
    assert memory.finished is not None
    assert (memory.finished.failure, memory.finished.reply) == (failure, fixed_answer(failure, "bag"))
    assert agent.progress.events[-1][0] is ProgressEvent.TURN_FAILED
    assert len(agent.published.events) == 1


async def test_a_failed_turn_that_is_driven_again_is_answered_anew() -> None:
    memory = MemoryInProcess()
    memory.facts = [a_fact("shoe_size", "42")]
    await ScriptedAgent(memory, calls(SEARCH), ModelUnavailable("down")).run()
    memory.drive_again()
    agent = ScriptedAgent(memory, summary("这次好了", "bag-001"))
    await agent.run()
    assert memory.finished is not None
    assert (memory.finished.failure, memory.finished.reply) == (None, "这次好了")
    assert [card.item_id for card in memory.finished.items] == ["bag-001"]
    assert "driven again" in agent.model.requests[0].messages[-1]
    assert [entry.layer for entry in memory.log].count(Layer.L5) == 1


async def test_a_turn_that_is_driven_again_has_its_steps_anew() -> None:
    memory = MemoryInProcess()
    await ScriptedAgent(memory, *[calls(SEARCH)] * 4, max_steps=4).run()
    memory.drive_again()
    await ScriptedAgent(memory, *[calls(SEARCH)] * 3, says("好"), max_steps=4).run()
    assert memory.finished is not None
    assert memory.finished.failure is None
    assert sum("步数快用完了" in entry.payload for entry in memory.log) == 2


async def test_a_turn_that_had_no_memory_block_gets_one_when_it_is_driven_again() -> None:
    memory = MemoryInProcess()
    await ScriptedAgent(memory, calls(SEARCH), ModelUnavailable("down")).run()
    memory.drive_again()
    memory.facts = [a_fact("nut_allergy", "对坚果过敏", "constraint")]
    agent = ScriptedAgent(memory, says("好"))
    await agent.run()
    assert "nut_allergy" in agent.model.requests[0].messages[-1]


async def test_a_model_that_hangs_fails_the_turn_at_its_deadline() -> None:
    memory = MemoryInProcess(deadline_seconds=0.3)
    await ScriptedAgent(memory, asyncio.Event().wait).run()
    assert memory.finished is not None
    assert memory.finished.failure is FailureCode.DEADLINE
    assert roles(memory) == ["user"]


async def test_a_turn_claimed_past_its_deadline_keeps_the_users_words() -> None:
    memory = MemoryInProcess(deadline_seconds=0.0)
    await ScriptedAgent(memory, says("好")).run()
    assert memory.finished is not None
    assert memory.finished.failure is FailureCode.DEADLINE
    assert roles(memory) == ["user"]


async def test_a_bug_hands_the_turn_back_and_spends_an_attempt() -> None:
    memory = MemoryInProcess()
    await ScriptedAgent(memory, RuntimeError("a bug")).run()
    assert memory.finished is None
    assert memory.released is not None
    assert (memory.released.error_code, memory.released.spend_attempt) == ("bug", True)


async def test_a_lost_lease_stops_the_turn_without_a_write() -> None:
    memory = MemoryInProcess(lease_seconds=0.3)

    async def lose() -> None:
        memory.lose_lease()
        await asyncio.Event().wait()

    await ScriptedAgent(memory, lose).run()
    assert memory.finished is None
    assert memory.released is None
    assert roles(memory) == ["user"]


async def test_the_lease_is_renewed_while_the_model_thinks() -> None:
    memory = MemoryInProcess(lease_seconds=0.3)

    async def think_until_renewed_often() -> None:
        await wait_for(lambda: memory.calls.count("turns/renew") >= 4, "four renewals")

    await ScriptedAgent(memory, think_until_renewed_often, says("好")).run()
    assert memory.finished is not None


async def test_memory_that_does_not_answer_leaves_the_turn_to_the_sweeper() -> None:
    memory = MemoryInProcess()
    memory.down = {"turns/append-step"}
    await ScriptedAgent(memory, says("好")).run()
    assert memory.finished is None
    assert memory.released is None


@pytest.mark.parametrize(
    "code",
    [ProblemCode.LEASE_HELD, ProblemCode.NOT_DUE, ProblemCode.ALREADY_DONE, ProblemCode.NOT_FOUND],
)
async def test_a_turn_that_cannot_be_claimed_is_left_alone(code: ProblemCode) -> None:
    memory = MemoryInProcess()
    memory.problems["turns/claim"] = code
    await ScriptedAgent(memory).run()
    assert memory.calls == ["turns/claim"]


@pytest.mark.parametrize("code", [ProblemCode.LEASE_LOST, ProblemCode.SESSION_ENDED, ProblemCode.GENERATION_CHANGED])
async def test_a_write_that_is_refused_ends_the_work(code: ProblemCode) -> None:
    memory = MemoryInProcess()
    memory.problems["facts/save"] = code
    await ScriptedAgent(memory, calls(SAVE), says("好")).run()
    assert memory.finished is None
    assert memory.released is None


async def test_a_shutdown_hands_the_turn_back_for_nothing() -> None:
    memory = MemoryInProcess()
    thinking = asyncio.Event()

    async def hang() -> None:
        thinking.set()
        await asyncio.Event().wait()

    agent = ScriptedAgent(memory, hang)
    running = asyncio.create_task(agent.run())
    await thinking.wait()
    agent.worker.hand_back()
    await running
    assert memory.finished is None
    assert memory.released is not None
    assert memory.released.spend_attempt is False


AFTER_A_DEATH = [
    (CrashPoint.AGENT_CLAIMED, 1),
    (CrashPoint.AGENT_MODEL_ANSWERED, 1),
    (CrashPoint.AGENT_STEP_STORED, 1),
    (CrashPoint.AGENT_TOOL_EFFECT_DONE, 1),
    (CrashPoint.AGENT_TOOL_EFFECT_DONE, 2),
    (CrashPoint.AGENT_RESULTS_STORED, 1),
    (CrashPoint.AGENT_MODEL_ANSWERED, 2),
    (CrashPoint.AGENT_STEP_STORED, 2),
    (CrashPoint.AGENT_TOOL_EFFECT_DONE, 3),
    (CrashPoint.AGENT_BEFORE_FINISH, 1),
]


@pytest.mark.parametrize(("point", "times"), AFTER_A_DEATH)
async def test_a_later_attempt_continues_where_the_first_one_died(point: CrashPoint, times: int) -> None:
    memory = MemoryInProcess()
    memory.facts = [a_fact("shoe_size", "42")]
    script = [calls(SAVE, SEARCH), summary("好", "bag-001")]
    died = ScriptedAgent(memory, *script, dies=DyingAt(point, times))
    await died.run()
    assert not memory.ended
    stored_steps = roles(memory).count("assistant")
    successor = ScriptedAgent(memory, *script[stored_steps:])
    await successor.run()
    assert roles(memory) == ["user", "user", "assistant", "tool", "tool", "assistant", "tool"]
    assert memory.finished is not None
    assert [card.item_id for card in memory.finished.items] == ["bag-001"]
    assert memory.saves == 1
    assert [call.call_number for call in main_calls(memory)] == [2, 3]
    assert len(successor.model.requests) == 2 - stored_steps
    ids = [message["tool_call_id"] for message in messages(memory) if message["role"] == "tool"]
    assert len(ids) == len(set(ids)) == 3


async def test_a_plain_answer_that_is_stored_is_not_asked_for_again() -> None:
    memory = MemoryInProcess()
    await ScriptedAgent(memory, says("好的"), dies=DyingAt(CrashPoint.AGENT_STEP_STORED)).run()
    successor = ScriptedAgent(memory)
    await successor.run()
    assert successor.model.requests == []
    assert memory.finished is not None
    assert memory.finished.reply == "好的"


@pytest.mark.parametrize("point", [CrashPoint.AGENT_FINISHED, CrashPoint.AGENT_PUBLISHED])
async def test_a_turn_that_is_finished_is_not_touched_again(point: CrashPoint) -> None:
    memory = MemoryInProcess()
    await ScriptedAgent(memory, says("好的"), dies=DyingAt(point)).run()
    log = list(memory.log)
    await ScriptedAgent(memory).run()
    assert memory.log == log


async def test_what_a_watcher_is_told() -> None:
    memory = MemoryInProcess()
    agent = ScriptedAgent(memory, calls(SEARCH, text="我找找"), summary("就它：\n「包」", "bag-001"))
    await agent.run()
    told = [event for event, _ in agent.progress.events]
    assert told == [
        ProgressEvent.TURN_STARTED,
        ProgressEvent.PLAN,
        ProgressEvent.TEXT_DELTA,
        ProgressEvent.TOOL_STARTED,
        ProgressEvent.TOOL_FINISHED,
        ProgressEvent.TEXT_DELTA,
        ProgressEvent.TOOL_STARTED,
        ProgressEvent.TOOL_FINISHED,
        ProgressEvent.ITEMS,
        ProgressEvent.TURN_COMPLETED,
    ]
    assert agent.progress.of(ProgressEvent.TEXT_DELTA) == [
        {"step": 1, "offset": 0, "text": "我找找"},
        {"step": 2, "offset": 0, "text": "就它：\n「包」"},
    ]
    assert agent.progress.of(ProgressEvent.TOOL_STARTED)[0] == {
        "call_id": "call-1",
        "tool": "item_search",
        "arguments": {"query": "双肩包"},
    }
    [done] = agent.progress.of(ProgressEvent.TURN_COMPLETED)
    assert done["items"][0]["item_id"] == "bag-001"


async def test_events_without_end_do_not_stop_the_worker() -> None:
    """The same event again and again: the turn is done once."""
    memory = MemoryInProcess()
    agent = ScriptedAgent(memory, says("好的"))
    for _ in range(3):
        await agent.run()
    assert len(agent.model.requests) == 1
    assert len(agent.published.events) == 1
