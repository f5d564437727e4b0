"""An order's way in a few words."""

from decimal import Decimal

from tests.support.memory_service import ATurn, MemoryService

from common.memory_api import operations as op
from common.memory_api.base import Owner
from common.memory_api.operations import Service
from common.memory_api.orders import (
    NewOrder,
    OrderCard,
    OrderedItem,
    OrderLine,
    OrderRequest,
    ProposedCard,
    ProposeOrder,
)


def an_order(title: str, *, price: str = "299.00", quantity: int = 2) -> NewOrder:
    item = OrderedItem(
        item_id="bag-001",
        title=title,
        brand="栖川",
        price=Decimal(price),
        currency="CNY",
        platform="taobao",
        ships_from="CN",
    )
    return NewOrder(lines=[OrderLine(item=item, quantity=quantity)], destination="DE")


async def propose(memory: MemoryService, turn: ATurn, order: NewOrder, *, call_id: str = "call_1") -> ProposedCard:
    request = ProposeOrder(owner=turn.owner, turn_id=turn.turn_id, lease_token=turn.token, call_id=call_id, order=order)
    card: ProposedCard = await memory.call(Service.AGENT, op.PROPOSE_ORDER, request)
    return card


async def settle(
    memory: MemoryService, owner: Owner, card: OrderCard, how: op.Operation[OrderRequest, OrderCard] = op.CONFIRM_ORDER
) -> OrderCard:
    settled: OrderCard = await memory.call(Service.GATEWAY, how, OrderRequest(owner=owner, order_id=card.order_id))
    return settled
