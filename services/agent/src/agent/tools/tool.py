"""What a tool is: a schema the model sees, and a function from arguments to exactly one result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol
from uuid import UUID

from agent.catalogue.terms import Language
from agent.context.memory_block import RememberedConstraint
from agent.session_constraints.constraints import SessionConstraints
from agent.session_constraints.destination import NOWHERE, DestinationCountry
from common.memory_api.facts import FactOutcome, ProposedFact, Recalled
from common.memory_api.orders import NewOrder, OrderCard, OrderState, ProposedCard
from common.memory_api.sessions import LogEntry
from common.memory_api.skills import PersonalSkill
from common.memory_api.user_data import UserSettings
from common.streams.progress import ProgressEvent


class ToolMemory(Protocol):
    """What tools may ask of the memory service, under the lease of the turn they run in."""

    async def save_fact(self, call_id: str, proposed: ProposedFact) -> FactOutcome: ...

    async def recall(self, topic: str) -> Recalled: ...

    async def propose_order(self, call_id: str, order: NewOrder) -> ProposedCard: ...

    async def order(self, order_id: UUID) -> OrderCard: ...

    async def orders(self, state: OrderState | None, *, limit: int) -> list[OrderCard]: ...

    async def read_skill(self, name: str) -> PersonalSkill | None: ...


class Progress(Protocol):
    """Where a tool tells whoever watches the turn. Never waits, never fails."""

    def emit(self, event: ProgressEvent, data: dict[str, Any]) -> None: ...


@dataclass(frozen=True)
class ToolContext:
    """The turn in which a call runs. Effects are keyed by `call_id`, so that a second attempt has one effect."""

    call_id: str
    language: Language
    settings: UserSettings
    memory: ToolMemory
    progress: Progress
    session_constraints: SessionConstraints = field(default_factory=SessionConstraints)
    """P_t as this turn's plan left it."""
    favourites: frozenset[str] = frozenset()
    """Item ids."""
    destination: DestinationCountry = NOWHERE
    """The country the goods go to, by the four layers."""
    constraints: tuple[RememberedConstraint, ...] = ()
    """The `[constraint]` lines of this turn's memory block."""
    earlier: Sequence[LogEntry] = ()
    """The session's log before this turn."""
    entries: Sequence[LogEntry] = ()
    """The log of this turn."""
    loaded_skills: Mapping[str, str] = field(default_factory=dict)
    """Skills whose bodies the model has in front of it, with the body as it was read."""


class Fault(StrEnum):
    """A call that the model got wrong in form, so that no tool ran."""

    UNKNOWN_TOOL = "unknown_tool"
    INVALID_ARGUMENTS = "invalid_arguments"


@dataclass(frozen=True)
class ShoppingSummary:
    """The turn's answer: what the user reads, and the products it names as (item id, reason), in order."""

    reply: str
    items: tuple[tuple[str, str | None], ...]


@dataclass(frozen=True)
class ToolResult:
    """`content` is for the model, `note` one line for whoever watches. A `summary` ends the turn."""

    content: str
    note: str
    memory_fact_ids: tuple[UUID, ...] = ()
    bears_memory: bool = False
    summary: ShoppingSummary | None = None
    failed: bool = False
    fault: Fault | None = None


class ToolFailed(Exception):
    """The call has no result; the message is for the model and says what it can do."""


class Tool(Protocol):
    """`effectful` calls of one step run one after the other, in the model's order; all others at once."""

    @property
    def name(self) -> str: ...

    @property
    def effectful(self) -> bool: ...

    @property
    def schema(self) -> dict[str, Any]:
        """The tool as it stands in a request. A change of it makes a new release."""

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Raises ToolFailed, or pydantic.ValidationError for arguments that make no sense."""


def function_schema(name: str, description: str, properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": False,
            },
        },
    }
