"""A card as the model reads it: in a tool's result, and in the block that says what became of it."""

from typing import Any

from common.memory_api.orders import OrderCard, OrderLine


def shown_order(card: OrderCard) -> dict[str, Any]:
    """Amounts are decimal texts, times ISO 8601."""
    settled = {} if card.settled_at is None else {"settled_at": _time(card.settled_at)}
    return {
        "order_id": str(card.order_id),
        "state": card.state.value,
        "lines": [_shown_line(line) for line in card.lines],
        "destination": card.destination,
        "totals": shown_totals(card),
        "expires_at": _time(card.expires_at),
        **settled,
    }


def shown_totals(card: OrderCard) -> list[dict[str, str]]:
    return [{"amount": str(total.amount), "currency": total.currency} for total in card.totals]


def _shown_line(line: OrderLine) -> dict[str, Any]:
    item = line.item
    return {
        "item_id": item.item_id,
        "title": item.title,
        "quantity": line.quantity,
        "price": str(item.price),
        "currency": item.currency,
        "platform": item.platform,
    }


def _time(moment: Any) -> str:
    return str(moment.isoformat(timespec="seconds"))
