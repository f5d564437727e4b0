"""One turn of a replay: what its run adds, changes and no longer supports, counted; in a dry run rolled back.

The run itself is the ingest of a live curation: the same gate, evidence, tombstones, order and dedupe, in the same
transaction. Nothing here decides what is kept.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import bindparam, update

from common.memory_api.dispatch import WorkKind, WorkState
from common.memory_api.facts import FactAction, FactOutcome, FactSource, ProposedFact
from common.memory_api.replay import ReplayCounts
from memory.database.schema import dispatch, replay_turns
from memory.database.statements import Statement
from memory.database.transactions import UserTransaction
from memory.facts.rows import MemoryFactRow, read_rows
from memory.facts.similarity import same_fact
from memory.replay.jobs import COUNTS
from memory.users import own

REPLAYED = "replayed"
"""Error code of a dead curation that a replay has made good."""

_NAMES = {
    FactAction.ADDED: "added",
    FactAction.UPDATED: "changed",
    FactAction.CANDIDATE: "candidates",
    FactAction.REFUSED: "refused",
}
"""What changes nothing, for whatever reason, is skipped."""

_STORE = Statement(
    update(replay_turns)
    .where(
        own(replay_turns), replay_turns.c.turn_id == bindparam("of_turn_id"), replay_turns.c.run == bindparam("of_run")
    )
    .values({name: bindparam(f"new_{name}") for name in COUNTS})
)
_MAKE_GOOD = Statement(
    update(dispatch)
    .where(
        own(dispatch),
        dispatch.c.kind == WorkKind.CURATE_TURN,
        dispatch.c.subject_id == bindparam("turn_id"),
        dispatch.c.run < bindparam("before_run"),
        dispatch.c.state == WorkState.DEAD,
    )
    .values(state=WorkState.DONE, error_code=REPLAYED)
)


@dataclass(frozen=True)
class ReplayedRun:
    turn_id: UUID
    seq: int
    run: int
    dry_run: bool


async def replay_turn(
    tx: UserTransaction,
    replayed: ReplayedRun,
    proposed: Sequence[ProposedFact],
    take: Callable[[], Awaitable[list[FactOutcome]]],
) -> list[FactOutcome]:
    """Let `take` do its work and store the counts. A dry run has no outcomes: nothing has come of it."""
    before = [row for row in await read_rows(tx) if _was_written_by(row, replayed)]
    async with tx.connection.undone() if replayed.dry_run else nullcontext():
        outcomes = await take()
        after = {row.fact_id: row for row in await read_rows(tx)}
    unsupported = [row for row in before if not _supports(after.get(row.fact_id), replayed, proposed, outcomes)]
    counts = counts_of(outcomes, removed=len(unsupported))
    wanted = {"of_turn_id": replayed.turn_id, "of_run": replayed.run}
    await tx.connection.execute(_STORE, {**wanted, **{f"new_{name}": getattr(counts, name) for name in COUNTS}})
    if replayed.dry_run:
        return []
    await tx.connection.execute(_MAKE_GOOD, {"turn_id": replayed.turn_id, "before_run": replayed.run})
    return outcomes


def counts_of(outcomes: Sequence[FactOutcome], *, removed: int) -> ReplayCounts:
    names = [_NAMES.get(outcome.action, "skipped") for outcome in outcomes]
    return ReplayCounts(removed=removed, **{name: names.count(name) for name in set(names)})


def _was_written_by(row: MemoryFactRow, replayed: ReplayedRun) -> bool:
    """Whether the turn's curation, in an earlier run, wrote it, and no later turn has supported it since."""
    stored = row.row
    by_curation = stored.turn_id == replayed.turn_id and stored.source == FactSource.CURATOR
    return bool(by_curation and row.order.seq == replayed.seq)


def _supports(
    row: MemoryFactRow | None,
    replayed: ReplayedRun,
    proposed: Sequence[ProposedFact],
    outcomes: Sequence[FactOutcome],
) -> bool:
    """Whether the run wrote the fact, said it again, or said it under another key."""
    if row is None or row.order.run == replayed.run:
        return True
    if any(each.key == row.fact_key and each.action is FactAction.SUPPORTED for each in outcomes):
        return True
    said = [fact.value for fact, each in zip(proposed, outcomes, strict=False) if each.action is FactAction.DUPLICATE]
    return any(same_fact(row.value, value) for value in said)
