"""Reads the messages of the log back. Payloads were written by us; an erased or foreign one reads as empty."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from common.memory_api.sessions import EntryKind, LogEntry, NewLogEntry
from model_client.answers import ToolCall

_CORRECTION = re.compile(r'\A<correction code="(?P<code>[a-z_]+)">')


@dataclass(frozen=True)
class ToolResultMessage:
    call_id: str
    content: str


def message_of(entry: LogEntry | NewLogEntry) -> Mapping[str, Any]:
    """The entry's message; empty for an entry that replaces messages."""
    return _message_in(entry.payload) if entry.kind is EntryKind.MESSAGE else {}


@lru_cache(maxsize=1_024)
def _message_in(payload: str) -> Mapping[str, Any]:
    """Kept, because every hook of every step looks through the turn's entries again."""
    try:
        message = json.loads(payload)
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}


def tool_calls_of(message: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in message.get("tool_calls", ())
    )


def tool_results(entries: Iterable[LogEntry]) -> Iterator[tuple[LogEntry, ToolResultMessage]]:
    for entry in entries:
        message = message_of(entry)
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
    return frozenset(call.call_id for entry in entries for call in tool_calls_of(message_of(entry)))
