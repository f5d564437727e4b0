"""The memory service as one claimed turn sees it: every call carries the turn's owner, and writes its lease."""

from collections.abc import Sequence
from typing import Protocol, TypedDict, TypeVar
from uuid import UUID

from agent.session_constraints.constraints import SessionConstraints
from common.memory_api import operations
from common.memory_api.base import Message, Owner
from common.memory_api.facts import (
    FactOutcome,
    ProposedFact,
    ReadFacts,
    Recall,
    Recalled,
    SaveFact,
    TurnFacts,
    UnsavedFact,
)
from common.memory_api.operations import Operation
from common.memory_api.orders import (
    ListOrders,
    NewOrder,
    OrderCard,
    OrderRequest,
    OrderState,
    ProposedCard,
    ProposeOrder,
)
from common.memory_api.sessions import NewLogEntry
from common.memory_api.skills import PersonalSkill, ReadSkill
from common.memory_api.turns import (
    AppendStep,
    Behaviour,
    ClaimedTurn,
    ClaimTurn,
    FailureCode,
    FinishTurn,
    ItemCard,
    Lease,
    MemoryUse,
    ModelCall,
    ReleaseTurn,
    RenewLease,
    TurnReference,
)
from common.problems import ProblemCode, ProblemError

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)

_TOOL_RETRY_SECONDS = 3.0
"""A tool's call to memory is given up sooner than a step: the model can go on without it."""


class MemoryCaller(Protocol):
    """The port: `common.memory_api.client.MemoryClient` over HTTP, or memory in the same process."""

    async def call(
        self, operation: Operation[Request, Response], request: Request, *, retry_for: float | None = None
    ) -> Response:
        """Raises ProblemError for a clear no, MemoryUnavailable when there was no answer."""


class _Held(TypedDict):
    """What every write under the lease begins with: `common.memory_api.base.LeasedRequest`."""

    owner: Owner
    turn_id: UUID
    lease_token: UUID


class LeasedTurn:
    def __init__(self, memory: MemoryCaller, owner: Owner, turn_id: UUID, lease_token: UUID) -> None:
        self._memory = memory
        self._owner = owner
        self._turn_id = turn_id
        self._held: _Held = {"owner": owner, "turn_id": turn_id, "lease_token": lease_token}

    async def claim(self) -> ClaimedTurn:
        request = ClaimTurn(**self._held)
        return await self._memory.call(operations.CLAIM_TURN, request)

    async def renew(self, retry_for: float) -> Lease:
        request = RenewLease(**self._held)
        return await self._memory.call(operations.RENEW_LEASE, request, retry_for=retry_for)

    async def append(
        self,
        expected_head: int,
        entries: Sequence[NewLogEntry],
        model_call: ModelCall | None = None,
        release_id: str | None = None,
    ) -> int:
        """Append to the session log; returns the new head."""
        request = AppendStep(
            **self._held,
            expected_head=expected_head,
            entries=list(entries),
            model_call=model_call,
            release=release_id,
        )
        return (await self._memory.call(operations.APPEND_STEP, request)).head

    async def finish(
        self,
        expected_head: int,
        *,
        entries: Sequence[NewLogEntry],
        failure: FailureCode | None,
        reply: str,
        items: Sequence[ItemCard],
        memory_uses: Sequence[MemoryUse],
        behaviour: Sequence[Behaviour],
        session_constraints: SessionConstraints | None,
    ) -> TurnReference:
        request = FinishTurn(
            **self._held,
            expected_head=expected_head,
            entries=list(entries),
            failure=failure,
            reply=reply,
            items=list(items),
            memory_uses=list(memory_uses),
            behaviour=list(behaviour),
            session_constraints=None if session_constraints is None else session_constraints.shown(),
        )
        return await self._memory.call(operations.FINISH_TURN, request)

    async def release(self, *, retry_in_seconds: float, error_code: str | None, spend_attempt: bool) -> None:
        request = ReleaseTurn(
            **self._held,
            retry_in_seconds=retry_in_seconds,
            error_code=error_code,
            spend_attempt=spend_attempt,
        )
        await self._memory.call(operations.RELEASE_TURN, request, retry_for=2.0)

    async def read_facts(self, unsaved: Sequence[UnsavedFact] = ()) -> TurnFacts:
        """The stored facts, and what of `unsaved` (see `save_memory`) still holds for the session."""
        request = ReadFacts(owner=self._owner, turn_id=self._turn_id, unsaved=list(unsaved))
        return await self._memory.call(operations.READ_FACTS, request)

    async def save_fact(self, call_id: str, proposed: ProposedFact) -> FactOutcome:
        request = SaveFact(
            **self._held,
            call_id=call_id,
            proposed=proposed,
        )
        return await self._memory.call(operations.SAVE_FACT, request, retry_for=_TOOL_RETRY_SECONDS)

    async def recall(self, topic: str) -> Recalled:
        request = Recall(owner=self._owner, topic=topic)
        return await self._memory.call(operations.RECALL, request, retry_for=_TOOL_RETRY_SECONDS)

    async def propose_order(self, call_id: str, order: NewOrder) -> ProposedCard:
        request = ProposeOrder(
            **self._held,
            call_id=call_id,
            order=order,
        )
        return await self._memory.call(operations.PROPOSE_ORDER, request, retry_for=_TOOL_RETRY_SECONDS)

    async def order(self, order_id: UUID) -> OrderCard:
        request = OrderRequest(owner=self._owner, order_id=order_id)
        return await self._memory.call(operations.GET_ORDER, request, retry_for=_TOOL_RETRY_SECONDS)

    async def orders(self, state: OrderState | None, *, limit: int) -> list[OrderCard]:
        request = ListOrders(owner=self._owner, state=state, limit=limit)
        return (await self._memory.call(operations.LIST_ORDERS, request, retry_for=_TOOL_RETRY_SECONDS)).orders

    async def read_skill(self, name: str) -> PersonalSkill | None:
        """One of the user's own skills; None where there is none of that name."""
        request = ReadSkill(**self._held, name=name)
        try:
            return await self._memory.call(operations.READ_SKILL, request, retry_for=_TOOL_RETRY_SECONDS)
        except ProblemError as problem:
            if problem.code is ProblemCode.NOT_FOUND:
                return None
            raise
