"""Ingesting what the curator proposes: everything in one transaction under the user's row lock."""

from collections.abc import Sequence

from common.memory_api.curation import Ingest, Ingested
from common.memory_api.dispatch import WorkKind, WorkState
from common.memory_api.facts import MAX_NEW_FACTS, FactAction, FactOutcome, FactSource, ProposedFact
from common.problems import ProblemCode, ProblemError
from memory.curation.claim import GENERATION_CHANGED
from memory.curation.outcomes import read_outcomes, store_outcomes
from memory.database.transactions import UserTransaction
from memory.dispatch.records import close, lock_work, must_hold_lease
from memory.facts.candidates import take_candidate
from memory.facts.evidence import supported
from memory.facts.gate import ValidFact
from memory.facts.rows import MemoryFactRow, Writer, add_evidence, read_rows
from memory.facts.similarity import same_fact
from memory.facts.tombstones import buried
from memory.facts.writing import outcome, through_gate, write_fact
from memory.turns.model_calls import store_model_call
from memory.turns.rows import find_turn, user_text
from memory.users import lock_user


async def ingest(tx: UserTransaction, request: Ingest) -> Ingested | ProblemError:
    counters = await lock_user(tx)
    turn = await find_turn(tx, request.turn_id)
    record = await lock_work(tx, WorkKind.CURATE_TURN, request.turn_id, request.run)
    if record.error_code == GENERATION_CHANGED:
        return ProblemError(ProblemCode.GENERATION_CHANGED)
    if record.state == WorkState.DONE and record.lease_token == request.lease_token:
        return Ingested(outcomes=await read_outcomes(tx, request.turn_id, request.run))
    must_hold_lease(record, request.lease_token)
    if request.model_call is not None:
        await store_model_call(tx, turn, request.model_call, request.run)
    if counters.purge_generation != turn.purge_generation:
        # The user has cleared their memory while the model was thinking: the whole batch is dropped.
        await close(tx, record, WorkState.DONE, GENERATION_CHANGED)
        return ProblemError(ProblemCode.GENERATION_CHANGED)
    writer = Writer(FactSource.CURATOR, turn.seq, request.run, turn.session_id, turn.turn_id)
    outcomes = await _take_all(tx, request.proposed, writer, user_text(tx, turn))
    await store_outcomes(tx, request.turn_id, request.run, outcomes)
    await close(tx, record)
    for each in outcomes:
        tx.measured.fact_proposed(FactSource.CURATOR, each)
    if request.run == 0 and turn.finished_at is not None:
        tx.measured.turn_curated(turn.finished_at, tx.now)
    return Ingested(outcomes=outcomes)


async def _take_all(
    tx: UserTransaction, proposed: Sequence[ProposedFact], writer: Writer, words: str
) -> list[FactOutcome]:
    if not tx.policy.memory_enabled:
        return []
    return [await _take(tx, each, writer, words) for each in proposed[:MAX_NEW_FACTS]]


async def _take(tx: UserTransaction, proposed: ProposedFact, writer: Writer, words: str) -> FactOutcome:
    """One candidate: the gate, the user's newer word, evidence, a repetition under another key, the table."""
    fact = through_gate(tx, proposed)
    if isinstance(fact, FactOutcome):
        return fact
    if not supported(fact.value, proposed.evidence, words):
        return await take_candidate(tx, fact, writer)
    if await buried(tx, fact.key, fact.value, writer.seq):
        return outcome(fact, FactAction.DELETED_BY_USER)
    known = await read_rows(tx)
    twin = _said_under_another_key(fact, known)
    if twin is not None and writer.turn_id is not None and writer.session_id is not None:
        await add_evidence(tx, twin.fact_id, writer.turn_id, writer.session_id, writer.source)
        return outcome(fact, FactAction.DUPLICATE)
    return await write_fact(tx, fact, writer)


def _said_under_another_key(fact: ValidFact, known: Sequence[MemoryFactRow]) -> MemoryFactRow | None:
    if any(row.fact_key == fact.key for row in known):
        return None
    return next((row for row in known if same_fact(row.value, fact.value)), None)
