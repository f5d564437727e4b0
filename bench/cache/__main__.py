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

from bench.cache.ablations import ABLATIONS, Ablation, changed
from bench.cache.calls import Call
from bench.cache.conversations import SCENARIOS
from bench.cache.driving import Recording, play
from bench.cache.figures import aims_of, segments, session_figures, skill_calls, sum_of, unexplained
from bench.cache.policies import POLICIES, REFERENCE
from bench.cache.recorder import recording
from bench.cache.replay import Replayed, SecondEngine, SimulatedCaches
from bench.cache.report import show_ablations, show_aims, show_session
from bench.cache.scaling import scaled
from bench.cache.texts import Texts, TextsSent
from bench.system import running_system
from rich.console import Console

from common.memory_api.turns import ModelCallKind
from devstack.terminal.screen import Screen
from offline_model.tokens import QwenTokens

DIRECTORY = Path(".local").absolute()
ABLATION_POLICIES = ("block128", "exact", "marks")
_SHOWN_BREAKS = 5


class Bench:
    def __init__(
        self, caches: SimulatedCaches, shadow: SecondEngine | None, policies: Sequence[str], scale: float
    ) -> None:
        self._caches = caches
        self._shadow = shadow
        self._policies = policies
        self._scale = scale
        self._screen = Screen(Console(width=150, highlight=False, soft_wrap=True))
        self._tokens = QwenTokens()
        self.result: dict[str, Any] = {"sessions": {}, "segments": {}, "live": {}, "ablations": {}}

    async def add_session(self, recording: Recording) -> None:
        name = recording.scenario.name
        calls = scaled(recording.calls, self._scale)
        texts = TextsSent(self._tokens).of_all(calls)
        figures: dict[str, Any] = {}
        for policy in self._policies:
            replayed = await self._caches.replay(calls, policy)
            figures[policy] = session_figures(replayed, texts, policy)
            self._tell_breaks(replayed, texts, policy)
            if policy == REFERENCE:
                self._add_rates_of_kinds(name, replayed)
        if self._shadow is not None:
            figures["shadow"] = _shadow_figures(await self._shadow.replay(calls))
        self.result["sessions"][name] = figures
        self.result["live"][name] = recording.told.model_dump()
        show_session(self._screen, name, recording.scenario.words, figures)

    async def add_ablation(self, ablation: Ablation, calls: Sequence[Call]) -> None:
        rows: dict[str, Any] = {}
        for policy in (policy for policy in ABLATION_POLICIES if policy in self._policies):
            instead = sum_of(await self._caches.replay(changed(calls, ablation.apply), policy))
            if ablation.baseline is None:
                baseline = self.result["sessions"][ablation.session][policy]["rate"]
            else:
                baseline = sum_of(await self._caches.replay(changed(calls, ablation.baseline), policy)).rate
            rows[policy] = {"rate": instead.rate, "baseline": baseline, "session": ablation.session}
        self.result["ablations"][ablation.name] = rows

    def finish(self) -> None:
        show_ablations(self._screen, self.result["ablations"], {each.name: each.words for each in ABLATIONS})
        aims = aims_of(self.result)
        show_aims(self._screen, aims)
        self.result["aims_met"] = {name: met for name, _, _, met in aims}

    def _add_rates_of_kinds(self, name: str, replayed: Sequence[Replayed]) -> None:
        if name == "long20":
            self.result["segments"][name] = segments(replayed)
            self.result["skill_call_rate"] = sum_of(replayed, skill_calls).rate
        if name == "long100":
            is_compaction = ModelCallKind.COMPACTION.__eq__
            self.result["compaction_call_rate"] = sum_of(replayed, lambda call: is_compaction(call.kind)).rate

    def _tell_breaks(self, replayed: Sequence[Replayed], texts: Sequence[Texts], policy: str) -> None:
        for call, what in unexplained(replayed, texts, policy)[:_SHOWN_BREAKS]:
            place = f"session {call.session}, turn {call.turn}, a {call.kind.value} call"
            self._screen.line(f"  {policy}: {place}: {what}", "red")


def _shadow_figures(replayed: Sequence[Replayed]) -> dict[str, Any]:
    total = sum_of(replayed)
    main = sum_of(replayed, lambda call: call.on_main_prefix)
    return {
        "rate": total.rate,
        "main_rate": main.rate,
        "prompt": total.prompt,
        "cached": total.cached,
        "calls": total.calls,
        "unknown_calls": total.unknown,
    }


async def measure(options: argparse.Namespace) -> dict[str, Any]:
    scale = float(os.environ.get("SCALE", "1"))
    shadow = _shadow()
    recordings: dict[str, Recording] = {}
    async with recording() as recorder, running_system(DIRECTORY, recorder.url) as system:
        recorder.target = f"{system.offline_model_url}/v1"
        caches = SimulatedCaches(system.offline_model_url)
        bench = Bench(caches, shadow, options.policies, scale)
        for scenario in SCENARIOS:
            if scenario.name in options.sessions:
                began_at = time.perf_counter()
                recordings[scenario.name] = played = await play(system, recorder, scenario)
                _say(f"{scenario.name}: {len(played.calls)} calls in {time.perf_counter() - began_at:.0f} s")
                await bench.add_session(played)
        for ablation in ABLATIONS:
            if ablation.session in recordings and not options.no_ablations:
                await bench.add_ablation(ablation, scaled(recordings[ablation.session].calls, scale))
        caches.close()
    if shadow is not None:
        await shadow.close()
    bench.finish()
    bench.result["scale"] = scale
    bench.result["against"] = f"Python {platform.python_version()}, {os.cpu_count()} cores, simulated caches"
    return bench.result


def _shadow() -> SecondEngine | None:
    url = os.environ.get("MODEL_SHADOW_URL")
    if not url:
        return None
    return SecondEngine(url, os.environ.get("MODEL_SHADOW_KEY", "none"), os.environ.get("MODEL_SHADOW_MODEL"))


def _say(text: str) -> None:
    print(text, flush=True)


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
