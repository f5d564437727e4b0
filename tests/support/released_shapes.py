"""Golden files: one example and the JSON schema of every shape of an event that was ever released.

`tests/contract/golden/<family>/<name>/<number>.json` and `<number>.schema.json`. A released file is never changed: what
is on its way in a stream, or in a client, may still have that shape. `make contracts` adds the next number where the
current shape is a new one, and overwrites nothing.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

from pydantic import BaseModel

from common.events import Cause, SessionClosed, TurnCompleted, TurnRequested
from common.memory_api.facts import FactAction, FactOutcome, FactSource, MemoryCategory
from common.memory_api.orders import OrderCard, OrderedItem, OrderLine, OrderState, OrderTotal
from common.memory_api.turns import CurationState, FailureCode, ItemCard, StepView, TurnStatus, TurnView
from common.streams.progress import ProgressEvent
from common.streams.progress_data import (
    PROGRESS_DATA,
    ItemsShown,
    MemorySaved,
    MemoryUpdated,
    OrderShown,
    PlanMade,
    TextAdded,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)

GOLDEN = Path(__file__).parent.parent / "contract" / "golden"

_SESSION = UUID("01935f3a-0000-7000-8000-000000000001")
_TURN = UUID("01935f3a-0000-7000-8000-000000000002")
_EVENT = UUID("01935f3a-0000-7000-8000-000000000003")
_AT = datetime(2026, 11, 30, 12, 0, 0, 250_000, tzinfo=UTC)

_ENVELOPE: dict[str, Any] = {
    "event_id": _EVENT,
    "tenant_id": "acme",
    "user_id": "alice",
    "session_id": _SESSION,
    "seq": 7,
    "purge_generation": 2,
    "occurred_at": _AT,
    "cause": Cause.LIVE,
    "run": 0,
}
_CARD = ItemCard(
    item_id="bag-001",
    title="通勤双肩包",
    brand="Nordweg",
    price=Decimal("399.00"),
    currency="CNY",
    platform="taobao",
    ships_from="CN",
    reason="可寄到 DE",
    marks=["nut_allergy"],
)
_OUTCOME = FactOutcome(
    key="nut_allergy", action=FactAction.ADDED, category=MemoryCategory.CONSTRAINT, value="对坚果过敏", rule=None
)
_ORDER = OrderCard(
    order_id=UUID("01935f3a-0000-7000-8000-000000000004"),
    session_id=_SESSION,
    turn_id=_TURN,
    state=OrderState.PENDING,
    lines=[
        OrderLine(item=OrderedItem(**_CARD.model_dump(include=set(OrderedItem.model_fields))), quantity=2),
    ],
    destination="DE",
    totals=[OrderTotal(amount=Decimal("798.00"), currency="CNY")],
    created_at=_AT,
    expires_at=_AT,
    settled_at=_AT,
)
_IN_ATTEMPT: dict[str, Any] = {"attempt": 1, "n": 3}
_ENDED = TurnEnded(**_IN_ATTEMPT, reply="好的", items=[_CARD], failure=FailureCode.DEADLINE)

EVENT_EXAMPLES: Mapping[str, BaseModel] = {
    "turn.requested": TurnRequested(turn_id=_TURN, **_ENVELOPE),
    "turn.completed": TurnCompleted(turn_id=_TURN, **_ENVELOPE),
    "session.closed": SessionClosed(**_ENVELOPE),
}

PROGRESS_EXAMPLES: Mapping[ProgressEvent, BaseModel] = {
    ProgressEvent.TURN_STARTED: TurnStarted(attempt=1, n=1),
    ProgressEvent.PLAN: PlanMade(
        attempt=1,
        n=2,
        intent="product_search",
        domain="bags_luggage",
        sub_type="双肩包",
        destination="DE",
        budget=500,
        currency="CNY",
        must=["防水"],
        exclude=["真皮"],
        penalty=["重"],
        retract=["塑料"],
        gift=False,
    ),
    ProgressEvent.TOOL_STARTED: ToolStarted(
        **_IN_ATTEMPT, call_id="call_1", tool="item_search", arguments={"query": "通勤 双肩包"}
    ),
    ProgressEvent.TOOL_FINISHED: ToolFinished(
        **_IN_ATTEMPT, call_id="call_1", tool="item_search", summary="5 items, 0 excluded", duration_ms=12
    ),
    ProgressEvent.TEXT_DELTA: TextAdded(**_IN_ATTEMPT, step=2, offset=0, text="好的，"),
    ProgressEvent.ITEMS: ItemsShown(**_IN_ATTEMPT, items=[_CARD]),
    ProgressEvent.ORDER_CARD: OrderShown(**_IN_ATTEMPT, card=_ORDER),
    ProgressEvent.MEMORY_SAVED: MemorySaved(
        **_IN_ATTEMPT,
        key="material_avoid",
        value="不要塑料",
        category=MemoryCategory.PREFERENCE,
        source=FactSource.SAVE_MEMORY,
    ),
    ProgressEvent.TURN_SNAPSHOT: TurnView(
        turn_id=_TURN,
        session_id=_SESSION,
        seq=7,
        status=TurnStatus.COMPLETED,
        attempt=1,
        text="想找一个通勤双肩包",
        steps=[StepView(text="", tools=["item_search"])],
        reply="好的",
        items=[_CARD],
        failure=None,
        curation=CurationState.DONE,
        memory=[_OUTCOME],
        created_at=_AT,
        finished_at=_AT,
        orders=[_ORDER],
    ),
    ProgressEvent.TURN_COMPLETED: _ENDED,
    ProgressEvent.TURN_FAILED: _ENDED,
    ProgressEvent.TURN_CANCELLED: _ENDED,
    ProgressEvent.MEMORY_UPDATED: MemoryUpdated(outcomes=[_OUTCOME]),
}


@dataclass(frozen=True)
class Shape:
    """An example with every field set, as JSON values, and the JSON schema it obeys."""

    example: Any
    schema: Any


@dataclass(frozen=True)
class Released:
    """One golden shape. The highest number of a name is the current one."""

    number: int
    shape: Shape


@dataclass(frozen=True)
class Contract:
    """What has a shape: an event, or the data of a progress event."""

    family: str
    name: str
    model: type[BaseModel]
    example: BaseModel
    golden: Path = GOLDEN

    @property
    def current(self) -> Shape:
        return Shape(self.example.model_dump(mode="json"), _bare_schema(self.model))

    def released(self) -> list[Released]:
        """The golden shapes, oldest first."""
        numbers = sorted(int(file.stem) for file in self._directory.glob("*.json") if file.stem.isdigit())
        return [Released(number, Shape(self._read(f"{number}"), self._read(f"{number}.schema"))) for number in numbers]

    def release(self) -> bool:
        """Add the current shape to the golden files, unless it is the newest of them."""
        released = self.released()
        if released and released[-1].shape == self.current:
            return False
        number = released[-1].number + 1 if released else 1
        self._directory.mkdir(parents=True, exist_ok=True)
        for suffix, value in (("", self.current.example), (".schema", self.current.schema)):
            text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
            with (self._directory / f"{number}{suffix}.json").open("x", encoding="utf-8") as file:
                file.write(text)
        return True

    @property
    def _directory(self) -> Path:
        return self.golden / self.family / self.name

    def _read(self, stem: str) -> Any:
        return json.loads((self._directory / f"{stem}.json").read_text(encoding="utf-8"))


def contracts() -> Iterator[Contract]:
    for name, event in EVENT_EXAMPLES.items():
        yield Contract("events", name, type(event), event)
    for progress, model in PROGRESS_DATA.items():
        yield Contract("progress", progress.value, model, PROGRESS_EXAMPLES[progress])


def _bare_schema(model: type[BaseModel]) -> Any:
    """The schema without words: rewording a description is no change of the contract."""
    return _without_words(model.model_json_schema(mode="serialization"))


def _without_words(value: Any, *, names: bool = False) -> Any:
    """`names`: the keys of this object are names of fields and not keywords."""
    if isinstance(value, list):
        return [_without_words(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _without_words(each, names=not names and key in ("properties", "$defs"))
        for key, each in value.items()
        if names or key not in ("title", "description")
    }


if __name__ == "__main__":
    for contract in contracts():
        contract.release()
