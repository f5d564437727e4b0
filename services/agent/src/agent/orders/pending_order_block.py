"""`<pending_order>`: what the model is told of the user's cards when one appears or settles. L2, said once each.

What was said already is read from the session's log, as far as a summary has left it standing. A pending card is told
in every session, since the user may ask about it anywhere; what became of a card, only where it was told or proposed.
"""

import json
from collections.abc import Sequence
from typing import Any

from agent.context.fences import inside, neutralise
from agent.context.replacements import standing
from agent.orders.shown_orders import shown_order
from common.memory_api.orders import OrderCard, OrderState
from common.memory_api.sessions import Layer, LogEntry
from common.memory_api.turns import ClaimedTurn
from model_client.exact_json import exact_json

_TAG = "pending_order"
_HEADING = (
    "订单卡片的最新状态，一行一张。pending 是等用户自己在卡片上确认，confirmed 已确认，cancelled 已取消，"
    "expired 过期未确认。只有用户能确认或取消，你不能，也不要说你做了。"
)


class PendingOrders:
    """A source of L2 blocks."""

    def block(self, claimed: ClaimedTurn, log: Sequence[LogEntry]) -> str | None:
        said = _states_said(log)
        news = [card for card in reversed(claimed.orders) if _is_news(card, said, claimed)]
        if not news:
            return None
        lines = [neutralise(exact_json(shown_order(card))) for card in news]
        return "\n".join([f"<{_TAG}>", _HEADING, *lines, f"</{_TAG}>"])


def is_order_block(content: str) -> bool:
    return content.startswith(f"<{_TAG}>")


def _is_news(card: OrderCard, said: dict[str, str], claimed: ClaimedTurn) -> bool:
    order_id = str(card.order_id)
    if said.get(order_id) == card.state:
        return False
    return card.state is OrderState.PENDING or order_id in said or card.session_id == claimed.session_id


def _states_said(log: Sequence[LogEntry]) -> dict[str, str]:
    """The last state that each card was said to have."""
    said: dict[str, str] = {}
    for entry in standing(log):
        if entry.layer is Layer.L2:
            for card in _cards_in(str(entry.message.get("content") or "")):
                said[str(card.get("order_id"))] = str(card.get("state"))
    return said


def _cards_in(content: str) -> list[dict[str, Any]]:
    block = inside(content, _TAG) or ""
    return [json.loads(line) for line in block.splitlines() if line.startswith('{"order_id":')]
