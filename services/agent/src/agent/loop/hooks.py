"""Hooks: five places where the loop asks whether something is to be added to the conversation.

What a hook adds is a log entry, stored with the step it belongs to, so that a later attempt sees it too and every
later request has it where it was. Between a tool call and its result nothing may stand: what is added between the two
goes behind the results of the step.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from agent.context.entries import EntryFactory
from agent.loop.turn import Turn
from agent.loop.turn_state import TurnState
from agent.tools.tool import ToolResult
from common.memory_api.sessions import NewLogEntry
from model_client.answers import ToolCall


class HookPoint(StrEnum):
    PRE_MODEL_CALL = "pre_model_call"
    """Before a call of the main model; stored before it, and the end of its request."""
    POST_MODEL_CALL = "post_model_call"
    """The answer is stored; none of its calls has run."""
    PRE_TOOL_CALL = "pre_tool_call"
    """Before the calls of a step run."""
    POST_TOOL_CALL = "post_tool_call"
    """The results of a step are known, and once at the opening, after the planner."""
    TURN_END = "turn_end"
    """The turn has its answer; goes to the end of its part of the log."""


@dataclass(frozen=True)
class HookView:
    """What a hook may look at. `calls` are those about to run, `results` those that have run in this step."""

    turn: Turn
    state: TurnState
    make: EntryFactory
    calls: Sequence[ToolCall] = ()
    results: Sequence[tuple[ToolCall, ToolResult]] = ()


@dataclass(frozen=True)
class Hook:
    """Lower priorities run first; ties by name."""

    name: str
    point: HookPoint
    priority: int
    add: Callable[[HookView], Awaitable[list[NewLogEntry]]]


class Hooks:
    def __init__(self, hooks: Sequence[Hook]) -> None:
        self._hooks = sorted(hooks, key=lambda hook: (hook.priority, hook.name))

    async def entries_at(self, point: HookPoint, view: HookView) -> list[NewLogEntry]:
        added: list[NewLogEntry] = []
        for hook in self._hooks:
            if hook.point is point:
                added.extend(await hook.add(view))
        return added
