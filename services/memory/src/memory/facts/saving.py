"""`save_memory`: the model's explicit write, under the turn's lease and once per (turn, call id)."""

from sqlalchemy import bindparam, insert, select

from common.memory_api.dispatch import WorkKind
from common.memory_api.facts import FactAction, FactOutcome, FactSource, SaveFact
from memory.database.schema import tool_effects
from memory.database.statements import Statement
from memory.database.transactions import UserTransaction
from memory.dispatch.records import lock_work, must_hold_lease
from memory.facts.evidence.user_words import UserWords
from memory.facts.gate import ValidFact
from memory.facts.proposals import take_proposals, through_door
from memory.facts.rows import Writer
from memory.facts.tombstones import read_tombstones
from memory.facts.writing import MEMORY_DISABLED, outcome
from memory.turns.rows import TurnRow, find_turn, user_text
from memory.users import lock_user, own

_ADD = Statement(
    insert(tool_effects), ("tenant_id", "user_id", "turn_id", "call_id", "action", "fact_key", "rule", "created_at")
)
_FIND = Statement(
    select(tool_effects).where(
        own(tool_effects),
        tool_effects.c.turn_id == bindparam("turn_id"),
        tool_effects.c.call_id == bindparam("call_id"),
    )
)

_STANDS = frozenset({FactAction.ADDED, FactAction.UPDATED, FactAction.SUPPORTED, FactAction.DUPLICATE})


async def save_fact(tx: UserTransaction, request: SaveFact) -> FactOutcome:
    await lock_user(tx)
    turn = await find_turn(tx, request.turn_id, lock=True)
    must_hold_lease(await lock_work(tx, WorkKind.TURN, request.turn_id), request.lease_token)
    checked = through_door(tx, request.proposed)
    done = await _done_before(tx, request, checked, turn.seq)
    if done is not None:
        return done
    result = await _save(tx, checked, turn)
    tx.measured.fact_proposed(FactSource.SAVE_MEMORY, result)
    done_now = {
        "turn_id": request.turn_id,
        "call_id": request.call_id,
        "action": result.action,
        "fact_key": result.key,
        "rule": result.rule,
        "created_at": tx.now,
    }
    await tx.connection.execute(_ADD, done_now)
    return result


async def _save(tx: UserTransaction, checked: ValidFact | FactOutcome, turn: TurnRow) -> FactOutcome:
    if not tx.policy.memory_enabled:
        return FactOutcome(key=None, action=FactAction.REFUSED, rule=MEMORY_DISABLED)
    writer = Writer(FactSource.SAVE_MEMORY, seq=turn.seq, session_id=turn.session_id, turn_id=turn.turn_id)
    (taken,) = await take_proposals(tx, [checked], writer, UserWords(user_text(tx, turn)))
    return taken


async def _done_before(
    tx: UserTransaction, request: SaveFact, checked: ValidFact | FactOutcome, seq: int
) -> FactOutcome | None:
    """The outcome of the same call in an earlier attempt; the value is the request's own. What the user has deleted
    since is not said to be remembered."""
    wanted = {"turn_id": request.turn_id, "call_id": request.call_id}
    row = (await tx.connection.execute(_FIND, wanted)).one_or_none()
    if row is None:
        return None
    action = FactAction(row.action)
    if not (isinstance(checked, ValidFact) and row.fact_key == checked.key and row.rule is None):
        return FactOutcome(key=row.fact_key, action=action, rule=row.rule)
    if action in _STANDS and (await read_tombstones(tx)).stop(checked.key, checked.value, seq):
        action = FactAction.DELETED_BY_USER
    return outcome(checked, action)
