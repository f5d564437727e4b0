"""Whether memory stays as fast when there is much of it: one million facts of 20,000 users.

A memory process with default settings answers over HTTP; PostgreSQL is the embedded one, durable. Every user has 50
facts. Users are asked in random order, one at a time, on a machine that does nothing else.

- **read_ms**: reading a user's facts for a turn (`facts/read`).
- **ingest_ms**: ingesting a curation of two facts, a new one and one that changes an old one (`curations/ingest`).
- **small**: the same with 10,000 facts of 200 users, in the same database before the rest was written.
- **growth**: median at full size by median at 10,000.
"""

import random
import time
from statistics import median, quantiles
from typing import Any

from bench.memory.aims import Aim
from bench.memory.memory_service import RunningMemory, running_memory
from bench.memory.population import FACTS_OF_A_USER, owner_of, populate

from common.memory_api import operations as op
from common.memory_api.base import Owner
from common.memory_api.curation import Ingest
from common.memory_api.facts import FactAction, ProposedFact, ReadFacts
from common.memory_api.operations import Service

AIMS: dict[str, Aim] = {
    "size.read_ms.p95": ("<", 15.0),
    "size.ingest_ms.p95": ("<", 15.0),
    "size.growth.read": ("<", 1.5),
    "size.growth.ingest": ("<", 1.5),
}

_SMALL = 200
_LARGE = 20_000
_READS = 600
_INGESTS = 200
_WARM_UP = 50

_WORDS = "我的咖啡杯都要带盖子的，衣服我喜欢绿色和白色"
_PROPOSED = [
    ProposedFact(key="coffee_cup", value="咖啡杯要带盖子的", evidence="咖啡杯要带盖子的"),
    ProposedFact(key="clothes_colour", value="衣服喜欢绿色和白色", evidence="衣服喜欢绿色和白色"),
]


async def measure() -> dict[str, Any]:
    chance = random.Random(42)
    async with running_memory() as memory:
        small = await _measured_with(memory, range(0, _SMALL), chance)
        large = await _measured_with(memory, range(_SMALL, _LARGE), chance)
    growth = {name: round(large[f"{name}_ms"]["p50"] / small[f"{name}_ms"]["p50"], 2) for name in ("read", "ingest")}
    return {"size": {**large, "small": small, "growth": growth, "facts": _LARGE * FACTS_OF_A_USER}}


async def _measured_with(memory: RunningMemory, more: range, chance: random.Random) -> dict[str, dict[str, float]]:
    """Write these users too, and measure over all that are there."""
    started_at = time.perf_counter()
    await populate(memory.database, memory.master_key, more)
    facts = more.stop * FACTS_OF_A_USER
    print(f"{facts:,} facts; the last {len(more):,} users in {time.perf_counter() - started_at:.0f} s", flush=True)
    asked = [owner_of(chance.randrange(more.stop)) for _ in range(_WARM_UP + _READS)]
    # Everybody is curated at most once: a second time nothing would be new.
    curated = [owner_of(number) for number in chance.sample(more, min(_INGESTS, len(more)))]
    reads = [await _read(memory, owner) for owner in asked][_WARM_UP:]
    ingests = [await _ingest(memory, owner) for owner in curated]
    return {"read_ms": _spread(reads), "ingest_ms": _spread(ingests)}


async def _read(memory: RunningMemory, owner: Owner) -> float:
    started_at = time.perf_counter()
    answer = await memory.clients[Service.AGENT].call(op.READ_FACTS, ReadFacts(owner=owner))
    took = (time.perf_counter() - started_at) * 1_000
    if len(answer.facts) < FACTS_OF_A_USER:
        raise SystemExit(f"{owner.user_id} has {len(answer.facts)} facts")
    return took


async def _ingest(memory: RunningMemory, owner: Owner) -> float:
    turn_id, token = await memory.turn_to_curate(owner, _WORDS)
    request = Ingest(owner=owner, turn_id=turn_id, lease_token=token, run=0, proposed=_PROPOSED)
    started_at = time.perf_counter()
    answer = await memory.clients[Service.CURATOR].call(op.INGEST, request)
    took = (time.perf_counter() - started_at) * 1_000
    if [each.action for each in answer.outcomes] != [FactAction.ADDED, FactAction.UPDATED]:
        raise SystemExit(f"not as it should be: {answer.outcomes}")
    return took


def _spread(values: list[float]) -> dict[str, float]:
    return {"p50": round(median(values), 2), "p95": round(quantiles(values, n=20, method="inclusive")[18], 2)}
