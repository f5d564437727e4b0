"""The context over real HTTP: the agent's loop, the real client and the offline model with its simulated caches."""

from collections.abc import AsyncIterator

import pytest
from tests.support.offline_model import serving_offline_model
from tests.unit.agent.example_facts import a_fact
from tests.unit.agent.memory_in_process import MemoryInProcess
from tests.unit.agent.scripted_agent import ScriptedAgent, ShelfCatalogue, main_calls, messages

from agent.compaction.limits import ContextLimits
from agent.planner.plan import is_plan, stored_plan
from common.memory_api.sessions import EntryKind
from common.memory_api.turns import ModelCall, ModelCallKind, PrefixBreak
from common.streams.progress import ProgressEvent
from model_client.measured import StreamingModel
from offline_model.settings import OfflineModelSettings

SHELF = ("bag-001", "bag-002", "bag-003", "bag-004", "bag-005", "bag-006")
WANTED = "想找一个通勤双肩包，500 元以内，不要真皮，寄到德国"


@pytest.fixture(scope="module")
async def model() -> AsyncIterator[StreamingModel]:
    async with serving_offline_model(patience=5.0) as client:
        yield client


async def a_turn(
    memory: MemoryInProcess, model: StreamingModel, text: str, limits: ContextLimits | None = None
) -> ScriptedAgent:
    memory.new_turn(text)
    agent = ScriptedAgent(memory, model=model, catalogue=ShelfCatalogue(*SHELF), limits=limits)
    await agent.run()
    assert memory.finished is not None
    assert memory.finished.failure is None
    return agent


def rate(calls: list[ModelCall]) -> float:
    return sum(call.cached_tokens or 0 for call in calls) / sum(call.prompt_tokens or 0 for call in calls)


async def test_the_plan_says_what_the_user_said(model: StreamingModel) -> None:
    memory = MemoryInProcess()
    agent = await a_turn(memory, model, WANTED)
    plan = stored_plan(memory.log)
    assert plan is not None
    assert (plan.intent, plan.domain, plan.destination) == ("product_search", "bags_luggage", "DE")
    assert (plan.budget, plan.currency, plan.exclude) == (500, "CNY", ["真皮"])
    [told] = agent.progress.of(ProgressEvent.PLAN)
    assert told["exclude"] == ["真皮"]


@pytest.mark.parametrize(
    ("fault", "planned"),
    [("malformed*1", True), ("malformed", False), ("http=400", False), ("http=503", False), ("hang", False)],
)
async def test_a_planner_that_fails_fails_no_turn(model: StreamingModel, fault: str, planned: bool) -> None:
    memory = MemoryInProcess()
    memory.facts = [a_fact("nut_allergy", "对坚果过敏", "constraint")]
    memory.new_turn(f"{WANTED}[[offline:planner.{fault}]]")
    agent = ScriptedAgent(memory, model=model, catalogue=ShelfCatalogue(*SHELF), planner_seconds=1.5)
    await agent.run()
    assert memory.finished is not None
    assert memory.finished.failure is None
    assert memory.finished.items
    assert any(is_plan(entry) for entry in memory.log) is planned
    assert sum(entry.layer == "L5" for entry in memory.log) == 1


async def test_a_skill_is_read_before_anything_else_and_its_call_hits_the_cache(model: StreamingModel) -> None:
    memory = MemoryInProcess()
    await a_turn(memory, model, WANTED)
    steps = [message["tool_calls"] for message in messages(memory) if message.get("tool_calls")]
    assert [call["function"]["name"] for call in steps[0]] == ["Skill"]
    after_the_body = main_calls(memory)[1]
    assert rate([after_the_body]) >= 0.8
    await a_turn(memory, model, "再找一个颈枕")
    names = [call["function"]["name"] for message in messages(memory) for call in message.get("tool_calls", ())]
    assert names.count("Skill") == 1, "what stands in the conversation is not read again"


async def test_two_users_share_the_head_of_their_first_requests(model: StreamingModel) -> None:
    """Also with other memory, words and a plan: the planner's instructions and the main head were sent before."""
    await a_turn(MemoryInProcess(), model, WANTED)
    other = MemoryInProcess()
    other.facts = [a_fact("shoe_size", "42")]
    await a_turn(other, model, "Looking for office snacks without nuts")
    for call in other.model_calls[:2]:
        assert call.cached_tokens is not None
        assert call.cached_tokens >= 1_024, call.kind
    first = main_calls(other)[0]
    assert first.cached_tokens is not None
    assert first.cached_tokens >= 5_500 - 128


async def test_a_long_session_is_made_shorter_on_its_own_prefix(model: StreamingModel) -> None:
    memory = MemoryInProcess()
    memory.facts = [a_fact("nut_allergy", "对坚果过敏", "constraint")]
    limits = ContextLimits(window=14_000)
    for number in range(14):
        await a_turn(memory, model, f"第 {number} 次：想找一个通勤双肩包，{300 + number} 元以内，不要真皮", limits)
    calls = [call for call in memory.all_calls if call.kind in (ModelCallKind.MAIN, ModelCallKind.COMPACTION)]
    assert all((call.prompt_tokens or 0) < 14_000 for call in calls)
    compactions = [call for call in calls if call.kind is ModelCallKind.COMPACTION]
    assert compactions
    assert rate(compactions) >= 0.9
    broken = {call.first_differing_cause for call in calls if call.first_differing_layer is not None}
    assert broken <= {PrefixBreak.PRUNE, PrefixBreak.SUMMARY}
    summaries = [entry for entry in memory.log if entry.kind is EntryKind.SUMMARY]
    assert "双肩包" in summaries[-1].payload
    assert all(entry.bears_memory for entry in summaries)


async def test_a_summary_that_is_malformed_changes_nothing(model: StreamingModel) -> None:
    memory = MemoryInProcess()
    await a_turn(memory, model, WANTED)
    limits = ContextLimits(window=6_000, compact_at=0.5)
    await a_turn(memory, model, "再便宜一点的双肩包[[offline:summary.malformed]]", limits)
    assert [call.kind for call in memory.model_calls].count(ModelCallKind.COMPACTION) == 1
    assert all(call.first_differing_layer is None for call in memory.model_calls)


async def test_a_window_that_is_smaller_than_was_thought_costs_no_turn() -> None:
    """The provider refuses what is too long; the agent, told of a larger window, makes room and asks again.

    The window is twice the head: in a smaller one a summary would not make the session shorter by enough."""
    async with serving_offline_model(OfflineModelSettings(context_window=12_800), patience=5.0) as model:
        memory = MemoryInProcess()
        for number in range(8):
            await a_turn(memory, model, f"第 {number} 次：想找一个通勤双肩包，{300 + number} 元以内，不要真皮")
    assert any(entry.kind is not EntryKind.MESSAGE for entry in memory.log)
    assert max(call.prompt_tokens or 0 for call in memory.all_calls) <= 12_800
