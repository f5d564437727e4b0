"""What hooks and corrections add to a conversation: where it stands, in which order, and how often."""

from collections.abc import Callable
from itertools import pairwise

import pytest
from tests.unit.agent.memory_in_process import MemoryInProcess
from tests.unit.agent.scripted_agent import ScriptedAgent, calls, messages, roles, says, summary

from agent.loop.hooks import Hook, HookPoint, HookView
from common.memory_api.sessions import NewLogEntry
from common.memory_api.turns import FailureCode
from common.streams.progress import ProgressEvent
from model_client.errors import ModelEmpty, ModelMisbehaved, ModelTruncated

SEARCH = ("item_search", {"query": "双肩包"})


def noting(point: HookPoint, priority: int, name: str = "") -> Hook:
    """A hook that notes where it was asked."""

    async def add(view: HookView) -> list[NewLogEntry]:
        return [view.make.correction("noted", f"{point.value} {priority} {len(view.calls)} {len(view.results)}")]

    return Hook(name or point.value, point, priority, add)


async def test_hooks_run_by_priority_and_then_by_name() -> None:
    memory = MemoryInProcess()
    asked: list[str] = []

    def asking(name: str, priority: int) -> Hook:
        async def add(view: HookView) -> list[NewLogEntry]:
            asked.append(name)
            return []

        return Hook(name, HookPoint.TURN_END, priority, add)

    hooks = [asking("c", 50), asking("b", 50), asking("a", 90), asking("d", 10)]
    await ScriptedAgent(memory, says("好"), hooks=hooks).run()
    assert asked == ["d", "b", "c", "a"]


async def test_what_hooks_add_never_parts_a_call_from_its_result() -> None:
    memory = MemoryInProcess()
    hooks = [noting(point, 60) for point in HookPoint]
    await ScriptedAgent(memory, calls(SEARCH, SEARCH), summary("好", "bag-001"), hooks=hooks).run()
    noted = [notes(message["content"]) if is_note(message) else message["role"] for message in messages(memory)]
    assert noted == [
        "user",
        "post_tool_call 60 0 0",  # the opening
        "pre_model_call 60 0 0",
        "assistant",
        "tool",
        "tool",
        "post_model_call 60 0 0",
        "pre_tool_call 60 2 0",
        "post_tool_call 60 0 2",
        "pre_model_call 60 0 0",
        "assistant",
        "tool",
        "post_model_call 60 0 0",
        "pre_tool_call 60 1 0",
        "turn_end 60 0 0",
    ]


def is_note(message: dict[str, str]) -> bool:
    return str(message["content"]).startswith('<correction code="noted">')


def notes(content: str) -> str:
    return content.splitlines()[1]


async def test_a_plain_answer_that_is_corrected_is_not_the_last_word() -> None:
    memory = MemoryInProcess()

    async def add(view: HookView) -> list[NewLogEntry]:
        return [view.make.correction("stalling", "不要让用户等")] if view.state.steps == 1 else []

    hook = Hook("no_stalling", HookPoint.POST_MODEL_CALL, 10, add)
    agent = ScriptedAgent(memory, says("稍等，我去查一下"), says("查到了：没有"), hooks=[hook])
    await agent.run()
    assert memory.finished is not None
    assert memory.finished.reply == "查到了：没有"
    assert roles(memory) == ["user", "assistant", "user", "assistant"]
    told = [(delta["step"], delta["text"]) for delta in agent.progress.of(ProgressEvent.TEXT_DELTA)]
    assert told[1:] == [(1, ""), (2, "查到了：没有")], "taken back, and said anew"


async def test_corrections_without_end_meet_the_step_limit() -> None:
    memory = MemoryInProcess()
    hooks = [noting(HookPoint.POST_MODEL_CALL, 10)]
    await ScriptedAgent(memory, *[says("好")] * 3, max_steps=3, hooks=hooks).run()
    assert memory.finished is not None
    assert memory.finished.failure is FailureCode.STEP_LIMIT


def corrections(memory: MemoryInProcess) -> list[str]:
    found = [str(message["content"]) for message in messages(memory) if "<correction " in str(message["content"])]
    return [content.split('"')[1] for content in found]


@pytest.mark.parametrize(
    ("bad", "code"),
    [(("no_such_tool", {}), "unknown_tool"), (("item_search", "{broken"), "invalid_arguments")],
)
async def test_a_call_of_bad_form_is_corrected_once_per_turn(bad: tuple[str, dict[str, str] | str], code: str) -> None:
    memory = MemoryInProcess()
    agent = ScriptedAgent(memory, calls(bad, SEARCH), calls(bad), says("好"))
    await agent.run()
    assert corrections(memory) == [code]
    assert roles(memory)[:5] == ["user", "assistant", "tool", "tool", "user"]
    memory.new_turn("还有呢")
    await ScriptedAgent(memory, calls(bad), says("好")).run()
    assert corrections(memory) == [code, code]


@pytest.mark.parametrize(("error", "code"), [(ModelTruncated, "truncated_output"), (ModelEmpty, "empty_answer")])
async def test_an_answer_that_cannot_be_used_is_asked_for_once_more(
    error: Callable[[str], ModelMisbehaved], code: str
) -> None:
    memory = MemoryInProcess()
    agent = ScriptedAgent(memory, calls(SEARCH), error("bad"), summary("好", "bag-001"))
    await agent.run()
    assert memory.finished is not None
    assert memory.finished.failure is None
    assert corrections(memory) == [code]
    for earlier, later in pairwise(agent.model.requests):
        assert later.messages[: len(earlier.messages)] == earlier.messages


async def test_the_same_again_fails_the_turn() -> None:
    memory = MemoryInProcess()
    await ScriptedAgent(memory, ModelEmpty("empty"), ModelTruncated("cut"), ModelEmpty("empty")).run()
    assert memory.finished is not None
    assert memory.finished.failure is FailureCode.MODEL_MISBEHAVED
    assert corrections(memory) == ["empty_answer", "truncated_output"]


def test_there_are_five_points() -> None:
    assert [point.value for point in HookPoint] == [
        "pre_model_call",
        "post_model_call",
        "pre_tool_call",
        "post_tool_call",
        "turn_end",
    ]
