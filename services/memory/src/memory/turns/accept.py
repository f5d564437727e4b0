"""Accepting a turn: once it is answered with 202, it is never lost and takes effect once."""

from sqlalchemy import bindparam, exists, insert, select

from common.memory_api.dispatch import WorkKind
from common.memory_api.turns import AcceptedTurn, AcceptTurn
from common.problems import ProblemCode, ProblemError
from memory.database.schema import sessions, turns
from memory.database.statements import Statement
from memory.database.transactions import UserTransaction
from memory.dispatch.records import add_work
from memory.turns.rows import IS_OPEN, reference, seal_user_text
from memory.turns.token_budget import must_have_tokens
from memory.users import lock_user, next_seq, own

_RETRY_AFTER_SECONDS = 2

_ADD = Statement(
    insert(turns).returning(turns),
    (
        "tenant_id",
        "user_id",
        "turn_id",
        "session_id",
        "seq",
        "purge_generation",
        "idempotency_key",
        "request_hash",
        "user_text",
        "created_at",
    ),
)
_FIND_BY_KEY = Statement(select(turns).where(own(turns), turns.c.idempotency_key == bindparam("idempotency_key")))
_STATE_OF_SESSION = Statement(
    select(
        sessions.c.state,
        exists().where(own(turns), turns.c.session_id == bindparam("session_id"), IS_OPEN).label("busy"),
    ).where(own(sessions), sessions.c.session_id == bindparam("session_id"))
)


async def accept_turn(tx: UserTransaction, request: AcceptTurn) -> AcceptedTurn:
    """Insert the turn and its work record, stamped with the user's next seq and purge generation."""
    counters = await lock_user(tx)
    request_hash = tx.cipher.exact_hash(str(request.session_id), request.text)
    seen = await _seen_before(tx, request, request_hash)
    if seen is not None:
        return seen
    await _must_be_free(tx, request)
    await must_have_tokens(tx)

    turn_id = tx.new_id()
    seq = await next_seq(tx)
    added = {
        "turn_id": turn_id,
        "session_id": request.session_id,
        "seq": seq,
        "purge_generation": counters.purge_generation,
        "idempotency_key": request.idempotency_key,
        "request_hash": request_hash,
        "user_text": seal_user_text(tx, turn_id, request.text),
        "created_at": tx.now,
    }
    row = (await tx.connection.execute(_ADD, added)).one()
    await add_work(
        tx,
        WorkKind.TURN,
        turn_id,
        session_id=request.session_id,
        seq=seq,
        generation=counters.purge_generation,
    )
    return AcceptedTurn(turn=reference(row), created=True)


async def _seen_before(tx: UserTransaction, request: AcceptTurn, request_hash: bytes) -> AcceptedTurn | None:
    wanted = {"idempotency_key": request.idempotency_key}
    row = (await tx.connection.execute(_FIND_BY_KEY, wanted)).one_or_none()
    if row is None:
        return None
    if row.request_hash != request_hash:
        raise ProblemError(ProblemCode.IDEMPOTENCY_CONFLICT)
    return AcceptedTurn(turn=reference(row), created=False)


async def _must_be_free(tx: UserTransaction, request: AcceptTurn) -> None:
    found = await tx.connection.execute(_STATE_OF_SESSION, {"session_id": request.session_id})
    session = found.one_or_none()
    if session is None:
        raise ProblemError(ProblemCode.NOT_FOUND)
    # A session that is still busy says so first: its turn may be what the caller should wait for.
    if session.busy:
        raise ProblemError(ProblemCode.TURN_OPEN, retry_after=_RETRY_AFTER_SECONDS)
    if session.state != "open":
        raise ProblemError(ProblemCode.SESSION_ENDED)
