"""An order as a card in the terminal."""

from collections.abc import Sequence
from typing import Any

from devstack.terminal.screen import Screen

_STATES = {
    "pending": "等你确认 · waits for you: /confirm, /cancel",
    "confirmed": "已确认 · confirmed",
    "cancelled": "已取消 · cancelled",
    "expired": "已过期 · expired",
}


def show_order(screen: Screen, card: dict[str, Any]) -> None:
    for line in order_lines(card):
        screen.line(line, "cyan")


def show_orders(screen: Screen, cards: Sequence[dict[str, Any]]) -> None:
    for card in cards:
        show_order(screen, card)
    if not cards:
        screen.line("还没有订单 · no orders yet", "dim")


def order_lines(card: dict[str, Any]) -> list[str]:
    totals = " + ".join(f"{total['amount']} {total['currency']}" for total in card["totals"])
    destination = f" → {card['destination']}" if card["destination"] else ""
    state = str(card["state"])
    return [
        f"  ▣ 订单卡 · order {card['order_id']}{destination}",
        *(f"    {line['quantity']} × {line['item']['title']} · {line['item']['platform']}" for line in card["lines"]),
        f"    {totals} · {_STATES.get(state, state)}",
    ]
