"""The control plane and P_t against the real client and the offline model, which is told to misbehave."""

from collections.abc import AsyncIterator
from itertools import pairwise

import pytest
from tests.support.offline_model import serving_offline_model
from tests.unit.agent.memory_in_process import MemoryInProcess
from tests.unit.agent.scripted_agent import ScriptedAgent, ShelfCatalogue, messages

from agent.context.messages import correction_code
from agent.planner.plan import stored_plan
from common.memory_api.turns import FailureCode, ModelCallKind
from model_client.measured import StreamingModel

SHELF = ("bag-001", "bag-002", "bag-003", "bag-004", "snk-001", "snk-002")
WANTED = "想找一个通勤双肩包，500 元以内，不要塑料，寄到德国"


@pytest.fixture(scope="module")
async def model() -> AsyncIterator[StreamingModel]:
    async with serving_offline_model(patience=5.0) as client:
        yield client


async def a_turn(memory: MemoryInProcess, model: StreamingModel, text: str) -> None:
    memory.new_turn(text)
    await ScriptedAgent(memory, model=model, catalogue=ShelfCatalogue(*SHELF), max_steps=8).run()
    assert memory.finished is not None


def failure(memory: MemoryInProcess) -> FailureCode | None:
    assert memory.finished is not None
    return memory.finished.failure


def codes(memory: MemoryInProcess) -> list[str]:
    return [code for message in messages(memory) if (code := correction_code(message)) is not None]


def assert_valid(memory: MemoryInProcess) -> None:
    """Every request extended the one before, and right behind each step with calls stand its results."""
    assert all(call.first_differing_layer is None for call in memory.all_calls)
    for message, following in pairwise(messages(memory)):
        assert not message.get("tool_calls") or following["role"] == "tool"


async def test_a_skill_that_is_skipped_is_asked_for_once_and_the_answer_is_good(model: StreamingModel) -> None:
    memory = MemoryInProcess()
    await a_turn(memory, model, f"{WANTED}[[offline:skip_skill]]")
    assert failure(memory) is None
    assert memory.finished is not None
    assert memory.finished.items
    assert codes(memory) == ["skipped_skill"]
    assert_valid(memory)


async def test_searching_without_end_ends_in_a_clear_failure_within_the_limits(model: StreamingModel) -> None:
    memory = MemoryInProcess()
    await a_turn(memory, model, "找一个双肩包[[offline:loop=stubborn]]")
    assert failure(memory) is FailureCode.STEP_LIMIT
    assert [call.kind for call in memory.model_calls].count(ModelCallKind.MAIN) == 8
    assert codes(memory)[-1] == "no_more_tools"
    await a_turn(memory, model, "找一个双肩包[[offline:loop]]")
    assert failure(memory) is None
    assert_valid(memory)


async def test_an_order_that_the_model_says_it_confirmed_is_never_told(model: StreamingModel) -> None:
    memory = MemoryInProcess()
    await a_turn(memory, model, "帮我下单[[offline:text=已为您下单，请放心。]]")
    assert failure(memory) is FailureCode.MODEL_MISBEHAVED
    assert memory.finished is not None
    assert "已为您下单" not in memory.finished.reply
    await a_turn(memory, model, "找一个双肩包")
    assert failure(memory) is None
    assert_valid(memory)


async def test_what_the_user_says_is_merged_over_turns(model: StreamingModel) -> None:
    memory = MemoryInProcess()
    await a_turn(memory, model, WANTED)
    held = memory.session_constraints or {}
    assert (held["domain"], held["exclude"], held["destination"]) == ("bags_luggage", ["塑料"], "DE")
    assert held["budget"] == {"amount": "500", "currency": "CNY"}
    await a_turn(memory, model, "塑料的也可以了，还是双肩包")
    assert memory.session_constraints == {key: held[key] for key in held if key != "exclude"}
    await a_turn(memory, model, "再找点零食，不要坚果")
    held = memory.session_constraints
    assert (held["domain"], held["exclude"]) == ("snacks_food", ["坚果"])
    assert "must" not in held
    assert held["budget"] == {"amount": "500", "currency": "CNY"}


async def test_a_planner_that_fails_leaves_what_holds(model: StreamingModel) -> None:
    memory = MemoryInProcess()
    await a_turn(memory, model, WANTED)
    before = memory.session_constraints
    await a_turn(memory, model, "再找点零食，不要坚果[[offline:planner.malformed]]")
    assert stored_plan(memory.log[-3:]) is None
    assert memory.session_constraints == before
    assert failure(memory) is None
