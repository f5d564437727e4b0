"""What the data of each progress event holds: the shape that browsers and other clients rely on.

Writers fill in `attempt` and `n` where an event stands inside an attempt's counting. Readers ignore what they do not
know, so a new field is no break; a missing or renamed one is, and a contract test says so.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from common.memory_api.base import Message
from common.memory_api.facts import FactOutcome, FactSource, MemoryCategory
from common.memory_api.orders import OrderCard
from common.memory_api.turns import FailureCode, ItemCard, TurnView
from common.streams.progress import ProgressEvent


class ProgressData(Message):
    attempt: int | None = Field(default=None, ge=1, description="The attempt it belongs to, inside its counting")
    n: int | None = Field(default=None, ge=1, description="Counts the events of an attempt from 1, without gaps")


class TurnStarted(ProgressData):
    """An attempt begins; what was shown of a lower attempt is to be dropped."""


class PlanMade(ProgressData):
    """How the planner read this turn's words. A draft: the main model goes by the words themselves."""

    intent: str
    domain: str | None
    sub_type: str | None
    destination: str | None = Field(description="ISO 3166-1")
    budget: float | None = Field(description="Upper limit")
    currency: str | None = Field(description="ISO 4217")
    must: list[str]
    exclude: list[str]
    penalty: list[str] = Field(description="Better not, but no reason to leave something out")
    retract: list[str] = Field(description="Limits that the user takes back")
    gift: bool
    session_constraints: dict[str, Any] | None = Field(
        default=None, description="What holds for the session with this turn: domain, must, exclude, penalty, budget…"
    )


class ToolStarted(ProgressData):
    call_id: str
    tool: str
    arguments: dict[str, Any]


class ToolFinished(ProgressData):
    call_id: str
    tool: str
    summary: str
    duration_ms: int


class TextAdded(ProgressData):
    """`text` belongs at character `offset` of what model call `step` says."""

    step: int
    offset: int
    text: str


class ItemsShown(ProgressData):
    items: list[ItemCard]


class OrderShown(ProgressData):
    """A card that waits for its user: `POST /api/orders/{order_id}/confirm` or `/cancel`. Nobody else settles it."""

    card: OrderCard


class MemorySaved(ProgressData):
    """A fact that `save_memory` wrote; told only after the commit."""

    key: str
    value: str
    category: MemoryCategory
    source: FactSource


class TurnEnded(ProgressData):
    """The answer has ended. The agent leaves out what does not apply; the gateway writes all fields."""

    reply: str | None
    items: list[ItemCard] = Field(default_factory=list)
    failure: FailureCode | None = None


class MemoryUpdated(ProgressData):
    """What the curation of the turn made of each proposed fact."""

    outcomes: list[FactOutcome]


PROGRESS_DATA: Mapping[ProgressEvent, type[Message]] = {
    ProgressEvent.TURN_STARTED: TurnStarted,
    ProgressEvent.PLAN: PlanMade,
    ProgressEvent.TOOL_STARTED: ToolStarted,
    ProgressEvent.TOOL_FINISHED: ToolFinished,
    ProgressEvent.TEXT_DELTA: TextAdded,
    ProgressEvent.ITEMS: ItemsShown,
    ProgressEvent.ORDER_CARD: OrderShown,
    ProgressEvent.MEMORY_SAVED: MemorySaved,
    ProgressEvent.TURN_SNAPSHOT: TurnView,
    ProgressEvent.TURN_COMPLETED: TurnEnded,
    ProgressEvent.TURN_FAILED: TurnEnded,
    ProgressEvent.TURN_CANCELLED: TurnEnded,
    ProgressEvent.MEMORY_UPDATED: MemoryUpdated,
}

NOT_WRITTEN_YET: frozenset[ProgressEvent] = frozenset()
"""Names that are taken, for events whose writers come later."""
