"""Reads the messages of the log back. Payloads were written by us; an erased or foreign one reads as empty."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from common.memory_api.sessions import LogEntry
from model_client.answers import ToolCall


@dataclass(frozen=True)
class ToolResultMessage:
    call_id: str
    content: str


def message_of(entry: LogEntry) -> dict[str, Any]:
    try:
        message = json.loads(entry.payload)
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}


def tool_calls_of(message: dict[str, Any]) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in message.get("tool_calls", ())
    )


def tool_results(entries: Sequence[LogEntry]) -> Iterator[tuple[LogEntry, ToolResultMessage]]:
    for entry in entries:
        message = message_of(entry)
        if message.get("role") == "tool":
            yield entry, ToolResultMessage(message["tool_call_id"], message["content"])


def call_ids(entries: Sequence[LogEntry]) -> frozenset[str]:
    """Every call id in the log; a new call must not take one of them."""
    return frozenset(call.call_id for entry in entries for call in tool_calls_of(message_of(entry)))
