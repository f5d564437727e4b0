"""Commands of `make chat` that find nothing say so, in both languages."""

import io
from collections.abc import AsyncIterator
from typing import Any

import pytest
from rich.console import Console
from tests.support.released_shapes import PROGRESS_EXAMPLES

from common.streams.progress import ProgressEvent
from devstack.chat import Chat
from devstack.gateway_client import GatewayClient, TurnEvent
from devstack.terminal.screen import Screen

CARD: dict[str, Any] = PROGRESS_EXAMPLES[ProgressEvent.ORDER_CARD].model_dump(mode="json")["card"]


class OneShopper(GatewayClient):
    """The gateway as it answers a user with the given orders; a turn shows the first of them, twice."""

    def __init__(self, *orders: dict[str, Any]) -> None:
        super().__init__("http://127.0.0.1:1", "token")
        self._orders = list(orders)
        self.asked: list[str] = []

    async def orders(self) -> list[dict[str, Any]]:
        return self._orders

    async def confirm_order(self, order_id: str) -> dict[str, Any]:
        self.asked.append(f"confirm {order_id}")
        return {**CARD, "order_id": order_id, "state": "confirmed"}

    async def cancel_order(self, order_id: str) -> dict[str, Any]:
        self.asked.append(f"cancel {order_id}")
        return {**CARD, "order_id": order_id, "state": "cancelled"}

    async def delete_preference(self, user_id: str, key: str) -> None:
        self.asked.append(f"delete {user_id} {key}")

    async def clear_preferences(self, user_id: str) -> None:
        self.asked.append(f"clear {user_id}")

    async def create_session(self) -> str:
        return "session"

    async def post_turn(self, session_id: str, text: str) -> str:
        return "turn"

    async def events(self, turn_id: str) -> AsyncIterator[TurnEvent]:
        for number in (1, 2):
            yield TurnEvent(str(number), ProgressEvent.ORDER_CARD, {"card": self._orders[0]})


async def shown(client: OneShopper, *lines: str) -> str:
    written = io.StringIO()
    chat = Chat(client, "me", Screen(Console(file=written, width=200)))
    for line in lines:
        await chat.answer(line)
    await client.close()
    return written.getvalue()


@pytest.mark.parametrize("command", ["/confirm", "/cancel"])
async def test_without_a_card_there_is_nothing_to_settle(command: str) -> None:
    client = OneShopper(CARD)
    told = await shown(client, command)
    assert "没有待确认的订单" in told
    assert "no pending order" in told
    assert client.asked == []


async def test_without_orders_the_list_says_so() -> None:
    told = await shown(OneShopper(), "/orders")
    assert "还没有订单" in told
    assert "no orders yet" in told
    assert "还没有订单" not in await shown(OneShopper(CARD), "/orders")


async def test_the_card_shown_last_is_settled_once() -> None:
    client = OneShopper(CARD)
    told = await shown(client, "就买这个", "/confirm", "/confirm")
    assert client.asked == [f"confirm {CARD['order_id']}"]
    assert "confirmed" in told
    assert "no pending order" in told


async def test_a_named_card_is_settled() -> None:
    client = OneShopper()
    await shown(client, "/cancel abc")
    assert client.asked == ["cancel abc"]


async def test_a_card_that_is_told_twice_in_a_turn_is_shown_once() -> None:
    assert (await shown(OneShopper(CARD), "就买这个")).count(CARD["order_id"]) == 1


async def test_what_was_done_is_said_and_a_key_is_needed() -> None:
    client = OneShopper()
    told = await shown(client, "/forget shoe_size", "/clear", "/new")
    assert client.asked == ["delete me shoe_size", "clear me"]
    for part in ("deleted: shoe_size", "已清空", "新会话"):
        assert part in told
    assert "/forget KEY" in await shown(OneShopper(), "/forget")
