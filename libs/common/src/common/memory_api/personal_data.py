"""Everything memory holds about a user: handed out page by page, or erased."""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import AwareDatetime, Field, StringConstraints

from common.memory_api.base import Message, OwnedRequest
from common.memory_api.facts import Candidate, FactDetail
from common.memory_api.orders import OrderCard
from common.memory_api.sessions import Session
from common.memory_api.skills import PersonalSkill
from common.memory_api.turns import FailureCode, ItemCard, TurnStatus
from common.memory_api.user_data import BehaviourKind, UserSettings


class ExportedFact(FactDetail):
    type: Literal["fact"] = "fact"


class ExportedCandidate(Candidate):
    type: Literal["candidate"] = "candidate"


class ExportedSettings(UserSettings):
    type: Literal["settings"] = "settings"


class ExportedFavourite(Message):
    type: Literal["favourite"] = "favourite"
    item_id: str


class ExportedSkill(PersonalSkill):
    type: Literal["skill"] = "skill"


class ExportedBehaviour(Message):
    type: Literal["behaviour"] = "behaviour"
    kind: BehaviourKind
    text: str
    turn_id: UUID | None
    created_at: AwareDatetime


class ExportedOrder(OrderCard):
    type: Literal["order"] = "order"


class ExportedSession(Session):
    type: Literal["session"] = "session"


class ExportedTurn(Message):
    """What the user said, and what they were answered and shown."""

    type: Literal["turn"] = "turn"
    turn_id: UUID
    session_id: UUID
    seq: int
    status: TurnStatus
    text: str
    reply: str | None
    items: list[ItemCard]
    failure: FailureCode | None
    created_at: AwareDatetime
    finished_at: AwareDatetime | None


ExportedRecord = Annotated[
    ExportedFact
    | ExportedCandidate
    | ExportedSettings
    | ExportedFavourite
    | ExportedSkill
    | ExportedBehaviour
    | ExportedOrder
    | ExportedSession
    | ExportedTurn,
    Field(discriminator="type"),
]


class ExportData(OwnedRequest):
    """`cursor` is the `next_cursor` of the page before."""

    cursor: Annotated[str, StringConstraints(pattern=r"^[a-z]{1,20}:[0-9a-f-]{1,40}$")] | None = None


class ExportedPage(Message):
    records: list[ExportedRecord]
    next_cursor: str | None = Field(description="None on the last page")


class EraseUser(OwnedRequest):
    """`request_id` makes a repeated call (a lost answer) the same erasure: it erases nothing that began after it."""

    request_id: UUID


class Erased(Message):
    """The receipt: how many rows of each table went. Counters stay, so that nothing from before can come back."""

    purge_generation: int
    rows: dict[str, int]
