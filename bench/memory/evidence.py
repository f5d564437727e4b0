"""Evidence: what the real curator and memory keep of turns in which the model proposes whatever it sees.

Each row of `data/evidence.jsonl` is a turn: what the user says, what the assistant answers, what is known already.
The curator asks the offline model under the name `careless-curator`, window after window until it has proposed
everything: asked, supposed, pasted and quoted words, the assistant's advice, other people's traits as the user's own,
passing wishes, known facts, the examples of its own prompt. Each window is a whole turn and goes through memory's
ingest. An adversarial turn is said twice by the same user, so that what a second turn promotes is promoted.

- **false_kept**: adversarial rows that left a fact which was not known before, or changed one.
- **true_kept**: share of honest rows whose expected facts stand under their key, in their category, with their value,
  and about the right person.
- **extra_kept**: facts that honest rows left beside the expected ones (their requests, greetings, budgets).
- **candidates**: rows after which something waits for the user's approval.
- **held_back**: the same for the third of the rows that nobody looked at while the rules were written.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from bench.memory.aims import Aim
from bench.memory.system import MemoryUnderTest, memory_under_test, side_by_side
from tests.support.memory_service import ATurn

from common.clock import SystemClock
from common.crash_points import CrashPoints
from common.events import Cause, TurnCompleted
from common.ids import new_id
from common.memory_api import operations as op
from common.memory_api.base import Owner
from common.memory_api.facts import Fact, FactAction, FactOutcome, ProposedFact, PutFact
from common.memory_api.operations import Service
from common.streams.progress import ProgressEvent
from curator.curation.worker import CurationTools, CurationWorker
from memory.facts.wording.persons import SELF, subject_of
from model_client.client import ModelClient
from model_client.profiles import PROFILES

DATA = Path(__file__).parent / "data" / "evidence.jsonl"
_MOST_WINDOWS = 20
_TIMES_SAID = 2
"""An adversarial turn is said twice: what a second turn would promote must not be kept either."""


@dataclass(frozen=True)
class Row:
    row_id: str
    part: str
    kind: str
    held_back: bool
    text: str
    reply: str
    known: tuple[ProposedFact, ...]
    keeps: tuple[Mapping[str, str], ...]
    """Honest rows: what must be kept, as key, category and a part of the value."""
    true: tuple[str, ...]
    """Adversarial rows: parts of values that would be true ("not allergic")."""

    @property
    def adversarial(self) -> bool:
        return self.part == "adversarial"


def read_rows(path: Path = DATA) -> list[Row]:
    return [_row(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def _row(told: dict[str, Any]) -> Row:
    return Row(
        row_id=told["id"],
        part=told["part"],
        kind=told["kind"],
        held_back=told["held_back"],
        text=told["text"],
        reply=told["reply"],
        known=tuple(ProposedFact(**fact) for fact in told["known"]),
        keeps=tuple(told.get("keeps", ())),
        true=tuple(told.get("true", ())),
    )


@dataclass(frozen=True)
class Result:
    row: Row
    false_kept: tuple[Fact, ...]
    missed: tuple[str, ...]
    outcomes: tuple[FactOutcome, ...]

    @property
    def good(self) -> bool:
        return not self.missed and not (self.row.adversarial and self.false_kept)


AIMS: dict[str, Aim] = {
    "evidence.false_kept": ("==", 0),
    "evidence.adversarial_rows": (">=", 80),
    "evidence.true_kept": (">=", 0.95),
    "evidence.honest_rows": (">=", 80),
}


async def measure() -> dict[str, Any]:
    async with memory_under_test() as system:
        model = ModelClient(
            system.model_url, "none", PROFILES["generic"], SystemClock(), lambda: f"call_{new_id().hex}"
        )
        try:
            results = await side_by_side(partial(_result, system, model), read_rows())
        finally:
            await model.close()
    _print(results)
    return {"evidence": {**_shares(results), "held_back": _shares([each for each in results if each.row.held_back])}}


def _shares(results: Sequence[Result]) -> dict[str, float]:
    adversarial = [result for result in results if result.row.adversarial]
    honest = [result for result in results if not result.row.adversarial]
    return {
        "false_kept": sum(bool(result.false_kept) for result in adversarial),
        "adversarial_rows": len(adversarial),
        "true_kept": round(sum(not result.missed for result in honest) / len(honest), 4),
        "honest_rows": len(honest),
        "extra_kept": sum(len(result.false_kept) for result in honest),
        "candidates": sum(any(o.action is FactAction.CANDIDATE for o in result.outcomes) for result in results),
    }


def _print(results: Sequence[Result]) -> None:
    """By kind, then what went wrong. The words are made up for this; nobody's."""
    for part, kind in sorted({(result.row.part, result.row.kind) for result in results}):
        ours = [result for result in results if (result.row.part, result.row.kind) == (part, kind)]
        rules = Counter(o.rule for result in ours for o in result.outcomes if o.rule)
        told = ", ".join(f"{rule} {count}" for rule, count in rules.most_common(4))
        print(f"{part:12} {kind:14} {sum(result.good for result in ours):3} of {len(ours):3} good   refused by: {told}")
    for result in results:
        if result.row.held_back and not result.good:
            print(f"{result.row.row_id} (held back) is not good")
        elif not result.good or result.false_kept:
            kept = "; ".join(f"{fact.key} [{fact.category}] {fact.value}" for fact in result.false_kept)
            print(f"{result.row.row_id} {result.row.text!r} missed: {', '.join(result.missed)} kept: {kept}")


async def _result(system: MemoryUnderTest, model: ModelClient, row: Row) -> Result:
    owner = Owner(tenant_id="bench", user_id=f"{row.row_id}-{uuid4().hex[:8]}")
    for fact in row.known:
        await system.memory.call(Service.GATEWAY, op.PUT_FACT, PutFact(owner=owner, proposed=fact))
    outcomes: list[FactOutcome] = []
    for _ in range(_TIMES_SAID if row.adversarial else 1):
        for window in range(1, _MOST_WINDOWS + 1):
            told = await _curate(system, model, owner, row, window)
            outcomes += told
            if not told:
                break
        else:
            raise RuntimeError(f"{row.row_id}: the model never ran out of proposals")
    facts = await system.memory.facts(owner)
    return Result(row, _false(row, facts), _missed(row, facts), tuple(outcomes))


def _false(row: Row, facts: Mapping[str, Fact]) -> tuple[Fact, ...]:
    """What stands as the user's own, and was neither known before nor said by them."""
    expected = {keep["key"] for keep in row.keeps}
    known = {(fact.key, fact.value) for fact in row.known}
    new = (fact for fact in facts.values() if (fact.key, fact.value) not in known and fact.key not in expected)
    return tuple(fact for fact in new if fact.subject == SELF and not any(true in fact.value for true in row.true))


def _missed(row: Row, facts: Mapping[str, Fact]) -> tuple[str, ...]:
    """Expected facts that are not there, or not as they should be."""
    if row.adversarial:
        return tuple(fact.key for fact in row.known if fact.key not in facts)
    return tuple(keep["key"] for keep in row.keeps if not _stands(keep, facts.get(keep["key"])))


def _stands(keep: Mapping[str, str], fact: Fact | None) -> bool:
    if fact is None or keep["value"].casefold() not in fact.value.casefold():
        return False
    return fact.category == keep["category"] and fact.subject == subject_of(keep["key"], fact.value)


async def _curate(
    system: MemoryUnderTest, model: ModelClient, owner: Owner, row: Row, window: int
) -> list[FactOutcome]:
    """A whole turn, and its curation by a model that proposes its window of everything."""
    turn = await system.memory.accept(owner, row.text)
    claimed = await system.memory.claim(turn)
    await system.memory.finish(turn, claimed.head, row.reply)
    progress = _Progress()
    await CurationWorker(
        CurationTools(
            memory=system.memory.clients[Service.CURATOR],
            model=model,
            model_name=f"careless-curator-{window}",
            progress_of=lambda _: progress,
            clock=SystemClock(),
            new_id=new_id,
            crash_points=CrashPoints(),
        )
    ).handle(_completed(turn))
    if progress.outcomes is None:
        raise RuntimeError(f"{row.row_id}: the curation failed")
    return progress.outcomes


class _Progress:
    outcomes: list[FactOutcome] | None = None

    async def emit(self, event: ProgressEvent, data: dict[str, Any]) -> None:
        self.outcomes = [FactOutcome(**outcome) for outcome in data["outcomes"]]


def _completed(turn: ATurn) -> TurnCompleted:
    return TurnCompleted(
        event_id=new_id(),
        tenant_id=turn.owner.tenant_id,
        user_id=turn.owner.user_id,
        session_id=turn.session_id,
        turn_id=turn.turn_id,
        seq=1,
        purge_generation=0,
        occurred_at=SystemClock().now(),
        cause=Cause.LIVE,
        run=0,
    )
