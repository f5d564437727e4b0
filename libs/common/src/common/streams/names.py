"""Names of streams and consumer groups. Redis wakes, PostgreSQL remembers: nothing here is a record."""

from typing import NamedTuple
from uuid import UUID

from common.events import SessionClosed, TurnCompleted, TurnRequested

TURN_REQUESTED = "events:turn.requested"
TURN_COMPLETED = "events:turn.completed"
SESSION_CLOSED = "events:session.closed"

EVENT_STREAM_MAXLEN = 100_000
"""Upper bound of an event stream's length; what is trimmed is re-published by the sweeper."""


class StreamGroup(NamedTuple):
    stream: str
    group: str


AGENT_GROUP = StreamGroup(TURN_REQUESTED, "agent")
CURATOR_GROUP = StreamGroup(TURN_COMPLETED, "curator")
SESSION_GROUP = StreamGroup(SESSION_CLOSED, "curator")

ALL_GROUPS = (AGENT_GROUP, CURATOR_GROUP, SESSION_GROUP)

PROGRESS_BUCKETS = 16


def stream_of(event: TurnRequested | TurnCompleted | SessionClosed) -> str:
    return f"events:{event.type}"


def progress_stream(turn_id: UUID) -> str:
    """The stream of one turn's progress events; the hash tag lets a cluster read many of them at once."""
    return f"turn:{{{turn_id.int % PROGRESS_BUCKETS}}}:{turn_id}"
