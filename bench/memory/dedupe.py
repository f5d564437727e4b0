"""Dedupe: whether a changed preference ends in its new state, and no contradiction stays in force.

Every pair goes through memory's ingest as two turns of one user: the old state, then the new one.

- **same_key**, **other_key**: the 470 changes of HaluMem (CC BY-NC-ND, read from SHARED_DATA). `after_state` is the
  share of which the new value is in force and nothing in force contradicts it: the old value under the same key, or
  the opposite attitude to the same thing under another. `old_beside` counts old values that stay beside a new one
  without contradicting it: "likes coffee" and "likes coffee with milk".
- **contradictions**: `data/contradictions.jsonl`, pairs that differ in a negation, number, unit, antonym or person.
  A row is lost where the new value is not in force afterwards; once under the same key, once under another.
  `left_active` counts old values in force beside what contradicts them; where persons differ, both must stay.
- **unrelated**: pairs of one HaluMem user's likings on different subjects. `taken` is the share that the rules take for
  the same or for a contradiction, and by which a fact would be lost.
- **zh_precision**: of the Chinese sentence pairs that `same_fact` takes for the same, the share that are (baseline:
  the bare measure of character bigrams, 0.76).
"""

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any
from uuid import uuid4

from bench.memory.aims import Aim
from bench.memory.shared_data import json_lines
from bench.memory.system import memory_under_test, side_by_side
from tests.support.memory_service import MemoryService

from common.memory_api.base import Owner
from common.memory_api.facts import ProposedFact
from common.text import normalise
from memory.facts.similarity import contradicts, same_fact

CONTRADICTIONS = Path(__file__).parent / "data" / "contradictions.jsonl"

AIMS: dict[str, Aim] = {
    "dedupe.same_key.after_state": (">=", 0.99),
    "dedupe.same_key.left_active": ("==", 0),
    "dedupe.other_key.left_active": ("==", 0),
    "dedupe.contradictions_lost": ("==", 0),
    "dedupe.contradictions_left_active": ("==", 0),
    "dedupe.contradiction_rows": (">=", 200),
    "dedupe.unrelated.taken": ("<=", 0.001),
    "dedupe.zh_precision": (">=", 0.76),
}


@dataclass(frozen=True)
class Change:
    """One user's two statements about the same thing."""

    kind: str
    old: str
    new: str
    same_key: str
    other_key: str
    both_hold: bool = False
    """The two are about different persons."""


@dataclass(frozen=True)
class After:
    """What is in force when both turns are curated."""

    new: bool
    old: bool


async def measure() -> dict[str, Any]:
    changes, contradictions = list(halumem_changes()), list(contradiction_rows())
    async with memory_under_test() as system:
        after = partial(_after, system.memory)
        same = await side_by_side(after, [(change, change.same_key) for change in changes])
        other = await side_by_side(after, [(change, change.other_key) for change in changes])
        cases = [(row, key) for row in contradictions for key in (row.same_key, row.other_key)]
        ended = await side_by_side(after, cases)
    written = [(row, end) for (row, _), end in zip(cases, ended, strict=True)]
    lost = [row for row, after in written if not after.new or (row.both_hold and not after.old)]
    left = [row for row, after in written if after.old and not row.both_hold]
    _print(written, lost, left)
    return {
        "dedupe": {
            "same_key": _shares(changes, same),
            "other_key": _shares(changes, other),
            "contradictions_lost": len(lost),
            "contradictions_left_active": len(left),
            "contradiction_rows": len(contradictions),
            "unrelated": _unrelated(),
            **_precision(),
        }
    }


def halumem_changes() -> Iterable[Change]:
    for user in json_lines("halumem_preference_events.jsonl"):
        for event in user["event_list"]:
            if event["update_direction"] == "Modify":
                topic = re.sub(r"\W+", "_", event["type_to_update"].lower()).removesuffix("_preference")
                yield Change(
                    "modify",
                    _value(event["before_preference"]["memory_points"][0]),
                    _value(event["after_preference"]["memory_points"][0]),
                    f"{topic}_preference",
                    f"{topic}_taste",
                )


def _value(point: dict[str, str]) -> str:
    item = re.sub(r"^(?:likes|dislikes|enjoys|loves)\s+", "", point["specific_item"], flags=re.IGNORECASE)
    return f"{point['type']}s {item}"


def contradiction_rows() -> Iterable[Change]:
    for line in CONTRADICTIONS.read_text(encoding="utf-8").splitlines():
        yield Change(**json.loads(line))


async def _after(memory: MemoryService, case: tuple[Change, str]) -> After:
    """What is in force after the old state under its own key, and the new one under the case's."""
    change, new_key = case
    owner = Owner(tenant_id="bench", user_id=f"dedupe-{uuid4().hex}")
    for key, value in ((change.same_key, change.old), (new_key, change.new)):
        turn = await memory.complete(owner, _told(value))
        await memory.curate(turn, ProposedFact(key=key, value=value, category="preference", evidence=value))
    values = {fact.value for fact in (await memory.facts(owner)).values()}
    return After(new=change.new in values, old=change.old in values and change.old != change.new)


def _told(value: str) -> str:
    return f"Remember this about me, I {value}" if value.isascii() else f"请记住我{value}"


def opposed(change: Change) -> bool:
    """Whether old and new are for and against the same thing, by the labels of the data and not by the rules."""
    (old_type, old_item), (new_type, new_item) = (normalise(value).split(" ", 1) for value in (change.old, change.new))
    return old_type != new_type and old_item == new_item


def _shares(changes: list[Change], afters: list[After]) -> dict[str, Any]:
    contradicting = [after.old and opposed(change) for change, after in zip(changes, afters, strict=True)]
    good = [after.new and not left for after, left in zip(afters, contradicting, strict=True)]
    return {
        "after_state": round(sum(good) / len(good), 4),
        "left_active": sum(contradicting),
        "old_beside": sum(after.old for after in afters) - sum(contradicting),
        "rows": len(changes),
    }


def _unrelated() -> dict[str, float]:
    pairs = taken = 0
    for user in json_lines("halumem_preference_events.jsonl"):
        told = {
            (event["type_to_update"], _value(event["before_preference"]["memory_points"][0]))
            for event in user["event_list"]
        }
        for (topic, value), (other_topic, other) in combinations(sorted(told), 2):
            if topic != other_topic:
                pairs += 1
                taken += same_fact(value, other) or contradicts(value, other)
    return {"pairs": pairs, "taken": round(taken / pairs, 4)}


def _precision() -> dict[str, Any]:
    pairs = json_lines("zh_pairs.jsonl")
    taken = [pair["label"] for pair in pairs if same_fact(pair["a"], pair["b"])]
    return {
        "zh_precision": round(sum(taken) / len(taken), 4),
        "zh_recall": round(sum(taken) / sum(pair["label"] for pair in pairs), 4),
    }


def _print(written: list[tuple[Change, After]], lost: list[Change], left: list[Change]) -> None:
    for kind, count in sorted(Counter(row.kind for row, _ in written).items()):
        ours = [sum(row.kind == kind for row in rows) for rows in (lost, left)]
        print(f"{kind:10} {count:4} ingested twice over   {ours[0]:3} lost   {ours[1]:3} contradicted and in force")
    for name, rows in (("lost", lost), ("in force", left)):
        for row in rows:
            print(f"{name}: {row.kind} {row.old!r} -> {row.new!r}")
