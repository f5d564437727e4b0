"""The wire format of server-sent events (WHATWG HTML, section 9.2). Pure."""

import re
from dataclasses import dataclass

_LINE_END = re.compile(r"\r\n|\r|\n")

HEARTBEAT = b": heartbeat\n\n"


@dataclass(frozen=True)
class ServerEvent:
    """`id` is None for an event that does not move the position a client resumes from."""

    event: str
    data: str
    id: str | None = None


def format_event(event: ServerEvent) -> bytes:
    lines = [] if event.id is None else [f"id: {event.id}"]
    lines.append(f"event: {event.event}")
    lines.extend(f"data: {line}" for line in _LINE_END.split(event.data))
    return ("\n".join(lines) + "\n\n").encode()


def format_retry(milliseconds: int) -> bytes:
    """How long a client waits before it connects again."""
    return f"retry: {milliseconds}\n\n".encode()
