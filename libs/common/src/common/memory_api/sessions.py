"""Sessions and their append-only log."""

import json
from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property
from typing import Any, Literal
from uuid import UUID

from pydantic import AwareDatetime, Field

from common.memory_api.base import Message, OwnedRequest
from common.text import StorableText


class EntryKind(StrEnum):
    """What a log entry does: add a message, or (later) replace what stands before it in the rendering."""

    MESSAGE = "message"
    PRUNE = "prune"
    SUMMARY = "summary"


class Layer(StrEnum):
    """The stability layer an entry belongs to (design section 5). L0 and L1 come from the release."""

    L2 = "L2"
    L3 = "L3"
    L4 = "L4"
    L5 = "L5"


class NewLogEntry(Message):
    """`payload` is the exact JSON text that is sent to the model; it is never rewritten while the session lives."""

    entry_id: UUID
    kind: EntryKind = EntryKind.MESSAGE
    layer: Layer
    payload: StorableText
    memory_fact_ids: list[UUID] = Field(default_factory=list, description="Facts whose values it shows")
    bears_memory: bool = Field(default=False, description="Overwritten when the user clears their memory")

    @cached_property
    def message(self) -> Mapping[str, Any]:
        """What the payload says. Empty for an entry that replaces messages, and for one that is erased or foreign.

        Kept with the entry, and gone with it: every hook of every step looks through the turn's entries again.
        """
        if self.kind is not EntryKind.MESSAGE:
            return {}
        try:
            message = json.loads(self.payload)
        except ValueError:
            return {}
        return message if isinstance(message, dict) else {}


class LogEntry(NewLogEntry):
    position: int = Field(ge=1)
    turn_id: UUID


class CreateSession(OwnedRequest):
    pass


class SessionRequest(OwnedRequest):
    session_id: UUID


class ListSessions(OwnedRequest):
    limit: int = Field(default=50, ge=1, le=200)


class Session(Message):
    session_id: UUID
    state: Literal["open", "ended"]
    created_at: AwareDatetime
    last_activity_at: AwareDatetime
    ended_at: AwareDatetime | None
    end_reason: str | None
    turns: int
    open_turn_id: UUID | None


class Sessions(Message):
    sessions: list[Session]


class FinishClosing(OwnedRequest):
    """What is kept of a closed session has been kept."""

    session_id: UUID
