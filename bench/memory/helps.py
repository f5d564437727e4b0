"""Whether memory helps: scenarios over two sessions, with memory on and with `ENABLE_MEMORY=false`.

In the first session a user says something about themself, in the second they ask for something that tempts to forget
it (`scenarios.py`). All four services run, with the model the environment names or the offline one.

- **on**, **off**: share of the answers that respect what was said: the turn completed, listed something, and no listed
  product has what the user ruled out, or cannot be shipped to them. The catalogue's own entries decide, not the words.
- **carried.on**, **carried.off**: share of the answers in whose searches the earlier words can be read: an exclusion
  that was not there without memory, or the country.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from bench.memory.aims import Aim
from bench.memory.scenarios import SCENARIOS, Scenario
from bench.memory.servers import Servers, running_servers

from agent.catalogue.products import Product, load_products
from common.streams.progress import ProgressEvent
from devstack.gateway_client import GatewayClient
from devstack.services import OFFLINE_MODEL
from devstack.waiting import eventually

AIMS: dict[str, Aim] = {"helps.on": (">", 0.9)}

_TENANT = "bench"
_AT_ONCE = 2
_CURATED_SECONDS = 60.0


@dataclass(frozen=True)
class Answer:
    """What came of the question: the searches that were made and the products that were listed."""

    status: str
    searches: list[dict[str, Any]]
    listed: list[Product]


async def measure() -> dict[str, Any]:
    async with running_servers() as servers:
        await servers.start(OFFLINE_MODEL)
        await servers.build_catalogue()
        await servers.start("memory", "gateway", "agent", "curator")
        with_memory = await _answers(servers)
        await servers.services.stop("memory")
        await servers.start("memory", ENABLE_MEMORY="false")
        without = await _answers(servers)
    _print_table(with_memory, without)
    return {
        "helps": {
            "on": _share([respects(*pair) for pair in zip(SCENARIOS, with_memory, strict=True)]),
            "off": _share([respects(*pair) for pair in zip(SCENARIOS, without, strict=True)]),
            "carried": {
                "on": _share([carries(*pair) for pair in zip(SCENARIOS, with_memory, strict=True)]),
                "off": _share([carries(*pair) for pair in zip(SCENARIOS, without, strict=True)]),
            },
            "rows": len(SCENARIOS),
        }
    }


def respects(scenario: Scenario, answer: Answer) -> bool:
    return answer.status == "completed" and bool(answer.listed) and not broken_by(scenario, answer)


def broken_by(scenario: Scenario, answer: Answer) -> list[str]:
    """The listed products that contradict what was said."""
    return [
        product.item_id
        for product in answer.listed
        if scenario.against.intersection((*product.materials, *product.allergens))
        or (scenario.ships_to is not None and scenario.ships_to not in product.ships_to)
    ]


def carries(scenario: Scenario, answer: Answer) -> bool:
    if scenario.ships_to is not None:
        return any(search.get("ships_to") == scenario.ships_to for search in answer.searches)
    return any(search.get("exclude") for search in answer.searches)


async def _answers(servers: Servers) -> list[Answer]:
    """Every scenario with a user of its own, a few at a time."""
    few = asyncio.Semaphore(_AT_ONCE)

    async def one(scenario: Scenario) -> Answer:
        async with few:
            return await _answer(servers, scenario)

    return list(await asyncio.gather(*map(one, SCENARIOS)))


async def _answer(servers: Servers, scenario: Scenario) -> Answer:
    client = GatewayClient(servers.services.url("gateway"), servers.token(_TENANT, f"user-{uuid4()}"))
    try:
        told = await client.post_turn(await client.create_session(), scenario.said)
        await eventually(lambda: _is_curated(client, told), _CURATED_SECONDS)
        asked = await client.post_turn(await client.create_session(), scenario.asked)
        searches = [
            event.data["arguments"]
            async for event in client.events(asked)
            if event.kind == ProgressEvent.TOOL_STARTED and event.data["tool"] == "item_search"
        ]
        view = await client.get_turn(asked)
        by_id = {product.item_id: product for product in load_products()}
        return Answer(view["status"], searches, [by_id[item["item_id"]] for item in view["items"]])
    finally:
        await client.close()


async def _is_curated(client: GatewayClient, turn_id: str) -> bool:
    turn = await client.get_turn(turn_id)
    return turn["finished_at"] is not None and turn["curation"] != "pending"


def _print_table(with_memory: Sequence[Answer], without: Sequence[Answer]) -> None:
    print(f"{'on':4}{'off':5}said → asked")
    for scenario, on, off in zip(SCENARIOS, with_memory, without, strict=True):
        marks = ["yes" if respects(scenario, answer) else "no" for answer in (on, off)]
        broken = broken_by(scenario, on)
        why = f"  with memory: {on.status}, listed {len(on.listed)}, against it {broken}" if marks[0] == "no" else ""
        print(f"{marks[0]:4}{marks[1]:5}{scenario.said} → {scenario.asked}{why}")


def _share(held: Sequence[bool]) -> float:
    return round(sum(held) / len(held), 3)
