"""`order_lookup`: the user's orders and what became of them."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from agent.orders.shown_orders import shown_order
from agent.tools.tool import ToolContext, ToolFailed, ToolResult, function_schema
from common.logs import get_logger
from common.memory_api.client import MemoryUnavailable
from common.memory_api.orders import OrderCard, OrderState
from common.problems import ProblemCode, ProblemError
from model_client.exact_json import exact_json

_log = get_logger(__name__)

NAME = "order_lookup"

LISTED = 10
"""Newest orders in an answer."""

_SCHEMA = function_schema(
    NAME,
    "查用户的订单卡片和状态，新的在前；没有物流信息。",
    {
        "order_id": {"type": "string"},
        "state": {"type": "string", "enum": [state.value for state in OrderState]},
    },
    [],
)


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="ignore")

    order_id: UUID | None = None
    state: OrderState | None = None


class OrderLookup:
    name = NAME
    effectful = False
    schema = _SCHEMA

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        asked = _Arguments.model_validate({name: value for name, value in arguments.items() if value not in (None, "")})
        try:
            found = await _found(context, asked)
        except MemoryUnavailable as error:
            _log.warning("order_lookup.failed", error=error)
            raise ToolFailed("the orders are not available right now; tell the user, or try once more") from error
        content = exact_json({"orders": [shown_order(card) for card in found]})
        # A card may name a destination that came out of memory.
        return ToolResult(content, note=f"{len(found)} orders", bears_memory=bool(found))


async def _found(context: ToolContext, asked: _Arguments) -> list[OrderCard]:
    if asked.order_id is None:
        return await context.memory.orders(asked.state, limit=LISTED)
    try:
        card = await context.memory.order(asked.order_id)
    except ProblemError as problem:
        if problem.code is not ProblemCode.NOT_FOUND:
            raise
        raise ToolFailed("the user has no such order; call without order_id to see which there are") from problem
    return [card] if asked.state in (None, card.state) else []
