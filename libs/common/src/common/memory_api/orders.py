"""Orders: the model proposes a card, only the user confirms or cancels it (design section 6)."""

from decimal import Decimal
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import AwareDatetime, Field, StringConstraints

from common.memory_api.base import CallId, LeasedRequest, Message, OwnedRequest

LINES_MAX = 20
QUANTITY_MAX = 99

CountryCode = Annotated[str, StringConstraints(pattern=r"^[A-Z]{2}$")]


class OrderState(StrEnum):
    PENDING = "pending"
    CONFIRMED = "confirmed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


class OrderedItem(Message):
    """A product as the catalogue sold it. There is no place for a reason or a mark: those may quote what is remembered
    about the user, and an order outlives the memory."""

    item_id: Annotated[str, StringConstraints(min_length=1, max_length=128)]
    title: str
    brand: str
    price: Decimal = Field(ge=0)
    currency: str
    platform: str
    ships_from: str


class OrderLine(Message):
    item: OrderedItem
    quantity: int = Field(ge=1, le=QUANTITY_MAX)


class NewOrder(Message):
    """What a card is about. Prices are those of the search result that the user saw."""

    lines: list[OrderLine] = Field(min_length=1, max_length=LINES_MAX)
    destination: CountryCode | None = None


class OrderTotal(Message):
    """Of the goods alone; one per currency, since prices of different platforms are paid apart."""

    amount: Decimal
    currency: str


class OrderCard(NewOrder):
    order_id: UUID
    session_id: UUID
    turn_id: UUID
    state: OrderState
    totals: list[OrderTotal]
    created_at: AwareDatetime
    expires_at: AwareDatetime
    settled_at: AwareDatetime | None = Field(description="When it was confirmed or cancelled")


class ProposeOrder(LeasedRequest):
    """Under the turn's lease; one card per effect, also across attempts and calls."""

    call_id: CallId
    order: NewOrder


class ProposedCard(OrderCard):
    existed: bool = Field(default=False, description="Another call had proposed the same before: there is no new card")


class OrderRequest(OwnedRequest):
    order_id: UUID


class ListOrders(OwnedRequest):
    state: OrderState | None = None
    limit: int = Field(default=20, ge=1, le=100)


class Orders(Message):
    """Newest first."""

    orders: list[OrderCard]
