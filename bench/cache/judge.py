"""Judges recordings: what each simulated cache made of them, and what it would have made of other designs."""

import asyncio
from collections.abc import Sequence
from typing import Any

from bench.cache.ablations import ABLATIONS, Ablation, changed
from bench.cache.calls import Call
from bench.cache.driving import Recording
from bench.cache.figures import aims_of, segments, session_figures, skill_calls, sum_of, unexplained
from bench.cache.policies import REFERENCE
from bench.cache.replay import Replayed, SecondEngine, SimulatedCaches
from bench.cache.report import show_ablations, show_aims, show_session
from bench.cache.scaling import scaled
from bench.cache.texts import Texts, TextsSent
from rich.console import Console

from common.memory_api.turns import ModelCallKind
from devstack.terminal.screen import Screen
from offline_model.tokens import QwenTokens

ABLATION_POLICIES = ("block128", "exact", "marks")
_SHOWN_BREAKS = 5


class Judge:
    """Sends recordings to the caches, one after the other, and keeps the figures."""

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

    async def add(self, recording: Recording, ablations: Sequence[Ablation]) -> None:
        """The scenario under every policy, and what it would be under each ablation that it shows."""
        calls = scaled(recording.calls, self._scale)
        await self._add_session(recording, calls)
        for ablation in ablations:
            if ablation.session == recording.scenario.name:
                await self._add_ablation(ablation, calls)

    async def _add_session(self, recording: Recording, calls: Sequence[Call]) -> None:
        name = recording.scenario.name
        # In a thread: meanwhile the next scenario is played, and the recorder lives in this process.
        texts = await asyncio.to_thread(TextsSent(self._tokens).of_all, calls)
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

    async def _add_ablation(self, ablation: Ablation, calls: Sequence[Call]) -> None:
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
        self.result["aims_met"] = {aim.figure: aim.met for aim in aims}

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
