"""Events made from the memory service's view of a turn, where the stream does not tell them. Pure.

They carry no id: a client that resumes still names the last entry it got from the stream.
"""

from typing import Any

from common.memory_api.base import Message
from common.memory_api.facts import FactOutcome
from common.memory_api.turns import CurationState, FailureCode, ItemCard, TurnStatus, TurnView
from common.streams.progress import ProgressEvent
from gateway.events.entry import ProgressEntry
from gateway.events.format import ServerEvent

_ENDING_EVENT = {
    TurnStatus.COMPLETED: ProgressEvent.TURN_COMPLETED,
    TurnStatus.FAILED: ProgressEvent.TURN_FAILED,
    TurnStatus.CANCELLED: ProgressEvent.TURN_CANCELLED,
}


class Ending(Message):
    """The data of `turn.completed`, `turn.failed` and `turn.cancelled`."""

    reply: str | None
    items: list[ItemCard]
    failure: FailureCode | None


class MemoryUpdate(Message):
    """The data of `memory.updated`."""

    outcomes: list[FactOutcome]


def event_of(entry: ProgressEntry) -> ServerEvent:
    return ServerEvent(entry.event, entry.data, str(entry.id))


def snapshot_of(view: TurnView) -> ServerEvent:
    return ServerEvent(ProgressEvent.TURN_SNAPSHOT, view.model_dump_json())


def ending_of(view: TurnView) -> ServerEvent:
    """The event that ends the answer of a turn that is no longer open."""
    return ServerEvent(_ENDING_EVENT[view.status], _ending(view).model_dump_json())


def ending_data(view: TurnView) -> dict[str, Any]:
    return _ending(view).model_dump(mode="json")


def memory_update_of(view: TurnView) -> ServerEvent:
    return ServerEvent(ProgressEvent.MEMORY_UPDATED, MemoryUpdate(outcomes=view.memory).model_dump_json())


def curation_settled(view: TurnView) -> bool:
    return not view.status.open and view.curation is not CurationState.PENDING


def progress_of(view: TurnView) -> tuple[TurnStatus, int, int]:
    """What changes when a turn moves on: status, attempt, number of stored steps."""
    return view.status, view.attempt, len(view.steps)


def _ending(view: TurnView) -> Ending:
    return Ending(reply=view.reply, items=view.items, failure=view.failure)
