"""A country in a call's arguments: one place reads it for every tool, and says what to write where it cannot."""

import json
from typing import Any

import pytest
from tests.unit.agent.memory_in_process import MemoryInProcess
from tests.unit.agent.scripted_agent import PRODUCTS, ScriptedAgent, ShelfCatalogue, calls, messages, says

BAG = next(bag for bag in PRODUCTS.values() if bag.domain == "bags_luggage" and {"GB", "DE"} <= set(bag.ships_to))
SEARCH = ("item_search", {"query": "双肩包"})


def to_country(tool: str, country: str) -> tuple[str, dict[str, Any]]:
    arguments: dict[str, dict[str, Any]] = {
        "item_search": {"query": "双肩包", "ships_to": country},
        "landed_price": {"item_id": BAG.item_id, "destination": country},
        "order_propose": {"lines": [{"item_id": BAG.item_id, "quantity": 1}], "destination": country},
    }
    return tool, arguments[tool]


TOOLS = ["item_search", "landed_price", "order_propose"]


async def answered(tool: str, country: str) -> dict[str, Any]:
    memory = MemoryInProcess("双肩包")
    await ScriptedAgent(
        memory, calls(SEARCH), calls(to_country(tool, country)), says("好"), catalogue=ShelfCatalogue(BAG.item_id)
    ).run()
    result = [str(message["content"]) for message in messages(memory) if message["role"] == "tool"][-1]
    found: dict[str, Any] = json.loads(result[result.index("{") : result.rindex("}") + 1])
    return found


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize(
    ("country", "code"), [("uk", "GB"), ("United Kingdom", "GB"), ("英国", "GB"), (" de ", "DE"), ("德国", "DE")]
)
async def test_a_country_is_understood_by_its_code_or_its_name(tool: str, country: str, code: str) -> None:
    found = await answered(tool, country)
    destination = found["destination"]
    assert (destination["country"] if isinstance(destination, dict) else destination) == code


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("country", ["XX", "EU", "Atlantis", "德国或者法国"])
async def test_what_is_no_country_is_an_error_that_says_what_to_write(tool: str, country: str) -> None:
    found = await answered(tool, country)
    assert set(found) == {"error"}
    assert "ISO 3166-1 alpha-2" in found["error"]
    assert country not in found["error"]
