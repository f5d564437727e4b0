"""One entry of a turn's progress stream, as it is read from Redis and handed to clients."""

import json
import re
from typing import Any, NamedTuple

from common.streams.progress import ProgressEvent

_ENTRY_ID = re.compile(r"[0-9]{1,20}-[0-9]{1,20}")
_ID_PART_LIMIT = 1 << 64
# Names are not checked against the table: an agent that is newer than this process may know more events.
_EVENT_NAME = re.compile(r"[a-z][a-z_.]{0,63}")


class EntryId(NamedTuple):
    """Position in a Redis stream; ordered."""

    milliseconds: int
    counter: int

    def __str__(self) -> str:
        return f"{self.milliseconds}-{self.counter}"


START = EntryId(0, 0)


def parse_entry_id(text: str | None) -> EntryId | None:
    """An id as a client sends it back. None for whatever is not exactly one."""
    if text is None or not _ENTRY_ID.fullmatch(text):
        return None
    milliseconds, counter = (int(part) for part in text.split("-"))
    return EntryId(milliseconds, counter) if max(milliseconds, counter) < _ID_PART_LIMIT else None


class ProgressEntry(NamedTuple):
    """`data` is the JSON text as it was written. `attempt` and `n` are None for events outside the counting."""

    id: EntryId
    event: str
    data: str
    attempt: int | None
    n: int | None

    @property
    def ends_answer(self) -> bool:
        return self.event in _ENDING_EVENTS

    @property
    def tells_memory(self) -> bool:
        return self.event == ProgressEvent.MEMORY_UPDATED


_ENDING_EVENTS = frozenset(event.value for event in ProgressEvent if event.ends_answer)


def parse_entry(entry_id: bytes, fields: dict[bytes, bytes]) -> ProgressEntry | None:
    """None for an entry that no writer of ours makes."""
    position = parse_entry_id(entry_id.decode("ascii", "replace"))
    try:
        event, data = fields[b"event"].decode(), fields[b"data"].decode()
        content = json.loads(data)
    except (KeyError, ValueError, RecursionError):
        return None
    if position is None or not isinstance(content, dict) or not _EVENT_NAME.fullmatch(event):
        return None
    if event == ProgressEvent.TURN_SNAPSHOT:
        return None
    attempt, n = content.get("attempt"), content.get("n")
    if attempt is None and n is None:
        return ProgressEntry(position, event, data, None, None)
    if not _counts(attempt) or not _counts(n):
        return None
    return ProgressEntry(position, event, data, attempt, n)


def _counts(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1
