"""The agent's loop with the real model client against the real offline model, which misbehaves when asked to."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.support.offline_model import serving_offline_model
from tests.unit.agent.memory_in_process import MemoryInProcess
from tests.unit.agent.scripted_agent import ScriptedAgent, ShelfCatalogue, main_calls, messages

from common.clock import SystemClock
from common.memory_api.turns import FailureCode
from common.streams.progress import ProgressEvent
from model_client.measured import StreamingModel


@pytest.fixture(scope="module")
async def model() -> AsyncIterator[StreamingModel]:
    async with serving_offline_model() as client:
        yield client


async def run(model: StreamingModel, text: str, deadline_seconds: float = 20.0) -> ScriptedAgent:
    memory = MemoryInProcess(text, deadline_seconds=deadline_seconds)
    agent = ScriptedAgent(memory, model=model, catalogue=ShelfCatalogue("bag-001", "bag-002"))
    await agent.run()
    assert memory.finished is not None
    return agent


BACKPACK = "想找一个通勤双肩包，500 元以内 "


@pytest.mark.parametrize(
    "fault",
    ["", "http=503*3", "http=429*1", "cut*1", "empty_choices", "missing_ids", "no_usage", "slow=0.002"],
)
async def test_the_turn_completes(model: StreamingModel, fault: str) -> None:
    agent = await run(model, BACKPACK + (f"[[offline:{fault}]]" if fault else ""))
    finished = agent.memory.finished
    assert finished is not None
    assert finished.failure is None
    assert finished.items
    usage = [call.prompt_tokens for call in main_calls(agent.memory)]
    assert all((tokens is None) == (fault == "no_usage") for tokens in usage)
    shown = agent.progress.of(ProgressEvent.TEXT_DELTA)
    last_step = max(delta["step"] for delta in shown)
    assert text_shown(shown, last_step) == finished.reply


def text_shown(deltas: list[dict[str, Any]], step: int) -> str:
    """What a watcher shows that places each delta at its offset."""
    text = ""
    for delta in deltas:
        if delta["step"] == step:
            text = text[: delta["offset"]] + delta["text"]
    return text


@pytest.mark.parametrize(
    ("fault", "failure"),
    [
        ("http=401", FailureCode.MODEL_UNAVAILABLE),
        ("cut", FailureCode.MODEL_UNAVAILABLE),
        ("truncate", FailureCode.MODEL_MISBEHAVED),
        ("loop=stubborn", FailureCode.STEP_LIMIT),
    ],
)
async def test_the_turn_fails_with_an_answer(model: StreamingModel, fault: str, failure: FailureCode) -> None:
    agent = await run(model, BACKPACK + f"[[offline:{fault}]]")
    finished = agent.memory.finished
    assert finished is not None
    assert finished.failure is failure
    assert finished.reply


async def test_a_model_that_is_down_is_waited_for_until_the_deadline(model: StreamingModel) -> None:
    clock = SystemClock()
    started = clock.monotonic()
    agent = await run(model, BACKPACK + "[[offline:http=503]]", deadline_seconds=4.0)
    finished = agent.memory.finished
    assert finished is not None
    assert finished.failure is FailureCode.MODEL_UNAVAILABLE
    assert 1.0 < clock.monotonic() - started < 4.0
    assert agent.memory.attempt == 1


async def test_a_model_that_hangs_fails_the_turn_at_its_deadline(model: StreamingModel) -> None:
    agent = await run(model, BACKPACK + "[[offline:hang]]", deadline_seconds=0.8)
    finished = agent.memory.finished
    assert finished is not None
    assert finished.failure is FailureCode.DEADLINE


async def test_malformed_arguments_are_answered_and_never_executed(model: StreamingModel) -> None:
    agent = await run(model, BACKPACK + "[[offline:malformed_arguments]]")
    results = [message["content"] for message in messages(agent.memory) if message["role"] == "tool"]
    assert "not a JSON object" in results[0]
    assert [query.query for query in agent.catalogue.queries] == ["通勤双肩包"]  # the model's second try


async def test_save_memory_comes_first_when_the_script_says_so(model: StreamingModel) -> None:
    agent = await run(model, "[[offline:save=shoe_size|42 码|context]] 找双肩包")
    results = [message["content"] for message in messages(agent.memory) if message["role"] == "tool"]
    assert json.loads(results[0])["saved"] is True
    assert agent.memory.saves == 1


async def test_a_session_grows_on_its_cached_prefix(model: StreamingModel) -> None:
    memory = MemoryInProcess(BACKPACK)
    for text in (BACKPACK, "再便宜一点的双肩包"):
        memory.new_turn(text)
        await ScriptedAgent(memory, model=model).run()
        assert memory.finished is not None
    later = memory.model_calls[-1]
    assert later.cached_tokens is not None
    assert later.prompt_tokens is not None
    assert later.cached_tokens > later.prompt_tokens / 2
    assert later.first_differing_layer is None
    assert sum("<user_message>" in entry.payload for entry in memory.log) == 2
