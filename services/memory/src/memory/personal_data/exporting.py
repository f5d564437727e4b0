"""Export: everything that is kept about a user, page by page, each page a transaction of its own.

First what is remembered and set, then the sessions, then the turns in their order. Pages are told apart by ids and
numbers, so that what changes meanwhile moves nothing to another page.
"""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import select

from common.memory_api.base import OwnedRequest
from common.memory_api.personal_data import (
    ExportData,
    ExportedBehaviour,
    ExportedCandidate,
    ExportedFact,
    ExportedFavourite,
    ExportedOrder,
    ExportedPage,
    ExportedRecord,
    ExportedSession,
    ExportedSettings,
    ExportedSkill,
    ExportedTurn,
)
from common.memory_api.turns import FailureCode, TurnStatus
from common.memory_api.user_data import BehaviourKind
from common.problems import ProblemCode, ProblemError
from memory.database.connection import Row
from memory.database.schema import behaviour, turns
from memory.database.transactions import UserTransaction
from memory.encryption.cipher import Place
from memory.facts.candidates import list_candidates
from memory.facts.history import fact_details
from memory.facts.rows import read_rows
from memory.orders.listing import all_orders
from memory.sessions.sessions import sessions_after
from memory.skills.personal_skills import list_skills
from memory.turns.rows import items, reply, user_text
from memory.user_data.favourites import favourite_items
from memory.user_data.settings import get_settings
from memory.users import own

_SESSIONS_PER_PAGE = 200
_TURNS_PER_PAGE = 100
_FIRST_SESSION = UUID(int=0)


async def export_data(tx: UserTransaction, request: ExportData) -> ExportedPage:
    part, _, after = (request.cursor or "memory:0").partition(":")
    try:
        match part:
            case "memory":
                return ExportedPage(records=await _memory(tx, request), next_cursor=f"sessions:{_FIRST_SESSION}")
            case "sessions":
                return await _sessions(tx, UUID(after))
            case "turns":
                return await _turns(tx, int(after))
    except ValueError:
        pass
    raise ProblemError(ProblemCode.INVALID_REQUEST, "cursor is none that was given out")


async def _memory(tx: UserTransaction, request: OwnedRequest) -> list[ExportedRecord]:
    details = await fact_details(tx, await read_rows(tx))
    candidates = (await list_candidates(tx, request)).candidates
    return [
        *(ExportedFact.model_validate(dict(detail)) for detail in details),
        *(ExportedCandidate.model_validate(dict(candidate)) for candidate in candidates),
        ExportedSettings.model_validate(dict(await get_settings(tx, request))),
        *(ExportedFavourite(item_id=item_id) for item_id in await favourite_items(tx)),
        *(ExportedSkill.model_validate(dict(skill)) for skill in (await list_skills(tx, request)).skills),
        *await _behaviour(tx),
        *(ExportedOrder.model_validate(dict(order)) for order in await all_orders(tx)),
    ]


async def _behaviour(tx: UserTransaction) -> list[ExportedBehaviour]:
    query = select(behaviour).where(own(behaviour)).order_by(behaviour.c.seq, behaviour.c.position)
    return [
        ExportedBehaviour(
            kind=BehaviourKind(row.kind),
            text=tx.cipher.decrypt(row.text, Place("behaviour.text", row.behaviour_id)),
            turn_id=row.turn_id,
            created_at=row.created_at,
        )
        for row in await tx.connection.execute(query)
    ]


async def _sessions(tx: UserTransaction, after: UUID) -> ExportedPage:
    found = await sessions_after(tx, after, _SESSIONS_PER_PAGE)
    more = len(found) == _SESSIONS_PER_PAGE
    return ExportedPage(
        records=[ExportedSession.model_validate(dict(session)) for session in found],
        next_cursor=f"sessions:{found[-1].session_id}" if more else "turns:0",
    )


async def _turns(tx: UserTransaction, after: int) -> ExportedPage:
    query = select(turns).where(own(turns), turns.c.seq > after).order_by(turns.c.seq).limit(_TURNS_PER_PAGE)
    rows: Sequence[Row] = (await tx.connection.execute(query)).all()
    more = len(rows) == _TURNS_PER_PAGE
    return ExportedPage(
        records=[_turn(tx, row) for row in rows],
        next_cursor=f"turns:{rows[-1].seq}" if more else None,
    )


def _turn(tx: UserTransaction, row: Row) -> ExportedTurn:
    return ExportedTurn(
        turn_id=row.turn_id,
        session_id=row.session_id,
        seq=row.seq,
        status=TurnStatus(row.status),
        text=user_text(tx, row),
        reply=reply(tx, row),
        items=items(tx, row),
        failure=None if row.failure is None else FailureCode(row.failure),
        created_at=row.created_at,
        finished_at=row.finished_at,
    )
