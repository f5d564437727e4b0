"""Ingesting what the curator proposes: everything in one transaction under the user's row lock."""

from collections.abc import Sequence

from common.memory_api.curation import Ingest, Ingested
from common.memory_api.dispatch import WorkKind, WorkState
from common.memory_api.facts import MAX_NEW_FACTS, FactOutcome, FactSource, ProposedFact
from common.problems import ProblemCode, ProblemError
from memory.curation.claim import GENERATION_CHANGED
from memory.curation.holding import lock_curation
from memory.curation.outcomes import read_outcomes, store_outcomes
from memory.database.transactions import UserTransaction
from memory.dispatch.circuits import note_success
from memory.dispatch.records import close, must_hold_lease
from memory.facts.evidence.user_words import UserWords
from memory.facts.proposals import take_proposals, through_door
from memory.facts.rows import Writer
from memory.replay.comparison import ReplayedRun, replay_turn
from memory.turns.model_calls import store_model_call
from memory.turns.rows import user_text


async def ingest(tx: UserTransaction, request: Ingest) -> Ingested | ProblemError:
    held = await lock_curation(tx, request.turn_id, request.run)
    turn, record = held.turn, held.record
    if held.error_code == GENERATION_CHANGED:
        return ProblemError(ProblemCode.GENERATION_CHANGED)
    if record.state == WorkState.DONE and record.lease_token == request.lease_token:
        return Ingested(outcomes=await read_outcomes(tx, request.turn_id, request.run))
    must_hold_lease(record, request.lease_token)
    for call in filter(None, [*request.earlier_calls, request.model_call]):
        await store_model_call(tx, turn, call, request.run)
    if held.purge_generation != turn.purge_generation:
        # The user has cleared their memory while the model was thinking: the whole batch is dropped.
        await close(tx, record, WorkState.DONE, GENERATION_CHANGED)
        return ProblemError(ProblemCode.GENERATION_CHANGED)
    writer = Writer(FactSource.CURATOR, turn.seq, request.run, turn.session_id, turn.turn_id)
    words = UserWords(user_text(tx, turn))
    if request.run > 0:
        run = ReplayedRun(turn.turn_id, turn.seq, request.run, held.dry_run)
        outcomes = await replay_turn(tx, run, request.proposed, lambda: _take_all(tx, request.proposed, writer, words))
    else:
        outcomes = await _take_all(tx, request.proposed, writer, words)
    await store_outcomes(tx, request.turn_id, request.run, outcomes)
    await close(tx, record)
    await note_success(tx, WorkKind.CURATE_TURN, request.turn_id)
    for each in outcomes:
        tx.measured.fact_proposed(FactSource.CURATOR, each)
    if request.run == 0 and turn.finished_at is not None:
        tx.measured.turn_curated(turn.finished_at, tx.now)
    return Ingested(outcomes=outcomes)


async def _take_all(
    tx: UserTransaction, proposed: Sequence[ProposedFact], writer: Writer, words: UserWords
) -> list[FactOutcome]:
    if not tx.policy.memory_enabled:
        return []
    checked = [through_door(tx, each) for each in proposed[:MAX_NEW_FACTS]]
    return await take_proposals(tx, checked, writer, words)
