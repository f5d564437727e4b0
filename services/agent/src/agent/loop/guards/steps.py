"""The steps of a turn as guards look at them: calls with their results."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agent.context.messages import tool_calls_of, tool_results
from agent.loop.hooks import HookView
from agent.loop.turn_state import current_drive
from common.memory_api.sessions import LogEntry
from model_client.answers import ToolCall
from model_client.arguments import read_arguments


@dataclass(frozen=True)
class RanCall:
    """`result` is what the model was shown."""

    call: ToolCall
    result: str

    @property
    def failed(self) -> bool:
        return self.result.startswith('{"error":')

    @property
    def arguments(self) -> dict[str, Any]:
        """Empty where they could not be read."""
        return read_arguments(self.call.arguments) or {}

    @property
    def signature(self) -> tuple[str, str]:
        """The tool and its arguments, in whatever order the model wrote their names."""
        arguments = read_arguments(self.call.arguments)
        same = self.call.arguments if arguments is None else json.dumps(arguments, sort_keys=True)
        return self.call.name, same


Step = tuple[RanCall, ...]


def ran_steps(entries: Sequence[LogEntry]) -> list[Step]:
    """The steps of the current drive whose calls have run, in their order."""
    drive = current_drive(entries)
    results = {result.call_id: result.content for _, result in tool_results(drive)}
    made = (tool_calls_of(entry.message) for entry in drive)
    steps = (tuple(RanCall(call, results[call.call_id]) for call in calls if call.call_id in results) for calls in made)
    return [step for step in steps if step]


def steps_with_results(view: HookView) -> list[Step]:
    """The same with the step that has just run as the last one; empty where none has."""
    if not view.results:
        return []
    now = tuple(RanCall(call, result.content) for call, result in view.results)
    return [*ran_steps(view.turn.entries), now]
