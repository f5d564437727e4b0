"""What the messages of the log say: calls of tools, their results, corrections."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from common.memory_api.sessions import LogEntry
from model_client.answers import ToolCall

_CORRECTION = re.compile(r'\A<correction code="(?P<code>[a-z_]+)">')


@dataclass(frozen=True)
class ToolResultMessage:
    call_id: str
    content: str


def tool_calls_of(message: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in message.get("tool_calls", ())
    )


def tool_results(entries: Iterable[LogEntry]) -> Iterator[tuple[LogEntry, ToolResultMessage]]:
    for entry in entries:
        message = entry.message
        if message.get("role") == "tool":
            yield entry, ToolResultMessage(message["tool_call_id"], message["content"])


def correction_code(message: Mapping[str, Any]) -> str | None:
    """The code of a stored correction; None for any other message, whatever the model writes in its own."""
    if message.get("role") == "assistant":
        return None
    found = _CORRECTION.match(str(message.get("content") or ""))
    return found["code"] if found else None


def call_ids(entries: Iterable[LogEntry]) -> frozenset[str]:
    """Every call id in the log; a new call must not take one of them."""
    return frozenset(call.call_id for entry in entries for call in tool_calls_of(entry.message))
