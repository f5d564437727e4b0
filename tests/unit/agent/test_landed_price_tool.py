"""`landed_price` in the loop: the user's currency, the day of the call, and what is told when there is no answer."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.unit.agent.example_facts import a_fact
from tests.unit.agent.memory_in_process import MemoryInProcess
from tests.unit.agent.scripted_agent import PRODUCTS, ScriptedAgent, calls, messages, plans, says

from common.clock import SystemClock
from common.memory_api.user_data import UserSettings

BAG = next(product for product in PRODUCTS.values() if product.ships_from == "CN" and "DE" in product.ships_to)

SENT_WIDELY = next(product for product in PRODUCTS.values() if {"GB", "FR", "DE", "IT"} <= set(product.ships_to))


class ClockOn(SystemClock):
    def __init__(self, day: str) -> None:
        self._now = datetime.fromisoformat(day).replace(tzinfo=UTC)

    def now(self) -> datetime:
        return self._now


async def asked(arguments: dict[str, Any], *, currency: str = "CNY", day: str = "2026-11-30") -> dict[str, Any]:
    memory = MemoryInProcess("寄到德国到手多少钱")
    memory.settings = UserSettings(currency=currency)
    agent = ScriptedAgent(memory, calls(("landed_price", arguments)), says("好"), clock=ClockOn(day))
    await agent.run()
    (result,) = (message["content"] for message in messages(memory) if message["role"] == "tool")
    found: dict[str, Any] = json.loads(result)
    return found


async def test_the_lines_of_the_sum_each_with_its_rule() -> None:
    price = await asked({"item_id": BAG.item_id, "destination": "de"})
    assert [line["kind"] for line in price["lines"]] == ["goods", "shipping", "duty", "tax", "handling"]
    assert all(line["rule"] for line in price["lines"])
    assert (price["destination"], price["currency"], price["day"]) == ("DE", "CNY", "2026-11-30")


@pytest.mark.parametrize(
    ("given", "shown"), [({}, "EUR"), ({"currency": "usd"}, "USD"), ({"currency": "人民币"}, "CNY")]
)
async def test_the_users_currency_unless_another_is_asked_for(given: dict[str, str], shown: str) -> None:
    price = await asked({"item_id": BAG.item_id, "destination": "DE", **given}, currency="EUR")
    assert price["currency"] == shown


async def test_the_day_of_the_call_decides_the_rule() -> None:
    duty = {}
    for day in ("2026-06-30", "2026-07-01"):
        price = await asked({"item_id": BAG.item_id, "destination": "DE"}, day=day)
        duty[day] = next(line for line in price["lines"] if line["kind"] == "duty")
    assert duty["2026-06-30"]["since"] == "2008-12-01"
    assert duty["2026-07-01"]["since"] == "2026-07-01"
    assert "2026-06-30" in duty["2026-07-01"]["before"]


@pytest.mark.parametrize(
    ("said", "session", "fact", "asked_for", "country", "layer"),
    [
        ("GB", "FR", "德国", "IT", "IT", "arguments"),
        ("GB", "FR", "德国", "", "GB", "turn"),
        (None, "FR", "德国", None, "FR", "session"),
        (None, None, "都寄到德国", None, "DE", "memory"),
    ],
)
async def test_a_call_that_names_no_country_takes_the_one_that_is_known_and_says_who_named_it(
    said: str | None, session: str | None, fact: str, asked_for: str | None, country: str, layer: str
) -> None:
    memory = MemoryInProcess("到手多少钱")
    memory.session_constraints = {} if session is None else {"destination": session}
    memory.facts = [a_fact("default_ship_to", fact)]
    arguments = {"item_id": SENT_WIDELY.item_id, **({} if asked_for is None else {"destination": asked_for})}
    steps = [calls(("landed_price", arguments)), says("好")]
    await ScriptedAgent(memory, *steps, plan_steps=[plans(destination=said)]).run()
    (result,) = (message["content"] for message in messages(memory) if message["role"] == "tool")
    price = json.loads(result)
    assert (price["destination"], price["destination_by"]) == (country, layer)


async def test_without_any_destination_the_user_is_to_be_asked() -> None:
    price = await asked({"item_id": BAG.item_id})
    assert set(price) == {"error"}
    assert "ask the user" in price["error"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"item_id": "bag-999", "destination": "DE"},
        {"item_id": BAG.item_id, "destination": "AQ"},
        {"item_id": BAG.item_id, "destination": "EU"},
        {"item_id": BAG.item_id, "destination": "DE", "quantity": 0},
        {"item_id": BAG.item_id, "destination": "DE", "currency": "XXX"},
    ],
)
async def test_what_cannot_be_said_is_told_to_the_model(arguments: dict[str, Any]) -> None:
    assert set(await asked(arguments)) == {"error"}
