"""The circuit of a kind of work: while nearly everything fails, nothing is claimed and no attempt is spent.

Each replica judges by the attempts it has seen; what follows is a row for all of them. Open: no claim until
`open_until`. Half open after that: one claim at a time, the probe; its success closes the circuit, its failure opens it
again. A kind without a row is well, and then a claim asks nobody.
"""

from uuid import UUID

from sqlalchemy import bindparam, delete, or_, select, update
from sqlalchemy.dialects.postgresql import insert

from common.logs import get_logger
from common.memory_api.dispatch import WorkKind
from common.problems import ProblemCode, ProblemError
from memory.database.schema import circuits
from memory.database.statements import Statement
from memory.database.transactions import UserTransaction

_log = get_logger(__name__)

_NO_FAILURES = frozenset({None, "shutdown"})
"""Codes with which work is handed back although nothing failed."""

_opening = insert(circuits)
_OPEN = Statement(
    _opening.on_conflict_do_update(
        constraint="circuits_pkey", set_={"open_until": _opening.excluded.open_until, "probe_until": None}
    ),
    ("kind", "open_until"),
)
_TAKE_PROBE = Statement(
    update(circuits)
    .where(
        circuits.c.kind == bindparam("kind"),
        circuits.c.open_until <= bindparam("now"),
        or_(circuits.c.probe_until.is_(None), circuits.c.probe_until < bindparam("now")),
    )
    .values(probe_until=bindparam("new_probe_until"))
    .returning(circuits.c.kind)
)
_CLOSE = Statement(
    delete(circuits)
    .where(circuits.c.kind == bindparam("kind"), circuits.c.open_until <= bindparam("now"))
    .returning(circuits.c.kind)
)
_FIND = Statement(select(circuits).where(circuits.c.kind == bindparam("kind")))


async def admit(tx: UserTransaction, kind: WorkKind) -> None:
    """Let a claim through, or raise NOT_DUE."""
    if tx.circuits.is_closed(kind):
        return
    wanted = {"kind": kind, "now": tx.now, "new_probe_until": tx.now + tx.policy.lease}
    if await tx.connection.scalar(_TAKE_PROBE, wanted) is not None:
        return
    if (await tx.connection.execute(_FIND, {"kind": kind})).one_or_none() is None:
        tx.circuits.note_closed(kind)  # another replica has closed it
        return
    raise ProblemError(ProblemCode.NOT_DUE)


async def note_success(tx: UserTransaction, kind: WorkKind, subject_id: UUID) -> None:
    """Call it where a worker has done its work, whatever the work came to."""
    tx.circuits.note(kind, subject_id, failed=False)
    if tx.circuits.is_closed(kind):
        return
    # A straggler that was claimed before the circuit opened does not close it; the probe does.
    if await tx.connection.scalar(_CLOSE, {"kind": kind, "now": tx.now}) is not None:
        tx.circuits.note_closed(kind)
        _log.info("circuit.closed", kind=kind)


async def note_failure(tx: UserTransaction, kind: WorkKind, subject_id: UUID, error_code: str | None) -> None:
    if error_code in _NO_FAILURES:
        return
    tx.measured.attempt_failed(kind)
    tx.circuits.note(kind, subject_id, failed=True)
    if tx.circuits.is_closed(kind) and not tx.circuits.nearly_everything_fails(kind):
        return
    await tx.connection.execute(_OPEN, {"kind": kind, "open_until": tx.now + tx.policy.circuit.cool_down})
    tx.circuits.note_open(kind)
    _log.warning("circuit.open", kind=kind, error_code=error_code)
