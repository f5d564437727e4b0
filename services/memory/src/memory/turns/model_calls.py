"""What model calls cost, as the provider reported it."""

from sqlalchemy import bindparam, func, select
from sqlalchemy.dialects.postgresql import insert

from common.memory_api.sessions import SessionRequest
from common.memory_api.turns import ModelCall, ModelCallKind
from common.memory_api.usage import TurnModelCall, Usage
from common.usage_rates import usage_of
from memory.database.schema import model_calls, turns
from memory.database.statements import Statement
from memory.database.transactions import UserTransaction
from memory.sessions.log import must_exist
from memory.turns.rows import TurnRow
from memory.users import own

_ADD = Statement(
    insert(model_calls).on_conflict_do_nothing(),
    ("tenant_id", "user_id", "turn_id", "session_id", "run", "created_at", *ModelCall.model_fields),
)


_LAST_NUMBER = Statement(
    select(func.max(model_calls.c.call_number)).where(
        own(model_calls),
        model_calls.c.turn_id == bindparam("turn_id"),
        model_calls.c.kind == ModelCallKind.CURATOR,
        model_calls.c.run == bindparam("run"),
    )
)

# L0 and L1 are the same for everybody; the hashes of the others are of a user's words and get that user's key.
_SHARED_LAYERS = frozenset({"L0", "L1"})


async def store_model_call(tx: UserTransaction, turn: TurnRow, call: ModelCall, run: int = 0) -> None:
    """Store the call once per number; a curation's calls are numbered here, since each claim begins at 1."""
    number = await _next_number(tx, turn, run) if call.kind is ModelCallKind.CURATOR else call.call_number
    hashes = {
        layer: digest if layer in _SHARED_LAYERS else tx.cipher.exact_hash(layer, digest).hex()[:16]
        for layer, digest in call.layer_hashes.items()
    }
    added = {
        **call.model_dump(),
        "call_number": number,
        "layer_hashes": hashes,
        "turn_id": turn.turn_id,
        "session_id": turn.session_id,
        "run": run,
        "created_at": tx.now,
    }
    await tx.connection.execute(_ADD, added)


async def _next_number(tx: UserTransaction, turn: TurnRow, run: int) -> int:
    return int(await tx.connection.scalar(_LAST_NUMBER, {"turn_id": turn.turn_id, "run": run}) or 0) + 1


async def session_usage(tx: UserTransaction, request: SessionRequest) -> Usage:
    """Every call of the session, side calls included, in the order of turns and calls, and what they come to."""
    await must_exist(tx, request.session_id)
    numbered = (
        select(
            turns.c.turn_id,
            turns.c.seq.label("turn_seq"),
            func.row_number().over(order_by=turns.c.seq).label("turn_number"),
        )
        .where(own(turns), turns.c.session_id == request.session_id)
        .subquery()
    )
    query = (
        select(model_calls, numbered.c.turn_seq, numbered.c.turn_number)
        .join(numbered, numbered.c.turn_id == model_calls.c.turn_id)
        .where(own(model_calls), model_calls.c.session_id == request.session_id)
        .order_by(numbered.c.turn_seq, model_calls.c.created_at, model_calls.c.call_number)
    )
    fields = TurnModelCall.model_fields.keys()
    rows = await tx.connection.execute(query)
    return usage_of([TurnModelCall.model_validate({name: row[name] for name in fields}) for row in rows])
