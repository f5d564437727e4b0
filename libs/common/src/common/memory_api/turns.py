"""The life of a turn: accept, claim, renew, append, finish (design section 4)."""

from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AwareDatetime, Field, StringConstraints

from common.memory_api.base import LeasedRequest, Message, OwnedRequest
from common.memory_api.facts import FactOutcome
from common.memory_api.orders import OrderCard
from common.memory_api.sessions import LogEntry, NewLogEntry
from common.memory_api.skills import PersonalSkillEntry
from common.memory_api.user_data import BehaviourKind, UserSettings
from common.text import StorableText, UserText

IdempotencyKey = Annotated[str, StringConstraints(pattern=r"^[\x21-\x7e]{1,128}$")]


class TurnStatus(StrEnum):
    ACCEPTED = "accepted"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def open(self) -> bool:
        return self in (TurnStatus.ACCEPTED, TurnStatus.RUNNING)


class FailureCode(StrEnum):
    """Why a turn ended without its own answer; each has a fixed answer in Chinese and English."""

    DEADLINE = "deadline"
    MODEL_UNAVAILABLE = "model-unavailable"
    MODEL_MISBEHAVED = "model-misbehaved"
    STEP_LIMIT = "step-limit"
    ATTEMPTS_EXHAUSTED = "attempts-exhausted"
    INTERNAL = "internal"
    CANCELLED_BY_USER = "cancelled-by-user"
    MEMORY_CLEARED = "memory-cleared"
    DISCARDED = "discarded"


class ItemCard(Message):
    """A product as it is shown to the user."""

    item_id: str
    title: str
    brand: str
    price: Decimal
    currency: str
    platform: str
    ships_from: str
    reason: str | None = None
    marks: list[str] = Field(default_factory=list, description="Facts or session constraints it contradicts")


class AcceptTurn(OwnedRequest):
    session_id: UUID
    idempotency_key: IdempotencyKey
    text: UserText


class TurnReference(Message):
    """What an event about the turn carries."""

    turn_id: UUID
    session_id: UUID
    seq: int
    purge_generation: int
    status: TurnStatus


class AcceptedTurn(Message):
    turn: TurnReference
    created: bool = Field(description="False where the idempotency key was seen before")


class ClaimTurn(LeasedRequest):
    """The caller proposes the token, so that a repeated claim (a lost answer) is the same claim."""


class Behaviour(Message):
    kind: BehaviourKind
    text: str


class PreviousCall(Message):
    """The session's last main call, of this turn or one before: how long its request was, and what it shared."""

    prompt_tokens: int | None
    log_position: int | None
    layer_hashes: dict[str, str] = Field(description="Of L0 and L1 only: the others are hashed with a key")


class ClaimedTurn(Message):
    """Everything a turn needs, in one round trip. Facts are not in it: they are read after the planner."""

    turn_id: UUID
    session_id: UUID
    seq: int
    purge_generation: int
    attempt: int = Field(ge=1)
    lease_seconds: float
    deadline_seconds: float = Field(description="Time left until the hard deadline")
    text: str
    release: str | None = Field(description="The release (L0 and L1) the session started with")
    head: int = Field(ge=0, description="Position of the last log entry")
    log: list[LogEntry]
    session_constraints: dict[str, Any] | None = Field(description="P_t")
    behaviour: list[Behaviour] = Field(description="Purchases first, then searches, newest first")
    favourites: list[str]
    settings: UserSettings
    model_calls: int = Field(description="Number of model calls stored for this turn so far")
    previous_call: PreviousCall | None = None
    orders: list[OrderCard] = Field(default_factory=list, description="The user's newest cards, newest first")
    skills: list[PersonalSkillEntry] = Field(default_factory=list, description="The user's own, by name")


class RenewLease(LeasedRequest):
    pass


class Lease(Message):
    lease_seconds: float
    deadline_seconds: float


class ReleaseTurn(LeasedRequest):
    """Hand the turn back. Neither a shutdown nor a dependency that is down spends an attempt."""

    retry_in_seconds: float = Field(default=0.0, ge=0.0, le=3_600.0)
    error_code: Annotated[str, StringConstraints(max_length=64)] | None = None
    spend_attempt: bool = False


class ModelCallKind(StrEnum):
    MAIN = "main"
    PLANNER = "planner"
    CURATOR = "curator"
    COMPACTION = "compaction"


class PrefixBreak(StrEnum):
    """Why a request does not extend the call before it. Nothing else may break a prefix."""

    PRUNE = "prune"
    SUMMARY = "summary"
    RELEASE = "release"


class ModelCall(Message):
    """One call's cost, as the provider reported it. Unknown stays None and is never scored as 0.

    The request's texts are the tools, the system message and the messages, in this order. The call before is the
    session's last call of the kind `main` (for a compaction too: it runs on the same prefix). Side calls on a prefix
    of their own (planner, curator) leave `log_position` and the three fields of the first difference empty.
    """

    call_number: int = Field(ge=1)
    kind: ModelCallKind
    attempt: int = Field(ge=1)
    model: str
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    time_to_first_token_ms: int | None = None
    duration_ms: int
    finish_reason: str | None = None
    log_position: int | None = Field(
        default=None, ge=0, description="The last log entry in the request: with the release, all it was rendered from"
    )
    layer_hashes: dict[str, str] = Field(default_factory=dict)
    first_differing_layer: str | None = Field(
        default=None, description="Where the request left the call before; empty where it extends it"
    )
    first_differing_position: int | None = Field(
        default=None, ge=0, description="Characters that both requests' texts share, end to end, before they differ"
    )
    first_differing_cause: PrefixBreak | None = None


class AppendStep(LeasedRequest):
    """Append entries under the lease. Repeating the same entries at the same head is the same append.

    A call of a model that brought nothing for the log is stored without entries: it was paid for.
    """

    expected_head: int = Field(ge=0)
    entries: list[NewLogEntry]
    model_call: ModelCall | None = None
    release: str | None = Field(default=None, description="Set once, with the session's first entry")


class Head(Message):
    head: int


class MemoryUse(Message):
    fact_id: UUID
    how: Literal["injected", "recalled"]


class FinishTurn(LeasedRequest):
    """Complete or fail in one transaction: last entries, reply, items, uses, state, and the curation record."""

    expected_head: int = Field(ge=0)
    entries: list[NewLogEntry] = Field(default_factory=list)
    failure: FailureCode | None = None
    reply: StorableText
    items: list[ItemCard] = Field(default_factory=list)
    memory_uses: list[MemoryUse] = Field(default_factory=list)
    behaviour: list[Behaviour] = Field(default_factory=list)
    session_constraints: dict[str, Any] | None = None


class StepView(Message):
    """What a stored step of the running turn showed."""

    text: str
    tools: list[str]


class CurationState(StrEnum):
    NONE = "none"
    PENDING = "pending"
    DONE = "done"
    DEAD = "dead"


class TurnView(Message):
    """A turn as its owner sees it, whatever state it is in."""

    turn_id: UUID
    session_id: UUID
    seq: int
    status: TurnStatus
    attempt: int
    text: str
    steps: list[StepView]
    reply: str | None
    items: list[ItemCard]
    failure: FailureCode | None
    curation: CurationState
    memory: list[FactOutcome] = Field(description="What the curation of this turn kept")
    created_at: AwareDatetime
    finished_at: AwareDatetime | None
    orders: list[OrderCard] = Field(default_factory=list, description="Cards that the turn proposed, as they are now")


class Turns(Message):
    turns: list[TurnView]
