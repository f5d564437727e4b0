"""What was right, by skill."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bench.memory.aims import Aim
from bench.skill_triggers.first_step import FirstStep
from bench.skill_triggers.requests import Row

_ENOUGH = 9
"""Of ten."""


@dataclass(frozen=True)
class Judged:
    row: Row
    step: FirstStep

    @property
    def right(self) -> bool:
        if self.step.failure is not None:
            return False
        if self.row.should:
            return self.step.skills == (self.row.skill,) and len(self.step.tools) == 1
        return self.row.skill not in self.step.skills

    @property
    def instead(self) -> str:
        """What the first answer did."""
        done = [*(f"Skill({name})" for name in self.step.skills), *(n for n in self.step.tools if n != "Skill")]
        return self.step.failure or " + ".join(done) or "answered"


def figures(judged: Sequence[Judged]) -> dict[str, Any]:
    names = sorted({each.row.skill for each in judged})
    return {
        "skills": {
            name: {
                kind: _counted(each for each in judged if each.row.skill == name and each.row.should is should)
                for kind, should in (("should", True), ("should_not", False))
            }
            for name in names
        },
        "failed": sum(each.step.failure is not None for each in judged),
        "without_plan": sum(each.step.failure is None and each.step.intent is None for each in judged),
    }


def aims(names: Iterable[str]) -> dict[str, Aim]:
    return {f"skills.{name}.{kind}.right": (">=", _ENOUGH) for name in names for kind in ("should", "should_not")}


def table(judged: Sequence[Judged]) -> str:
    """Hits and false triggers by skill, and below it what was not right."""
    lines = [f"{'skill':<24} {'read when it should':>20} {'left when it should not':>24}  read instead"]
    for name, found in figures(judged)["skills"].items():
        shares = [f"{found[kind]['right']}/{found[kind]['rows']}" for kind in ("should", "should_not")]
        mine = [each for each in judged if each.row.skill == name and each.row.should and not each.right]
        instead = ", ".join(f"{what} ×{times}" for what, times in Counter(each.instead for each in mine).most_common())
        lines.append(f"{name:<24} {shares[0]:>20} {shares[1]:>24}  {instead}")
    wrong = [each for each in judged if not each.right]
    lines += [
        f"  {'missed' if each.row.should else 'false':<6} {each.row.skill}: 「{each.row.words}」 → {each.instead}"
        f" (intent {each.step.intent})"
        for each in wrong
    ]
    return "\n".join(lines)


def _counted(judged: Iterable[Judged]) -> dict[str, int]:
    those = list(judged)
    return {"right": sum(each.right for each in those), "rows": len(those)}
