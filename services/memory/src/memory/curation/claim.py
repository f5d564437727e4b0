"""Claiming a curation, and giving it back when it failed."""

from common.memory_api.base import Done
from common.memory_api.curation import ClaimCuration, CurationInput, FailCuration
from common.memory_api.dispatch import WorkKind, WorkState
from common.problems import ProblemCode, ProblemError
from memory.database.transactions import UserTransaction
from memory.dispatch.records import close, hand_back, lock_work, must_hold_lease, take_lease
from memory.facts.rows import read_facts
from memory.facts.writing import MEMORY_DISABLED
from memory.turns.model_calls import store_model_call
from memory.turns.rows import find_turn, reply, user_text
from memory.users import purge_generation

GENERATION_CHANGED = "generation-changed"


async def claim_curation(tx: UserTransaction, request: ClaimCuration) -> CurationInput | ProblemError:
    """The curator's input. The generation is read before the facts, and compared again at the end (S0 Q11)."""
    turn = await find_turn(tx, request.turn_id)
    record = await lock_work(tx, WorkKind.CURATE_TURN, request.turn_id, request.run)
    if record.state in (WorkState.PENDING, WorkState.LEASED) and turn.purge_generation != await purge_generation(tx):
        await close(tx, record, WorkState.DONE, GENERATION_CHANGED)
        return ProblemError(ProblemCode.GENERATION_CHANGED)
    if record.state in (WorkState.PENDING, WorkState.LEASED) and not tx.policy.memory_enabled:
        await close(tx, record, WorkState.DONE, MEMORY_DISABLED)
        return ProblemError(ProblemCode.ALREADY_DONE)
    fresh = await take_lease(tx, record, request.lease_token)
    return CurationInput(
        turn_id=turn.turn_id,
        session_id=turn.session_id,
        seq=turn.seq,
        purge_generation=turn.purge_generation,
        attempt=record.attempts + 1 if fresh else record.attempts,
        lease_seconds=tx.policy.lease.total_seconds(),
        user_text=user_text(tx, turn),
        reply=reply(tx, turn) or "",
        facts=await read_facts(tx),
    )


async def fail_curation(tx: UserTransaction, request: FailCuration) -> Done:
    record = await lock_work(tx, WorkKind.CURATE_TURN, request.turn_id, request.run)
    must_hold_lease(record, request.lease_token)
    turn = await find_turn(tx, request.turn_id)
    for call in request.model_calls:
        await store_model_call(tx, turn, call, request.run)
    # Also where no attempt is spent there is a pause: a dependency that is down needs time.
    await hand_back(
        tx,
        record,
        spend_attempt=request.spend_attempt,
        error_code=request.error_code,
        pause=tx.policy.spread(
            max(tx.policy.backoff, tx.policy.longest_pause_after(record.attempts)), tx.policy.jitter()
        ),
    )
    return Done()
