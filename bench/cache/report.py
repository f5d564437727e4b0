"""The figures as tables for people; the JSON is for machines."""

from collections.abc import Mapping, Sequence
from typing import Any

from bench.cache.figures import Aim

from devstack.terminal.screen import Screen

_COLUMNS = ("policy", "rate", "main", "ceiling", "of it", "prompt", "cached", "calls", "turns", "breaks", "bad", "cost")


def show_session(screen: Screen, name: str, words: str, by_policy: Mapping[str, Mapping[str, Any]]) -> None:
    rows = [
        (
            policy,
            _share(row["rate"]),
            _share(row["main_rate"]),
            _share(row.get("ceiling")),
            _share(row.get("of_ceiling")),
            f"{row['prompt']:,}",
            f"{row['cached']:,}",
            row["calls"],
            row.get("turns", ""),
            row.get("breaks", ""),
            row.get("unexplained_breaks", ""),
            _share(row.get("cost_ratio")),
        )
        for policy, row in by_policy.items()
    ]
    screen.table(f"{name}: {words}", _COLUMNS, rows)


def show_ablations(screen: Screen, ablations: Mapping[str, Mapping[str, Any]], words: Mapping[str, str]) -> None:
    rows = [
        (words[name], policy, row["session"], _share(row["baseline"]), _share(row["rate"]))
        for name, by_policy in ablations.items()
        for policy, row in by_policy.items()
    ]
    screen.table("if the design had decided otherwise", ("instead", "policy", "session", "as it is", "so"), rows)


def show_aims(screen: Screen, aims: Sequence[Aim]) -> None:
    rows = [(aim.figure, aim.value, aim.aim, "✓" if aim.met else "✗") for aim in aims]
    screen.table("aims", ("", "is", "aim", ""), rows)


def _share(rate: float | None) -> str:
    return "" if rate is None else f"{rate:.2%}"
