"""`make bench-cache`: how much of what is sent a provider's prefix cache has already read. JSON on the last line.

The whole system plays four scenarios with the offline model; what it sends to the model is recorded on the way. Then
the recorded requests are sent again, in the same order, to each simulated cache, empty at first. A figure is what the
simulator reports in `usage`: Σ cached / Σ prompt tokens over all calls (planner, main, curator, compaction).

- **long20**: one session of 20 turns; **short**: 200 sessions of one to three turns; **bad**: everything that hurts at
  once; **long100**: 100 turns, so that the conversation is compacted on the way.
- **ceiling**: the share of tokens in messages that an earlier request had too, rounded down to the policy's blocks and
  minimum; told from the texts alone. `of_ceiling` is the rate's share of it.
- **unexplained_breaks**: calls that did not begin with the request before them although nothing was pruned or
  summarised, or that got less than the cache owes for the texts it has seen.
- **cost_ratio**: what all prompts cost, in prices of tokens that are never cached (list-price ratios in policies.py).
- **compaction_call_rate**, **skill_call_rate**: over the calls that ask for a summary, and over those whose newest
  message is a skill's body.
- **ablations**: the same conversations, sent as if the design had decided otherwise. `baseline` is as it decided.
- **live**: what the services stored while the scenarios were played, from `GET /api/sessions/{id}/usage`.

MODEL_SHADOW_URL sends every request of the sessions also there with max_tokens=1 (with MODEL_SHADOW_MODEL and
MODEL_SHADOW_KEY where they are needed); SCALE=0.1 shrinks the texts for engines that are slow.
"""

import argparse
import asyncio
import json
import os
import platform
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.cache.ablations import ABLATIONS
from bench.cache.conversations import SCENARIOS, Scenario
from bench.cache.driving import Recording, play
from bench.cache.judge import Judge
from bench.cache.policies import POLICIES
from bench.cache.recorder import Recorder, recording
from bench.cache.replay import SecondEngine, SimulatedCaches
from bench.system import System, running_system

from devstack.services import OFFLINE_MODEL

DIRECTORY = Path(".local").absolute()
_CACHES = f"{OFFLINE_MODEL}-caches"
"""A second offline model, so that one scenario is judged while the next is played."""


async def measure(options: argparse.Namespace) -> dict[str, Any]:
    scale = float(os.environ.get("SCALE", "1"))
    shadow = _shadow()
    scenarios = [scenario for scenario in SCENARIOS if scenario.name in options.sessions]
    async with recording() as recorder, running_system(DIRECTORY, recorder.url) as system:
        recorder.target = f"{system.offline_model_url}/v1"
        await system.stack.services.start(_CACHES, {"LOG_LEVEL": "WARNING"})
        caches = SimulatedCaches(system.stack.services.url(_CACHES))
        judge = Judge(caches, shadow, options.policies, scale)
        played: asyncio.Queue[Recording | None] = asyncio.Queue()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(_play_all(system, recorder, scenarios, played))
            while (of_one := await played.get()) is not None:
                await judge.add(of_one, () if options.no_ablations else ABLATIONS)
        caches.close()
    if shadow is not None:
        await shadow.close()
    judge.finish()
    against = f"Python {platform.python_version()}, {os.cpu_count()} cores, simulated caches"
    return {**judge.result, "scale": scale, "against": against}


async def _play_all(
    system: System, recorder: Recorder, scenarios: Sequence[Scenario], played: asyncio.Queue[Recording | None]
) -> None:
    for scenario in scenarios:
        began_at = time.perf_counter()
        of_one = await play(system, recorder, scenario)
        print(f"{scenario.name}: {len(of_one.calls)} calls in {time.perf_counter() - began_at:.0f} s", flush=True)
        await played.put(of_one)
    await played.put(None)


def _shadow() -> SecondEngine | None:
    url = os.environ.get("MODEL_SHADOW_URL")
    if not url:
        return None
    return SecondEngine(url, os.environ.get("MODEL_SHADOW_KEY", "none"), os.environ.get("MODEL_SHADOW_MODEL"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [scenario.name for scenario in SCENARIOS]
    parser.add_argument("--sessions", nargs="+", choices=names, default=names)
    parser.add_argument("--policies", nargs="+", choices=list(POLICIES), default=list(POLICIES))
    parser.add_argument("--no-ablations", action="store_true")
    began_at = time.perf_counter()
    result = asyncio.run(measure(parser.parse_args()))
    result["seconds"] = round(time.perf_counter() - began_at)
    print(json.dumps(result, indent=2))
    print(json.dumps(result, separators=(",", ":")))


if __name__ == "__main__":
    main()
