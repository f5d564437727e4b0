"""An order's way through the whole system: proposed in a turn, settled by its user, told to the next turn."""

import json
from typing import Any

from tests.support.conversation import Conversation, SseEvent, conversation
from tests.support.processes import Processes

from agent.catalogue.products import load_products

PRODUCTS = {product.item_id: product for product in load_products()}


async def propose(user: Conversation) -> tuple[dict[str, Any], list[SseEvent]]:
    """The card, and the events of the turn that made it."""
    found = [event async for event in user.events(await user.say("找一个双肩包"))]
    (items,) = (event.data["items"] for event in found if event.name == "items")
    item_id = items[0]["item_id"]
    order = {"lines": [{"item_id": item_id, "quantity": 2}], "destination": PRODUCTS[item_id].ships_to[0]}
    events = [event async for event in user.events(await user.say(calling("order_propose", order)))]
    (card,) = (event.data["card"] for event in events if event.name == "order.card")
    return card, events


def calling(tool: str, arguments: dict[str, Any]) -> str:
    return f"[[offline:call={tool}|{json.dumps(arguments)}]]你好"


async def results_of(events: list[SseEvent], tool: str) -> list[str]:
    return [event.data["summary"] for event in events if event.name == "tool.finished" and event.data["tool"] == tool]


async def test_a_card_is_confirmed_by_its_user_alone_and_becomes_a_purchase(processes: Processes) -> None:
    async with conversation(processes) as user, conversation(processes) as stranger:
        card, _ = await propose(user)
        path = f"/api/orders/{card['order_id']}"
        assert card["state"] == "pending"
        for url in (path, f"{path}/confirm", f"{path}/cancel"):
            method = "GET" if url == path else "POST"
            assert (await stranger.client.request(method, url)).status_code == 404
        assert (await user.turn(user.turns[-1]))["orders"] == [card]

        confirmed = (await user.client.post(f"{path}/confirm")).json()
        assert (confirmed["state"], confirmed["lines"]) == ("confirmed", card["lines"])
        assert (await user.client.post(f"{path}/confirm")).json() == confirmed
        refused = await user.client.post(f"{path}/cancel")
        assert (refused.status_code, refused.headers["content-type"]) == (409, "application/problem+json")
        assert (refused.json()["code"], refused.json()["state"]) == ("order-settled", "confirmed")
        listed = (await user.client.get("/api/orders", params={"state": "confirmed"})).json()["orders"]
        assert listed == [confirmed]

        events = [event async for event in user.events(await user.say(calling("order_lookup", {})))]
        assert await results_of(events, "order_lookup") == ["1 orders"]
        exported = (await user.client.get(f"/api/users/{user.user}/export")).text
        records = [json.loads(line) for line in exported.splitlines()]
        bought = card["lines"][0]["item"]["title"]
        assert [record["text"] for record in records if record.get("kind") == "purchase"] == [bought]
        assert [record["state"] for record in records if record["type"] == "order"] == ["confirmed"]


async def test_bad_questions_about_orders_get_clear_answers(processes: Processes) -> None:
    async with conversation(processes) as user:
        assert (await user.client.get("/api/orders")).json() == {"orders": []}
        for path in ("/api/orders?state=paid", "/api/orders?limit=0", "/api/orders/1"):
            answer = await user.client.get(path)
            assert (answer.status_code, answer.json()["code"]) == (422, "invalid-request"), path
