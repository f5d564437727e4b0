"""What ShoppingX itself adds to a turn: `make bench-overhead`. The last line of the output is JSON.

The system runs on this machine with default settings: one process of each service, PostgreSQL (durable), Valkey, and
the offline model without any delay. A turn is three calls of a model (plan, search, summary) and one search; its
curation adds a fourth call and one fact. Every query is another one, so no cache of vectors helps.

- **turn**: from the moment it was due to be posted until `turn.completed` is read from the event stream.
- **model time**: from a request's arrival at the model endpoint to the last byte of the answer, over the turn's three
  calls, as the endpoint measures it. Embedding the query is not in it: that counts as ours.
- **overhead**: turn minus model time.
- **u1**: one user, one turn at a time, each after the curation of the one before.
- **turns_per_s**: completions per second while more turns arrive than can be served.
- **half_load**: turns arrive at random (Poisson) at half of that rate, whether or not earlier ones were answered.
- **retrieval_ms**: what a search takes at u1, minus `embedding_ms`, which is what the endpoint took for its vector.
- **turn_to_fact_ms**: from the commit that ended a turn to the commit of its fact, as PostgreSQL noted them, at u1.
- **ryw_wait_ms**: what reading facts takes for a turn posted at the very moment the turn before was answered, minus
  what it takes when nothing is under way.
- **cpu_ms_per_turn**: CPU time of each process per turn at half load, its curation and the event stream included;
  `load` is the generator.
"""

import argparse
import asyncio
import json
import os
import platform
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any
from uuid import UUID

from bench.machine import cpu_of, peak_rss_of
from bench.shopper import Crowd, Shopper, TurnRecord
from bench.system import System, running_system

from common.clock import SystemClock
from common.memory_api.base import Owner
from common.memory_api.client import MemoryClient
from common.memory_api.facts import ReadFacts
from common.memory_api.operations import READ_FACTS

TENANT = "bench"
DIRECTORY = Path(".local").absolute()

_COLOURS = ("红色", "蓝色", "黑色", "白色", "绿色", "灰色", "米色", "紫色", "粉色", "黄色")
_KINDS = (
    *("轻便", "防水", "大号", "小号", "便宜", "高档", "复古", "简约", "儿童", "男士"),
    *("女士", "户外", "旅行", "商务", "运动", "送礼", "耐用", "可爱", "便携", "家用"),
)
_THINGS = (
    *("双肩包", "雨伞", "水杯", "耳机", "键盘", "台灯", "围巾", "手表", "帐篷", "茶具"),
    *("毛巾", "钱包", "行李箱", "充电宝", "零食", "笔记本", "香薰", "枕头", "拖鞋", "咖啡"),
)
_LETTERS = "abcdefghij"

AIMS = {
    "overhead_ms.u1.p50": ("<", 60.0),
    "turns_per_s": (">", 15.0),
    "turn_to_fact_ms.p95": ("<", 120.0),
    "retrieval_ms.p50": ("<", 10.0),
}


class Texts:
    """The words of turns: each asks for something else, names itself to the model, and says one thing to remember."""

    def __init__(self, *, repeat_queries: bool) -> None:
        self._repeat = repeat_queries
        self._number = 0

    def __call__(self, mark: str) -> str:
        self._number += 1
        rest, thing = divmod(self._number, len(_THINGS))
        rest, kind = divmod(rest, len(_KINDS))
        wish = "通勤双肩包" if self._repeat else f"{_COLOURS[rest % len(_COLOURS)]}{_KINDS[kind]}{_THINGS[thing]}"
        name = "".join(_LETTERS[int(digit)] for digit in str(self._number))
        return (
            f"我一直喜欢{name}牌的东西。想找一个{wish}，500 元以内"
            f"[[offline:planner.mark={mark}]][[offline:mark={mark}]]"
            f"[[offline:curator.save=note_{name}|一直喜欢{name}牌的东西|preference]]"
        )


class Bench:
    def __init__(self, system: System, texts: Texts) -> None:
        self._system = system
        self._texts = texts

    def shopper(self, name: str) -> Shopper:
        return Shopper(self._system.stack.gateway_url, self._system.stack.token(TENANT, name))

    async def one_at_a_time(self, name: str, turns: int) -> tuple[list[TurnRecord], list[float]]:
        """Turns of one user in a row, and how long after each one's end its fact was there."""
        shopper = self.shopper(name)
        records: list[TurnRecord] = []
        to_fact: list[float] = []
        for _ in range(turns):
            await shopper.prepare()
            record = await shopper.turn(self._texts)
            records.append(record)
            if (milliseconds := await self._system.turn_to_fact_ms(record.turn_id)) is not None:
                to_fact.append(milliseconds)
        shopper.close()
        return records, to_fact

    async def read_your_writes(self, rounds: int) -> list[float]:
        """How much longer a turn's reading of facts takes when it was posted as the one before was answered."""
        memory = MemoryClient(self._system.memory_url, self._system.agent_token, SystemClock())
        waits: list[float] = []
        try:
            for number in range(rounds):
                name = f"ryw-{number}"
                owner = Owner(tenant_id=TENANT, user_id=name)
                shopper = self.shopper(name)
                await shopper.prepare()
                answered = asyncio.Event()
                first = asyncio.create_task(shopper.turn(self._texts, on_answer=answered.set))
                await answered.wait()
                second = TurnRecord(f"{name}-second", time.perf_counter())
                await shopper.post(second, "你好 [[offline:text=好]]")
                request = ReadFacts(owner=owner, turn_id=UUID(second.turn_id))
                busy = await _timed(lambda: memory.call(READ_FACTS, request))  # noqa: B023 - awaited right here
                await first
                await shopper.follow(second)
                idle = await _timed(lambda: memory.call(READ_FACTS, request))  # noqa: B023 - awaited right here
                waits.append(max(0.0, busy - idle))
                shopper.close()
        finally:
            await memory.close()
        return waits

    async def open_loop(self, crowd: Crowd, rate: float, seconds: float, seed: int) -> list[TurnRecord]:
        """Turns that arrive at `rate` per second at random, whatever became of earlier ones; waits for all of them."""
        arrivals = random.Random(seed)
        due_at = began_at = time.perf_counter()
        tasks: list[asyncio.Task[TurnRecord]] = []
        while (due_at := due_at + arrivals.expovariate(rate)) < began_at + seconds:
            await asyncio.sleep(due_at - time.perf_counter())
            tasks.append(asyncio.create_task(crowd.turn(self._texts, due_at)))
        return list(await asyncio.gather(*tasks))


async def measure(options: argparse.Namespace) -> dict[str, Any]:
    texts = Texts(repeat_queries=options.repeat_queries)
    async with running_system(DIRECTORY) as system:
        bench = Bench(system, texts)
        crowd = Crowd(lambda number: bench.shopper(f"crowd-{number}"))
        _say("warm-up")
        await bench.one_at_a_time("warm", 8)
        _say(f"u1: {options.turns} turns, one at a time")
        embedded_before = len(system.embedding_ms())
        single, to_fact = await bench.one_at_a_time("single", options.turns)
        embedding = system.embedding_ms()[embedded_before:]
        waits = await bench.read_your_writes(options.rounds)
        result: dict[str, Any] = {"turn_ms": {}, "model_ms": {}, "overhead_ms": {}}
        if options.seconds:
            _say(f"saturation: {options.offered:g} turns/s are offered for {options.seconds} s")
            await crowd.grow(int(options.offered * options.seconds * 1.3))
            began_at = time.perf_counter()
            flood = await bench.open_loop(crowd, options.offered, options.seconds, seed=1)
            per_second = _completions_per_second(flood, began_at + 2.0, began_at + options.seconds)
            _say(f"half load: {per_second / 2:.1f} turns/s for {2 * options.seconds} s")
            processes = {**system.processes, "load": os.getpid()}
            before = cpu_of(processes)
            calm = await bench.open_loop(crowd, per_second / 2, 2.0 * options.seconds, seed=2)
            after = cpu_of(processes)
            result["turns_per_s"] = round(per_second, 1)
            spent = {name: (after[name] - before[name]) * 1_000 / len(calm) for name in processes}
            result["cpu_ms_per_turn"] = _rounded({**spent, "total": sum(spent.values())})
            _must_all_be_answered([*flood, *calm])
            _add_times(result, "half_load", calm, system.model_ms())
        crowd.close()
        _must_all_be_answered(single)
        _add_times(result, "u1", single, system.model_ms())
        result["embedding_ms"] = _spread(embedding)
        searches = [ms for record in single for ms in record.search_ms]
        result["retrieval_ms"] = _spread([ms - taken for ms, taken in zip(searches, embedding, strict=True)])
        result["turn_to_fact_ms"] = _spread(to_fact)
        result["ryw_wait_ms"] = _spread(waits)
        result["peak_rss_mb"] = _rounded(peak_rss_of(system.processes))
    result["against"] = f"Python {platform.python_version()}, {os.cpu_count()} cores, everything on this machine"
    return result


def _add_times(result: dict[str, Any], load: str, records: Sequence[TurnRecord], model_ms: dict[str, float]) -> None:
    result["turn_ms"][load] = _spread([record.turn_ms for record in records])
    result["model_ms"][load] = _spread([model_ms[record.mark] for record in records])
    result["overhead_ms"][load] = _spread([record.turn_ms - model_ms[record.mark] for record in records])


def _must_all_be_answered(records: Sequence[TurnRecord]) -> None:
    """A number over turns that failed says nothing."""
    bad = [record for record in records if record.status != "turn.completed" or len(record.search_ms) != 1]
    if bad:
        raise SystemExit(f"{len(bad)} of {len(records)} turns were not as they should be: {bad[:3]}")


def _completions_per_second(records: Sequence[TurnRecord], begin: float, end: float) -> float:
    return sum(begin <= record.ended_at < end for record in records) / (end - begin)


async def _timed(call: Callable[[], Any]) -> float:
    started_at = time.perf_counter()
    await call()
    return (time.perf_counter() - started_at) * 1_000


def _spread(values: Sequence[float]) -> dict[str, float]:
    return {"p50": round(median(values), 1), "p95": round(quantiles(values, n=20, method="inclusive")[18], 1)}


def _rounded(values: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 1) for name, value in values.items()}


def _aims_met(result: dict[str, Any]) -> dict[str, bool]:
    met: dict[str, bool] = {}
    for path, (relation, bound) in AIMS.items():
        value: Any = result
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        if value is not None:
            met[path] = value < bound if relation == "<" else value > bound
    return met


def _say(text: str) -> None:
    print(text, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=60, help="at u1")
    parser.add_argument("--rounds", type=int, default=20, help="of reading your writes")
    parser.add_argument("--seconds", type=float, default=10.0, help="of saturation; 0 leaves load out")
    parser.add_argument("--offered", type=float, default=45.0, help="turns per second for saturation")
    parser.add_argument("--repeat-queries", action="store_true", help="everybody looks for the same thing")
    result = asyncio.run(measure(parser.parse_args()))
    result["aims_met"] = _aims_met(result)
    print(json.dumps(result, indent=2))
    print(json.dumps(result, separators=(",", ":")))


if __name__ == "__main__":
    main()
