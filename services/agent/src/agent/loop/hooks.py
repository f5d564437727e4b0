"""Hooks: places where the loop asks whether something is to be added to the conversation.

What a hook adds is a log entry, stored with the step it belongs to, so that a later attempt sees it too.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from agent.context.entries import EntryFactory
from agent.loop.turn_state import TurnState
from common.memory_api.sessions import LogEntry, NewLogEntry


class HookPoint(StrEnum):
    PRE_MODEL_CALL = "pre_model_call"
    POST_TOOL_CALL = "post_tool_call"


@dataclass(frozen=True)
class HookView:
    """What a hook may look at: the turn's own entries and what they say."""

    entries: Sequence[LogEntry]
    state: TurnState
    make: EntryFactory


@dataclass(frozen=True)
class Hook:
    """Lower priorities run first; ties by name."""

    name: str
    point: HookPoint
    priority: int
    add: Callable[[HookView], list[NewLogEntry]]


class Hooks:
    def __init__(self, hooks: Sequence[Hook]) -> None:
        self._hooks = sorted(hooks, key=lambda hook: (hook.priority, hook.name))

    def entries_at(self, point: HookPoint, view: HookView) -> list[NewLogEntry]:
        return [entry for hook in self._hooks if hook.point is point for entry in hook.add(view)]
