"""The memory service as far as one agent needs it, in this process: the same operations, the same refusals.

For tests of the loop and the worker. What it promises is what tests/integration shows of the real service.
"""

from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

from common.memory_api import operations as op
from common.memory_api.base import Done, Owner
from common.memory_api.client import MemoryUnavailable
from common.memory_api.facts import (
    Fact,
    FactAction,
    FactOutcome,
    MemoryCategory,
    Recalled,
    SessionFact,
    TurnFacts,
    UnsavedFact,
)
from common.memory_api.orders import OrderCard, Orders, OrderState, OrderTotal, ProposedCard, ProposeOrder
from common.memory_api.sessions import Layer, LogEntry
from common.memory_api.skills import NewPersonalSkill, PersonalSkill, PersonalSkillEntry
from common.memory_api.turns import (
    Behaviour,
    ClaimedTurn,
    FinishTurn,
    Head,
    Lease,
    ModelCall,
    ModelCallKind,
    PreviousCall,
    ReleaseTurn,
    TurnReference,
    TurnStatus,
)
from common.memory_api.user_data import UserSettings
from common.problems import ProblemCode, ProblemError
from model_client.exact_json import exact_json

OWNER = Owner(tenant_id="t", user_id="u")


class MemoryInProcess:
    """One session with one turn at a time. Tests set what it holds and read what was stored."""

    def __init__(self, text: str = "找一个双肩包", lease_seconds: float = 15.0, deadline_seconds: float = 60.0) -> None:
        self.session_id = uuid4()
        self.turn_id = uuid4()
        self.text = text
        self.lease_seconds = lease_seconds
        self.deadline_seconds = deadline_seconds
        self.release: str | None = None
        self.log: list[LogEntry] = []
        self.model_calls: list[ModelCall] = []
        self.all_calls: list[ModelCall] = []
        self.facts: list[Fact] = []
        self.behaviour: list[Behaviour] = []
        self.favourites: list[str] = []
        self.settings = UserSettings()
        self.session_constraints: dict[str, Any] | None = None
        self.skills: list[NewPersonalSkill] = []
        self.saved: dict[str, FactOutcome] = {}
        self.saves = 0
        self.session_facts: list[SessionFact] = []
        self.unsaved: list[UnsavedFact] = []
        """What the last read of the facts brought along."""
        self.orders: dict[tuple[UUID, str], OrderCard] = {}
        """Cards by the call that proposed them, oldest first."""
        self.accepted_at = datetime.now(UTC)
        self.attempt = 0
        self.token: UUID | None = None
        self.finished: FinishTurn | None = None
        self.released: ReleaseTurn | None = None
        self.calls: list[str] = []
        self.down: set[str] = set()
        self.problems: dict[str, ProblemCode] = {}
        self.next_fact_action = FactAction.ADDED
        self.next_fact_rule: str | None = None
        self.memory_enabled = True

    async def call(self, operation: op.Operation[Any, Any], request: Any, *, retry_for: float | None = None) -> Any:
        self.calls.append(operation.path)
        request.model_dump_json()  # as the client does: what cannot be sent fails here too
        if operation.path in self.down:
            raise MemoryUnavailable(operation.path)
        if operation.path in self.problems:
            raise ProblemError(self.problems[operation.path])
        handle: Callable[[Any], Any] = getattr(self, "_" + operation.path.replace("/", "_").replace("-", "_"))
        return handle(request)

    @property
    def ended(self) -> bool:
        return self.finished is not None

    def new_turn(self, text: str) -> None:
        """The session's next turn."""
        self.turn_id, self.text, self.token, self.finished = uuid4(), text, None, None
        self.attempt, self.model_calls = 0, []
        self.accepted_at = datetime.now(UTC)

    def drive_again(self) -> None:
        """What the service does when an operator drives a failed turn again: its log has the fixed answer, and a
        notice that says so."""
        assert self.finished is not None
        assert self.finished.failure is not None
        self._write(Layer.L3, {"role": "assistant", "content": self.finished.reply})
        notice = "<system_notice>\nThe turn is driven again.\n</system_notice>"
        self._write(Layer.L3, {"role": "user", "content": notice})
        self.token, self.finished = None, None

    def _write(self, layer: Layer, message: dict[str, str]) -> None:
        payload = exact_json(message)
        position = len(self.log) + 1
        self.log.append(
            LogEntry(entry_id=uuid4(), layer=layer, payload=payload, position=position, turn_id=self.turn_id)
        )

    def lose_lease(self) -> None:
        self.token = uuid4()

    def _turns_claim(self, request: Any) -> ClaimedTurn:
        if self.finished is not None:
            raise ProblemError(ProblemCode.ALREADY_DONE)
        self.token, self.attempt = request.lease_token, self.attempt + 1
        return ClaimedTurn(
            turn_id=self.turn_id,
            session_id=self.session_id,
            seq=1,
            purge_generation=0,
            attempt=self.attempt,
            lease_seconds=self.lease_seconds,
            deadline_seconds=self.deadline_seconds,
            text=self.text,
            release=self.release,
            head=len(self.log),
            log=list(self.log),
            session_constraints=self.session_constraints,
            behaviour=self.behaviour,
            favourites=self.favourites,
            settings=self.settings,
            model_calls=len(self.model_calls),
            previous_call=self._previous_call(),
            orders=list(self.orders.values())[::-1],
            skills=[PersonalSkillEntry(name=skill.name, description=skill.description) for skill in self.skills],
        )

    def _previous_call(self) -> PreviousCall | None:
        main = [call for call in self.all_calls if call.kind is ModelCallKind.MAIN]
        if not main:
            return None
        shared = {layer: digest for layer, digest in main[-1].layer_hashes.items() if layer in ("L0", "L1")}
        return PreviousCall(
            prompt_tokens=main[-1].prompt_tokens, log_position=main[-1].log_position, layer_hashes=shared
        )

    def _turns_renew(self, request: Any) -> Lease:
        self._must_hold_lease(request)
        return Lease(lease_seconds=self.lease_seconds, deadline_seconds=self.deadline_seconds)

    def _turns_append_step(self, request: Any) -> Head:
        self._must_hold_lease(request)
        self._append(request)
        if request.model_call is not None:
            self.model_calls.append(request.model_call)
            self.all_calls.append(request.model_call)
        self.release = self.release or request.release
        return Head(head=len(self.log))

    def _turns_finish(self, request: Any) -> TurnReference:
        self._must_hold_lease(request)
        self._append(request)
        self.finished = request
        if request.session_constraints is not None:
            self.session_constraints = request.session_constraints
        return TurnReference(
            turn_id=self.turn_id,
            session_id=self.session_id,
            seq=1,
            purge_generation=0,
            status=TurnStatus.FAILED if request.failure else TurnStatus.COMPLETED,
        )

    def _turns_release(self, request: Any) -> Done:
        self._must_hold_lease(request)
        self.released, self.token = request, None
        return Done()

    def _facts_read(self, request: Any) -> TurnFacts:
        """Memory's rules (gate, evidence, tombstones) are its own; here everything that was not stored holds."""
        self.unsaved = list(request.unsaved)
        held = [
            SessionFact(
                turn_id=each.turn_id,
                key=each.proposed.key,
                value=each.proposed.value,
                category=MemoryCategory(each.proposed.category or "preference"),
            )
            for each in self.unsaved
        ]
        return TurnFacts(facts=self.facts, session_facts=[*self.session_facts, *held])

    def _facts_save(self, request: Any) -> FactOutcome:
        self._must_hold_lease(request)
        if request.call_id not in self.saved:
            self.saves += 1
            self.saved[request.call_id] = FactOutcome(
                key=request.proposed.key,
                action=self.next_fact_action,
                value=request.proposed.value,
                rule=self.next_fact_rule,
            )
        return self.saved[request.call_id]

    def _facts_recall(self, _: Any) -> Recalled:
        behaviour = [entry.text for entry in self.behaviour]
        return Recalled(facts=self.facts, behaviour=behaviour, memory_enabled=self.memory_enabled)

    def settle(self, card: OrderCard, state: OrderState) -> None:
        """What the user does through the gateway."""
        key = next(key for key, each in self.orders.items() if each.order_id == card.order_id)
        self.orders[key] = card.model_copy(update={"state": state, "settled_at": datetime.now(UTC)})

    def _orders_propose(self, request: ProposeOrder) -> ProposedCard:
        self._must_hold_lease(request)
        own = self.orders.get((request.turn_id, request.call_id))
        if own is not None:
            return ProposedCard(**dict(own))
        for known in filter(self._counts_as_existing, self.orders.values()):
            if (known.lines, known.destination) == (request.order.lines, request.order.destination):
                return ProposedCard(**dict(known), existed=True)
        totals: dict[str, Decimal] = defaultdict(Decimal)
        for line in request.order.lines:
            totals[line.item.currency] += line.item.price * line.quantity
        card = OrderCard(
            **dict(request.order),
            order_id=uuid4(),
            session_id=self.session_id,
            turn_id=request.turn_id,
            state=OrderState.PENDING,
            totals=[OrderTotal(amount=amount, currency=currency) for currency, amount in totals.items()],
            created_at=datetime.now(UTC),
            expires_at=datetime.now(UTC) + timedelta(minutes=30),
            settled_at=None,
        )
        self.orders[request.turn_id, request.call_id] = card
        return ProposedCard(**dict(card))

    def _counts_as_existing(self, card: OrderCard) -> bool:
        if card.state is OrderState.EXPIRED:
            return False
        here = card.turn_id == self.turn_id or card.state is OrderState.PENDING
        return here or (card.settled_at is not None and card.settled_at >= self.accepted_at)

    def _orders_list(self, request: Any) -> Orders:
        newest = list(self.orders.values())[::-1]
        found = [card for card in newest if request.state in (None, card.state)]
        return Orders(orders=found[: request.limit])

    def _orders_get(self, request: Any) -> OrderCard:
        found = [card for card in self.orders.values() if card.order_id == request.order_id]
        if not found:
            raise ProblemError(ProblemCode.NOT_FOUND)
        return found[0]

    def _skills_read(self, request: Any) -> PersonalSkill:
        self._must_hold_lease(request)
        for skill in self.skills:
            if skill.name == request.name:
                return PersonalSkill(**skill.model_dump(), created_at=datetime.now(UTC))
        raise ProblemError(ProblemCode.NOT_FOUND)

    def _append(self, request: Any) -> None:
        if request.expected_head != len(self.log):
            raise ProblemError(ProblemCode.HEAD_MOVED)
        for entry in request.entries:
            position = len(self.log) + 1
            self.log.append(LogEntry(**entry.model_dump(), position=position, turn_id=request.turn_id))

    def _must_hold_lease(self, request: Any) -> None:
        if request.lease_token != self.token:
            raise ProblemError(ProblemCode.LEASE_LOST)
