"""What was seen of a turn: read from the session's log, the turn's view and the user's data. No effects here."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.context.messages import correction_code, tool_calls_of, tool_results
from agent.planner.plan import is_plan
from common.memory_api.sessions import Layer, LogEntry
from model_client.arguments import read_arguments

_PLAN = re.compile(r"<turn_plan>\n(?P<fields>.*)\n</turn_plan>", re.DOTALL)
_NOTICE = "<system_notice>"


@dataclass(frozen=True)
class ObservedCall:
    tool: str
    arguments: dict[str, Any]
    """Empty where they were no JSON object."""
    result: dict[str, Any]
    """Empty where it was no JSON object."""
    result_text: str


@dataclass(frozen=True)
class ObservedTurn:
    status: str
    reply: str = ""
    items: Sequence[Mapping[str, Any]] = ()
    """Cards the user was shown."""
    steps: Sequence[Sequence[ObservedCall]] = ()
    """The calls of each answer of the main model that has any."""
    plan: Mapping[str, Any] | None = None
    memory_block: str | None = None
    notices: Sequence[str] = ()
    corrections: Mapping[str, str] = field(default_factory=dict)
    """Text by code."""
    blocks: Sequence[str] = ()
    session_constraints: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    orders: Sequence[Mapping[str, Any]] = ()
    main_calls: int = 0
    log_faults: Sequence[str] = ()

    @property
    def calls(self) -> list[ObservedCall]:
        return [call for step in self.steps for call in step]

    def calls_of(self, tool: str) -> list[ObservedCall]:
        return [call for call in self.calls if call.tool == tool]


def steps_in(entries: Sequence[LogEntry]) -> list[list[ObservedCall]]:
    """The turn's calls with their results, step by step."""
    results = {result.call_id: result.content for _, result in tool_results(entries)}
    steps: list[list[ObservedCall]] = []
    for entry in entries:
        calls = tool_calls_of(entry.message)
        if calls:
            steps.append(
                [
                    ObservedCall(
                        tool=call.name,
                        arguments=read_arguments(call.arguments) or {},
                        result=_object_in(results.get(call.call_id, "")),
                        result_text=results.get(call.call_id, ""),
                    )
                    for call in calls
                ]
            )
    return steps


def plan_in(entries: Sequence[LogEntry]) -> dict[str, Any] | None:
    plans = [str(entry.message["content"]) for entry in entries if is_plan(entry)]
    found = _PLAN.search(plans[-1]) if plans else None
    return _object_in(found["fields"]) if found else None


def memory_block_in(entries: Sequence[LogEntry]) -> str | None:
    blocks = [content_of(entry) for entry in entries if entry.layer is Layer.L5]
    return blocks[-1] if blocks else None


def blocks_in(entries: Sequence[LogEntry]) -> list[str]:
    return [content_of(entry) for entry in entries if entry.layer is Layer.L2]


def notices_in(entries: Sequence[LogEntry]) -> list[str]:
    contents = [content_of(entry) for entry in entries if entry.layer is Layer.L3]
    return [content for content in contents if content.startswith(_NOTICE)]


def corrections_in(entries: Sequence[LogEntry]) -> dict[str, str]:
    found = [(correction_code(entry.message), content_of(entry)) for entry in entries]
    return {code: content for code, content in found if code is not None}


def content_of(entry: LogEntry) -> str:
    return str(entry.message.get("content") or "")


def _object_in(text: str) -> dict[str, Any]:
    """The JSON object in a text, fenced or not; empty where there is none."""
    start, end = text.find("{"), text.rfind("}")
    try:
        value = json.loads(text[start : end + 1])
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
