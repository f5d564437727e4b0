"""What model calls cost, as the provider reported it."""

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert

from common.memory_api.sessions import SessionRequest
from common.memory_api.turns import ModelCall, ModelCallKind
from common.memory_api.usage import TurnModelCall, Usage
from memory.database.schema import model_calls, turns
from memory.database.transactions import UserTransaction
from memory.sessions.log import must_exist
from memory.turns.rows import TurnRow
from memory.users import own


async def store_model_call(tx: UserTransaction, turn: TurnRow, call: ModelCall, run: int = 0) -> None:
    await tx.connection.execute(
        insert(model_calls)
        .values(
            **tx.key,
            turn_id=turn.turn_id,
            session_id=turn.session_id,
            run=run,
            created_at=tx.now,
            **call.model_dump(),
        )
        .on_conflict_do_nothing()
    )


async def session_usage(tx: UserTransaction, request: SessionRequest) -> Usage:
    """Every call of the session, side calls included, in the order of turns and calls."""
    await must_exist(tx, request.session_id)
    query = (
        select(model_calls, turns.c.seq.label("turn_seq"))
        .join(
            turns,
            (turns.c.tenant_id == model_calls.c.tenant_id)
            & (turns.c.user_id == model_calls.c.user_id)
            & (turns.c.turn_id == model_calls.c.turn_id),
        )
        .where(own(model_calls, tx), model_calls.c.session_id == request.session_id)
        .order_by(turns.c.seq, model_calls.c.created_at, model_calls.c.call_number)
    )
    rows = (await tx.connection.execute(query)).mappings()
    fields = set(TurnModelCall.model_fields)
    return Usage(
        calls=[
            TurnModelCall(
                **{name: value for name, value in row.items() if name in fields and name != "kind"},
                kind=ModelCallKind(row["kind"]),
            )
            for row in rows
        ]
    )
