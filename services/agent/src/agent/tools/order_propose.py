"""`order_propose`: lays an order before the user as a card. It is no order until the user confirms it themselves."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from agent.catalogue.catalogue import Catalogue
from agent.catalogue.countries import AskedCountry
from agent.catalogue.errors import CatalogueError
from agent.orders.shown_orders import shown_totals
from agent.session_constraints.destination import NO_DESTINATION, destination_of_call
from agent.tools.item_results import items_shown_in
from agent.tools.tool import ToolContext, ToolFailed, ToolResult, function_schema
from common.logs import get_logger
from common.memory_api.client import MemoryUnavailable
from common.memory_api.orders import LINES_MAX, QUANTITY_MAX, NewOrder, OrderedItem, OrderLine, OrderState, ProposedCard
from common.memory_api.turns import ItemCard
from common.streams.progress import ProgressEvent
from model_client.exact_json import exact_json

_log = get_logger(__name__)

NAME = "order_propose"

_NEXT = "卡片已给用户看，等用户自己确认；在那之前没有下单"
_EXISTED = {
    OrderState.PENDING: "同样的订单卡已经有了，没有另建一张；等用户自己确认或取消",
    OrderState.CONFIRMED: "这一单用户已经确认下单了，没有另建一张；详情用 order_lookup 查",
    OrderState.CANCELLED: "这张订单卡被用户取消了，没有另建一张；要再提，先问用户",
    OrderState.EXPIRED: "这张订单卡过期了，没有下单；用户还要买，就再提一次",
}
"""Of a card that is not new, by what became of it."""

_LOOK_FIRST = "; there may be a card all the same: look with order_lookup before trying again"
"""An attempt that was killed may have made it."""

_SCHEMA = function_schema(
    NAME,
    "用户明说要买时，把商品列成待确认的订单卡片给用户看。只有用户能确认或取消；这一步不是下单。",
    {
        "lines": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "item_id": {"type": "string", "description": "本会话搜索结果里的"},
                    "quantity": {"type": "integer", "minimum": 1, "maximum": QUANTITY_MAX},
                },
                "required": ["item_id", "quantity"],
                "additionalProperties": False,
            },
        },
        "destination": {"type": "string", "description": "收货国两位代码，默认已知的收货国"},
    },
    ["lines"],
)


class _Line(BaseModel):
    item_id: str
    quantity: int = Field(default=1, ge=1, le=QUANTITY_MAX)


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="ignore")

    lines: list[_Line] = Field(min_length=1, max_length=LINES_MAX)
    destination: AskedCountry = None


class OrderPropose:
    name = NAME
    effectful = True
    schema = _SCHEMA

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        asked = _Arguments.model_validate(dict(arguments))
        destination = destination_of_call(asked.destination, context.destination).code
        if destination is None:
            raise ToolFailed(NO_DESTINATION)
        # The newest of a product counts: at the price that the user saw last.
        offered = {card.item_id: card for card in items_shown_in([*context.earlier, *context.entries])}
        lines = ordered_lines({line.item_id: line.quantity for line in _merged(asked.lines)}, offered)
        for line in lines:
            await self._must_be_sent(line.item.item_id, destination)
        card = await _propose(context, NewOrder(lines=lines, destination=destination))
        context.progress.emit(ProgressEvent.ORDER_CARD, {"card": card.model_dump(mode="json", exclude={"existed"})})
        marks = {line.item.item_id: offered[line.item.item_id].marks for line in lines}
        return ToolResult(_receipt(card, marks), note=f"{len(card.lines)} lines, {_noted(card)}")

    async def _must_be_sent(self, item_id: str, destination: str) -> None:
        """Raises ToolFailed for a product that is gone or not sent there."""
        try:
            product = await self._catalogue.get(item_id)
        except CatalogueError as error:
            _log.warning("order_propose.catalogue_failed", error=error)
            raise ToolFailed(f"the catalogue is not available right now{_LOOK_FIRST}") from error
        if product is None:
            raise ToolFailed(f"{item_id} is no longer offered{_LOOK_FIRST}")
        if destination not in product.ships_to:
            raise ToolFailed(f"{item_id} is not sent to {destination}; it is sent to {', '.join(product.ships_to)}")


def _merged(lines: list[_Line]) -> list[_Line]:
    """The same product twice is one line."""
    quantities: dict[str, int] = {}
    for line in lines:
        quantities[line.item_id] = quantities.get(line.item_id, 0) + line.quantity
    return [_Line(item_id=item_id, quantity=quantity) for item_id, quantity in quantities.items()]


def ordered_lines(quantities: Mapping[str, int], offered: Mapping[str, ItemCard]) -> list[OrderLine]:
    """Lines at the prices that the session's searches showed. Raises ToolFailed for what none of them returned."""
    unknown = [item_id for item_id in quantities if item_id not in offered]
    if unknown:
        named = ", ".join(item_id[:32] for item_id in unknown[:5])
        raise ToolFailed(f"no search of this session returned {named}; search first and take its item_id")
    known = OrderedItem.model_fields
    return [
        OrderLine(item=OrderedItem.model_validate(offered[item_id].model_dump(include=set(known))), quantity=quantity)
        for item_id, quantity in quantities.items()
    ]


async def _propose(context: ToolContext, order: NewOrder) -> ProposedCard:
    try:
        return await context.memory.propose_order(context.call_id, order)
    except MemoryUnavailable as error:
        _log.warning("order_propose.no_answer", error=error)
        raise ToolFailed(f"there was no answer{_LOOK_FIRST}") from error


def _noted(card: ProposedCard) -> str:
    return "waits for the user" if _is_new(card) else f"there is such a card: {card.state}"


def _is_new(card: ProposedCard) -> bool:
    """Also to a repeated call, as long as nothing became of its card."""
    return card.state is OrderState.PENDING and not card.existed


def _receipt(card: ProposedCard, marks: Mapping[str, list[str]]) -> str:
    marked = {item_id: found for item_id, found in marks.items() if found}
    return exact_json(
        {
            "order_id": str(card.order_id),
            "state": card.state.value,
            "destination": card.destination,
            "totals": shown_totals(card),
            "expires_at": card.expires_at.isoformat(timespec="seconds"),
            **({"marks": marked} if marked else {}),
            "message": _NEXT if _is_new(card) else _EXISTED[card.state],
        }
    )
