"""Storing steps and finishing a turn, both under the lease."""

from sqlalchemy import ARRAY, Uuid, and_, any_, bindparam, select, update
from sqlalchemy.dialects.postgresql import insert

from common.memory_api.dispatch import WorkKind, WorkState
from common.memory_api.turns import AppendStep, FinishTurn, Head, MemoryUse, TurnReference
from memory.database.schema import memory_facts, memory_uses, sessions
from memory.database.statements import Statement
from memory.database.transactions import UserTransaction
from memory.dispatch.circuits import note_success
from memory.dispatch.records import close, must_hold_lease
from memory.encryption.cipher import Place
from memory.sessions.log import append
from memory.turns.ending import close_log, record_end
from memory.turns.holding import lock_turn
from memory.turns.model_calls import store_model_call
from memory.turns.rows import reference, seal_json
from memory.user_data.behaviour import add_behaviour
from memory.users import own

_OF_SESSION = and_(own(sessions), sessions.c.session_id == bindparam("session_id"))
_SHOWN = and_(own(memory_facts), memory_facts.c.fact_id == any_(bindparam("shown", type_=ARRAY(Uuid))))

_KEEP_CONSTRAINTS = Statement(update(sessions).where(_OF_SESSION).values(session_constraints=bindparam("sealed")))
_KEEP_RELEASE = Statement(
    update(sessions).where(_OF_SESSION, sessions.c.release.is_(None)).values(release=bindparam("kept"))
)
# Only against being deleted, since a use refers to its fact. Whoever writes several facts locks them in an order of
# their own, so nothing here may wait for them.
_KEEP_SHOWN = Statement(
    select(memory_facts.c.fact_id)
    .where(_SHOWN)
    .order_by(memory_facts.c.fact_id)
    .with_for_update(read=True, key_share=True)
)
_ADD_USE = Statement(
    insert(memory_uses).on_conflict_do_nothing(), ("tenant_id", "user_id", "turn_id", "fact_id", "how", "created_at")
)
# A fact that is being written now is just being said again: its time moves on without this.
_free = select(memory_facts.c.fact_id).where(_SHOWN).with_for_update(skip_locked=True, key_share=True)
_MARK_USED = Statement(
    update(memory_facts)
    .where(own(memory_facts), memory_facts.c.fact_id.in_(_free))
    .values(last_used_at=bindparam("new_last_used_at"))
)


async def append_step(tx: UserTransaction, request: AppendStep) -> Head:
    """Append what a model call or its tools brought, before anything else happens because of it."""
    turn, head, record = await lock_turn(tx, request.turn_id)
    must_hold_lease(record, request.lease_token)
    new_head = await append(
        tx,
        turn.session_id,
        request.turn_id,
        turn.attempt,
        head=head,
        expected_head=request.expected_head,
        entries=request.entries,
    )
    if request.model_call is not None:
        await store_model_call(tx, turn, request.model_call)
    if request.release is not None:
        await _keep_release(tx, turn.session_id, request.release)
    return Head(head=new_head)


async def finish_turn(tx: UserTransaction, request: FinishTurn) -> TurnReference:
    """Complete or fail, in one transaction. Repeating it with the same token changes nothing."""
    turn, head, record = await lock_turn(tx, request.turn_id)
    session_id = turn.session_id
    if record.state != WorkState.LEASED and record.lease_token == request.lease_token:
        return reference(turn)
    must_hold_lease(record, request.lease_token)

    head = await append(
        tx,
        session_id,
        request.turn_id,
        turn.attempt,
        head=head,
        expected_head=request.expected_head,
        entries=request.entries,
    )
    if request.failure is not None:
        await close_log(tx, turn, head, request.reply)
    await _store_uses(tx, request)
    await add_behaviour(tx, request.behaviour, turn_id=request.turn_id, seq=turn.seq)
    if request.session_constraints is not None:
        place = Place("sessions.session_constraints", session_id)
        sealed = seal_json(tx, request.session_constraints, place)
        await tx.connection.execute(_KEEP_CONSTRAINTS, {"session_id": session_id, "sealed": sealed})
    status = await record_end(tx, turn, failure=request.failure, reply=request.reply, items=list(request.items))
    await close(tx, record, error_code=request.failure)
    await note_success(tx, WorkKind.TURN, request.turn_id)  # also where the answer says what failed: a worker gave it
    return reference(turn).model_copy(update={"status": status})


async def _keep_release(tx: UserTransaction, session_id: object, release: str) -> None:
    """A session keeps the release it started with."""
    await tx.connection.execute(_KEEP_RELEASE, {"session_id": session_id, "kept": release})


async def _store_uses(tx: UserTransaction, request: FinishTurn) -> None:
    """Which facts the turn was shown. A fact that its user deleted meanwhile is no longer counted."""
    uses: set[MemoryUse] = set(request.memory_uses)
    if not uses:
        return
    shown = [*{use.fact_id for use in uses}]
    still_there = set((await tx.connection.execute(_KEEP_SHOWN, {"shown": shown})).scalars())
    rows = [
        {"turn_id": request.turn_id, "fact_id": use.fact_id, "how": use.how, "created_at": tx.now}
        for use in sorted(uses, key=lambda use: (str(use.fact_id), use.how))
        if use.fact_id in still_there
    ]
    if rows:
        await tx.connection.execute_many(_ADD_USE, rows)
        await tx.connection.execute(_MARK_USED, {"shown": [*still_there], "new_last_used_at": tx.now})
