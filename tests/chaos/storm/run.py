"""One storm: users take turns while everything is broken around them; then it is calm, and the promises are counted."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from tests.chaos.storm.audit import install_witness
from tests.chaos.storm.faults import Fault, faults
from tests.chaos.storm.findings import Findings, broken_promises
from tests.chaos.storm.shoppers import TENANT, Gateways, Ledger, Shopper
from tests.chaos.storm.system import StormySystem, stormy_system

_PROGRESS_SECONDS = 15.0
_SHARE_THAT_CLEARS = 5
"""Every fifth user."""


@dataclass(frozen=True)
class Scale:
    turns: int
    users: int
    at_once: int
    """Users in a turn at the same time."""
    turns_a_fault: int
    """So many may begin for each fault so far: a fast machine must not be through before the weather has turned."""


FULL = Scale(turns=2_000, users=100, at_once=24, turns_a_fault=50)
SMALL = Scale(turns=60, users=10, at_once=10, turns_a_fault=6)


async def run_storm(scale: Scale, seed: int, directory: Path, report: Callable[[str], None]) -> dict[str, Any]:
    """The result that `make chaos` prints; `broken` names the promises that were not kept."""
    ledger = Ledger()
    async with stormy_system(directory, report) as system:
        await install_witness(system.processes.connections.database.admin)
        began_at = time.monotonic()
        report(f"{scale.turns} turns of {scale.users} users, seed {seed}")
        await _shop_in_the_storm(system, ledger, scale, seed, report)
        report("it is calm; waiting for what is still open")
        findings = Findings(system, ledger)
        try:
            numbers = await findings.numbers()
            seconds = round(time.monotonic() - began_at, 1)
            result = {**numbers, **await findings.idle_rates(), **_of_the_storm(system, scale, seed, seconds)}
        finally:
            await findings.close()
    return {**result, "broken": broken_promises(result)}


async def _shop_in_the_storm(
    system: StormySystem, ledger: Ledger, scale: Scale, seed: int, report: Callable[[str], None]
) -> None:
    at_once, pace = asyncio.Semaphore(scale.at_once), asyncio.Semaphore(0)
    shoppers, gateways = _users(system, ledger, scale, seed)
    weather = asyncio.create_task(system.storm(_letting_turns_begin(faults(seed), pace, scale.turns_a_fault)))
    keeping = asyncio.create_task(system.keep_alive())
    telling = asyncio.create_task(_tell(ledger, system, report))
    shopping = [
        asyncio.create_task(
            each.shop(scale.turns // scale.users, at_once, pace, clears=number % _SHARE_THAT_CLEARS == 0)
        )
        for number, each in enumerate(shoppers)
    ]
    try:
        everybody: asyncio.Future[Any] = asyncio.gather(*shopping)
        begun: list[asyncio.Future[Any]] = [weather, keeping, everybody]
        done, _ = await asyncio.wait(begun, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
        await _end(weather)
        await system.calm()
    finally:
        for task in (weather, telling, keeping, *shopping):
            await _end(task)
        for each in gateways:
            each.close()


def _letting_turns_begin(schedule: Iterator[Fault], pace: asyncio.Semaphore, turns: int) -> Iterator[Fault]:
    for fault in schedule:
        yield fault
        for _ in range(turns):
            pace.release()


def _users(system: StormySystem, ledger: Ledger, scale: Scale, seed: int) -> tuple[list[Shopper], list[Gateways]]:
    shoppers, gateways = [], []
    for number in range(scale.users):
        user, random = f"shopper-{number}", Random(f"{seed}-{number}")
        gateways.append(Gateways(system.gateways, system.processes.token(user, TENANT), random))
        shoppers.append(Shopper(user, number, gateways[-1], ledger, random))
    return shoppers, gateways


async def _tell(ledger: Ledger, system: StormySystem, report: Callable[[str], None]) -> None:
    while True:
        await asyncio.sleep(_PROGRESS_SECONDS)
        report(f"{len(ledger.accepted)} accepted, {len(ledger.ended)} ended, {sum(system.done.values())} faults")


async def _end(task: "asyncio.Task[Any]") -> None:
    task.cancel()
    with suppress(asyncio.CancelledError, Exception):
        await task


def _of_the_storm(system: StormySystem, scale: Scale, seed: int, seconds: float) -> dict[str, Any]:
    return {
        "seed": seed,
        "turns": scale.turns,
        "users": scale.users,
        "kills": system.kills,
        "faults": {kind.value: times for kind, times in sorted(system.done.items())},
        "connections_broken": sum(link.broken for link in system.links.values()),
        "seconds": seconds,
    }
