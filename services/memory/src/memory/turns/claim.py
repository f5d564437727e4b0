"""Claiming a turn: a lease, and in one round trip everything the turn needs except the facts."""

import json
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Text, bindparam, func, select

from common.memory_api.base import Done
from common.memory_api.dispatch import WorkKind
from common.memory_api.turns import (
    ClaimedTurn,
    ClaimTurn,
    Lease,
    ModelCallKind,
    PreviousCall,
    ReleaseTurn,
    RenewLease,
    TurnStatus,
)
from common.problems import ProblemCode, ProblemError
from memory.database.connection import Row
from memory.database.schema import model_calls, sessions
from memory.database.statements import Statement
from memory.database.transactions import UserTransaction
from memory.dispatch.records import hand_back, lock_work, must_hold_lease, renew, take_lease
from memory.encryption.cipher import Place
from memory.orders.listing import newest_orders
from memory.sessions.log import read_log
from memory.skills.personal_skills import STORED_CATALOGUE, open_catalogue
from memory.turns.rows import TurnRow, change_turn, find_turn, user_text
from memory.user_data.behaviour import recent_behaviour
from memory.user_data.favourites import FAVOURITES_IN_ORDER
from memory.user_data.settings import STORED_SETTINGS, open_settings
from memory.users import own

# What tells the next request of the session how long the last one was, and what it shared.
_PREVIOUS_CALL = (
    select(
        func.jsonb_build_object(
            "prompt_tokens",
            model_calls.c.prompt_tokens,
            "log_position",
            model_calls.c.log_position,
            "layer_hashes",
            func.jsonb_strip_nulls(
                func.jsonb_build_object("L0", model_calls.c.layer_hashes["L0"], "L1", model_calls.c.layer_hashes["L1"])
            ),
        ).cast(Text)
    )
    .where(
        own(model_calls),
        model_calls.c.session_id == bindparam("session_id"),
        model_calls.c.kind == ModelCallKind.MAIN,
        model_calls.c.log_position.is_not(None),
    )
    .order_by(model_calls.c.log_position.desc())
    .limit(1)
    .scalar_subquery()
)

# The session, and of the user's data what needs a single value each: one statement instead of four.
_CONTEXT = Statement(
    select(
        sessions.c.session_id,
        sessions.c.release,
        sessions.c.head,
        sessions.c.session_constraints,
        STORED_SETTINGS.label("settings"),
        FAVOURITES_IN_ORDER.label("favourites"),
        STORED_CATALOGUE.label("skills"),
        select(func.count())
        .where(own(model_calls), model_calls.c.turn_id == bindparam("turn_id"))
        .scalar_subquery()
        .label("stored_calls"),
        _PREVIOUS_CALL.label("previous_call"),
    ).where(own(sessions), sessions.c.session_id == bindparam("session_id"))
)


async def claim_turn(tx: UserTransaction, request: ClaimTurn) -> ClaimedTurn:
    turn = await find_turn(tx, request.turn_id, lock=True)
    if not TurnStatus(turn.status).open:
        raise ProblemError(ProblemCode.ALREADY_DONE)
    record = await lock_work(tx, WorkKind.TURN, request.turn_id)
    fresh = await take_lease(tx, record, request.lease_token, deadline=tx.policy.deadline)
    # Every worker gets a number of its own, also where the record spends no attempt: progress is told by it.
    attempt = turn.attempt + 1 if fresh else turn.attempt
    await change_turn(
        tx,
        request.turn_id,
        status=TurnStatus.RUNNING,
        attempt=attempt,
        first_claimed_at=turn.first_claimed_at or tx.now,
    )
    if turn.first_claimed_at is None:
        tx.measured.turn_claimed(turn.created_at, tx.now)
    return await _claimed(tx, turn, attempt, record.deadline_at or tx.now + tx.policy.deadline)


async def renew_lease(tx: UserTransaction, request: RenewLease) -> Lease:
    record = await lock_work(tx, WorkKind.TURN, request.turn_id)
    # An agent that is stuck but still renews must not hold its session for ever.
    if _deadline_of(tx, record) + tx.policy.lease < tx.now:
        raise ProblemError(ProblemCode.LEASE_LOST)
    await renew(tx, record, request.lease_token)
    return Lease(
        lease_seconds=tx.policy.lease.total_seconds(),
        deadline_seconds=_left(tx, _deadline_of(tx, record)),
    )


async def release_turn(tx: UserTransaction, request: ReleaseTurn) -> Done:
    record = await lock_work(tx, WorkKind.TURN, request.turn_id)
    must_hold_lease(record, request.lease_token)
    await hand_back(
        tx,
        record,
        spend_attempt=request.spend_attempt,
        error_code=request.error_code,
        pause=None if request.spend_attempt else timedelta(seconds=request.retry_in_seconds),
    )
    return Done()


async def _claimed(tx: UserTransaction, turn: TurnRow, attempt: int, deadline_at: datetime) -> ClaimedTurn:
    wanted = {"session_id": turn.session_id, "turn_id": turn.turn_id}
    session = (await tx.connection.execute(_CONTEXT, wanted)).one()
    return ClaimedTurn(
        turn_id=turn.turn_id,
        session_id=turn.session_id,
        seq=turn.seq,
        purge_generation=turn.purge_generation,
        attempt=attempt,
        lease_seconds=tx.policy.lease.total_seconds(),
        deadline_seconds=_left(tx, deadline_at),
        text=user_text(tx, turn),
        release=session.release,
        head=session.head,
        log=await read_log(tx, turn.session_id),
        session_constraints=_session_constraints(tx, session),
        behaviour=await recent_behaviour(tx),
        favourites=session.favourites or [],
        settings=open_settings(tx, session.settings),
        model_calls=session.stored_calls,
        orders=await newest_orders(tx),
        previous_call=session.previous_call and PreviousCall.model_validate_json(session.previous_call),
        skills=open_catalogue(tx, session.skills),
    )


def _session_constraints(tx: UserTransaction, session: Any) -> dict[str, Any] | None:
    """P_t as stored; what cannot be read starts empty (S2: "how it runs" 1)."""
    if session.session_constraints is None:
        return None
    text = tx.cipher.decrypt(session.session_constraints, Place("sessions.session_constraints", session.session_id))
    stored = json.loads(text)
    return stored if isinstance(stored, dict) else None


def _deadline_of(tx: UserTransaction, record: Row) -> datetime:
    deadline: datetime | None = record.deadline_at
    return deadline or tx.now + tx.policy.deadline


def _left(tx: UserTransaction, deadline_at: datetime) -> float:
    return max(0.0, (deadline_at - tx.now).total_seconds())
