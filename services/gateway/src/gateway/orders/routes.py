"""Orders. Only here is one confirmed or cancelled: the assistant has no such call."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from common.memory_api.operations import CANCEL_ORDER, CONFIRM_ORDER, GET_ORDER, LIST_ORDERS
from common.memory_api.orders import ListOrders, OrderCard, OrderRequest, Orders, OrderState
from common.problems import ProblemCode
from gateway.authentication.caller import CurrentOwner
from gateway.dependencies import Memory
from gateway.openapi import problems

router = APIRouter(prefix="/api/orders", tags=["orders"])

_ONE = problems(ProblemCode.NOT_FOUND, ProblemCode.INVALID_REQUEST)
_SETTLING = problems(ProblemCode.NOT_FOUND, ProblemCode.INVALID_REQUEST, ProblemCode.ORDER_SETTLED)


@router.get("", summary="Your orders, newest first", responses=problems(ProblemCode.INVALID_REQUEST))
async def list_orders(
    owner: CurrentOwner,
    memory: Memory,
    state: OrderState | None = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> Orders:
    return await memory.ask(LIST_ORDERS, ListOrders(owner=owner, state=state, limit=limit))


@router.get("/{order_id}", summary="One order", responses=_ONE)
async def get_order(order_id: UUID, owner: CurrentOwner, memory: Memory) -> OrderCard:
    return await memory.ask(GET_ORDER, OrderRequest(owner=owner, order_id=order_id))


@router.post("/{order_id}/confirm", summary="Confirm a proposed order", responses=_SETTLING)
async def confirm_order(order_id: UUID, owner: CurrentOwner, memory: Memory) -> OrderCard:
    """Confirming again changes nothing. A card that was cancelled or has expired stays as it is (409)."""
    return await memory.ask(CONFIRM_ORDER, OrderRequest(owner=owner, order_id=order_id))


@router.post("/{order_id}/cancel", summary="Turn a proposed order down", responses=_SETTLING)
async def cancel_order(order_id: UUID, owner: CurrentOwner, memory: Memory) -> OrderCard:
    """Cancelling again changes nothing. A card that was confirmed or has expired stays as it is (409)."""
    return await memory.ask(CANCEL_ORDER, OrderRequest(owner=owner, order_id=order_id))
