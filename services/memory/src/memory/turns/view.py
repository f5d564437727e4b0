"""A turn as its owner sees it, whatever state it is in."""

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import bindparam, select

from common.memory_api.base import TurnRequest
from common.memory_api.dispatch import WorkKind, WorkState
from common.memory_api.sessions import LogEntry, SessionRequest
from common.memory_api.turns import (
    CurationState,
    FailureCode,
    StepView,
    Turns,
    TurnStatus,
    TurnView,
)
from common.problems import ProblemCode, ProblemError
from memory.curation.outcomes import read_outcomes
from memory.database.schema import dispatch, turns
from memory.database.statements import Statement
from memory.database.transactions import UserTransaction
from memory.orders.listing import orders_of_turn
from memory.sessions.log import must_exist, read_log
from memory.turns.rows import TurnRow, items, reply, user_text
from memory.users import own

SAVE_MEMORY_TOOL = "save_memory"

_CURATION_STATES = {
    WorkState.PENDING: CurationState.PENDING,
    WorkState.LEASED: CurationState.PENDING,
    WorkState.DONE: CurationState.DONE,
    WorkState.DEAD: CurationState.DEAD,
    WorkState.DISCARDED: CurationState.DEAD,
}


_VIEWED = select(
    turns,
    select(dispatch.c.state)
    .where(own(dispatch), dispatch.c.kind == WorkKind.CURATE_TURN, dispatch.c.subject_id == turns.c.turn_id)
    .order_by(dispatch.c.run)
    .limit(1)
    .scalar_subquery()
    .label("curation_state"),
).where(own(turns))

_FIND = Statement(_VIEWED.where(turns.c.turn_id == bindparam("turn_id")))
_OF_SESSION = Statement(_VIEWED.where(turns.c.session_id == bindparam("session_id")).order_by(turns.c.seq))


async def get_turn(tx: UserTransaction, request: TurnRequest) -> TurnView:
    row = (await tx.connection.execute(_FIND, {"turn_id": request.turn_id})).one_or_none()
    if row is None:
        raise ProblemError(ProblemCode.NOT_FOUND)
    return await _view(tx, row)


async def session_turns(tx: UserTransaction, request: SessionRequest) -> Turns:
    await must_exist(tx, request.session_id)
    rows = (await tx.connection.execute(_OF_SESSION, {"session_id": request.session_id})).all()
    return Turns(turns=[await _view(tx, row) for row in rows])


async def _view(tx: UserTransaction, turn: TurnRow) -> TurnView:
    """`turn` is a row of `_VIEWED`."""
    log = await read_log(tx, turn.session_id, turn.turn_id)
    return TurnView(
        turn_id=turn.turn_id,
        session_id=turn.session_id,
        seq=turn.seq,
        status=TurnStatus(turn.status),
        attempt=turn.attempt,
        text=user_text(tx, turn),
        steps=steps_of(log),
        reply=reply(tx, turn),
        items=items(tx, turn),
        failure=None if turn.failure is None else FailureCode(turn.failure),
        curation=_curation_state(turn),
        memory=await read_outcomes(tx, turn.turn_id) if turn.curation_state is not None else [],
        created_at=turn.created_at,
        finished_at=turn.finished_at,
        orders=await orders_of_turn(tx, turn.turn_id),
    )


def steps_of(log: Sequence[LogEntry]) -> list[StepView]:
    """What each stored model answer said and which tools it called."""
    answers = (json.loads(entry.payload) for entry in log)
    return [_step_of(answer) for answer in answers if answer.get("role") == "assistant"]


def _step_of(answer: dict[str, Any]) -> StepView:
    tools = [call["function"]["name"] for call in answer.get("tool_calls") or ()]
    # Words said beside a save were said before its commit, and may claim what was then refused.
    said = "" if SAVE_MEMORY_TOOL in tools else answer.get("content") or ""
    return StepView(text=said, tools=tools)


def _curation_state(turn: TurnRow) -> CurationState:
    state = turn.curation_state
    return CurationState.NONE if state is None else _CURATION_STATES[WorkState(state)]
