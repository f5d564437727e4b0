"""From replayed calls to the figures: pure sums, weighted by tokens. Aims are those of the issue."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.cache.calls import Call
from bench.cache.policies import POLICIES
from bench.cache.replay import Replayed
from bench.cache.texts import Break, Texts

from common.memory_api.turns import ModelCallKind

AIMS = {
    "sessions.long20.block128.rate": 0.96,
    "sessions.long20.exact.rate": 0.95,
    "sessions.short.block128.rate": 0.88,
    "sessions.bad.block128.rate": 0.92,
    "sessions.long100.block128.rate": 0.94,
    "sessions.long20.block128.of_ceiling": 0.99,
    "sessions.short.block128.of_ceiling": 0.99,
    "sessions.bad.block128.of_ceiling": 0.99,
    "sessions.long100.block128.of_ceiling": 0.99,
    "compaction_call_rate": 0.90,
    "skill_call_rate": 0.90,
}

_SKILL_BODY = "<skill_content"

SEGMENTS = {"t1": (1, 1), "t1_5": (1, 5), "t6_20": (6, 20)}


@dataclass(frozen=True)
class Sum:
    """Over calls whose counts are known; `unknown` are the others."""

    calls: int = 0
    prompt: int = 0
    cached: int = 0
    written: int = 0
    unknown: int = 0

    @property
    def rate(self) -> float | None:
        return round(self.cached / self.prompt, 4) if self.prompt else None


def sum_of(replayed: Iterable[Replayed], of: Callable[[Call], bool] = lambda _: True) -> Sum:
    calls = prompt = cached = written = unknown = 0
    for each in replayed:
        if not of(each.call):
            continue
        calls += 1
        if each.usage.prompt_tokens is None or each.usage.cached_tokens is None:
            unknown += 1
            continue
        prompt += each.usage.prompt_tokens
        cached += each.usage.cached_tokens
        written += each.usage.cache_write_tokens or 0
    return Sum(calls, prompt, cached, written, unknown)


def session_figures(replayed: Sequence[Replayed], texts: Sequence[Texts], policy: str) -> dict[str, Any]:
    """What one scenario comes to under one policy."""
    rules = POLICIES[policy]
    total = sum_of(replayed)
    ceiling = sum(each.ceiling(rules) for each in texts)
    cost = rules.cost(total.prompt, total.cached, total.written) / total.prompt
    return {
        "rate": total.rate,
        "main_rate": sum_of(replayed, lambda call: call.on_main_prefix).rate,
        "ceiling": round(ceiling / total.prompt, 4),
        "of_ceiling": round(total.cached / ceiling, 4) if ceiling else None,
        "prompt": total.prompt,
        "cached": total.cached,
        "calls": total.calls,
        "turns": len({(each.call.session, each.call.turn) for each in replayed}),
        "breaks": sum(each.broken_by is not None for each in texts),
        "unexplained_breaks": len(unexplained(replayed, texts, policy)),
        "cost_ratio": round(cost, 4),
    }


def unexplained(replayed: Sequence[Replayed], texts: Sequence[Texts], policy: str) -> list[tuple[Call, str]]:
    """Every call that did not begin with the one before it although nothing was pruned or summarised, and every one
    that got less than the cache owes for what its texts share with an earlier request; with what is wrong."""
    rules = POLICIES[policy]
    found: list[tuple[Call, str]] = []
    for each, text in zip(replayed, texts, strict=True):
        cached, owed = each.usage.cached_tokens or 0, text.owed(rules)
        if each.usage.prompt_tokens != text.total:
            found.append((each.call, f"{each.usage.prompt_tokens} tokens were reported, {text.total} counted"))
        elif text.broken_by is Break.UNEXPLAINED:
            found.append((each.call, "it does not begin with the request before it"))
        elif cached < owed:
            found.append((each.call, f"{cached} tokens were cached, {owed} are owed"))
    return found


def segments(replayed: Sequence[Replayed]) -> dict[str, float | None]:
    return {
        name: sum_of(replayed, lambda call, first=first, last=last: first <= call.turn <= last).rate  # type: ignore[misc]
        for name, (first, last) in SEGMENTS.items()
    }


def skill_calls(call: Call) -> bool:
    """Whether the newest message is the body of a skill that the model has just asked for."""
    return call.kind is ModelCallKind.MAIN and _SKILL_BODY in call.messages[-1] and '"role":"tool"' in call.messages[-1]


@dataclass(frozen=True)
class Aim:
    figure: str
    value: float
    aim: str
    met: bool


def aims_of(result: Mapping[str, Any]) -> list[Aim]:
    """Each aim whose figure was measured."""
    found: list[Aim] = []
    for path, least in AIMS.items():
        value: Any = result
        for name in path.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
        if value is not None:
            found.append(Aim(path, value, f"≥ {least}", value >= least))
    for name, figures in result["sessions"].items():
        breaks = sum(row.get("unexplained_breaks", 0) for row in figures.values())
        found.append(Aim(f"sessions.{name}.*.unexplained_breaks", breaks, "0", breaks == 0))
    return found
