"""What model calls cost, as the provider reported it."""

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert

from common.memory_api.sessions import SessionRequest
from common.memory_api.turns import ModelCall, ModelCallKind
from common.memory_api.usage import TurnModelCall, Usage
from memory.database.schema import model_calls, turns
from memory.database.transactions import UserTransaction
from memory.sessions.log import must_exist
from memory.turns.rows import TurnRow
from memory.users import own

# L0 and L1 are the same for everybody; the hashes of the others are of a user's words and get that user's key.
_SHARED_LAYERS = frozenset({"L0", "L1"})


async def store_model_call(tx: UserTransaction, turn: TurnRow, call: ModelCall, run: int = 0) -> None:
    """Store the call once per number; a curation's calls are numbered here, since each claim begins at 1."""
    number = await _next_number(tx, turn, run) if call.kind is ModelCallKind.CURATOR else call.call_number
    hashes = {
        layer: digest if layer in _SHARED_LAYERS else tx.cipher.exact_hash(layer, digest).hex()[:16]
        for layer, digest in call.layer_hashes.items()
    }
    await tx.connection.execute(
        insert(model_calls)
        .values(
            **tx.key,
            turn_id=turn.turn_id,
            session_id=turn.session_id,
            run=run,
            created_at=tx.now,
            **{**call.model_dump(), "call_number": number, "layer_hashes": hashes},
        )
        .on_conflict_do_nothing()
    )


async def _next_number(tx: UserTransaction, turn: TurnRow, run: int) -> int:
    stored = select(func.coalesce(func.max(model_calls.c.call_number), 0)).where(
        own(model_calls, tx),
        model_calls.c.turn_id == turn.turn_id,
        model_calls.c.kind == ModelCallKind.CURATOR,
        model_calls.c.run == run,
    )
    return int(await tx.connection.scalar(stored) or 0) + 1


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
