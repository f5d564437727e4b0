"""Reading facts for a turn, and recalling more of them on the model's wish."""

from sqlalchemy import bindparam, select

from common.clock import Clock
from common.memory_api.dispatch import WorkKind, WorkState
from common.memory_api.facts import RECALL_MAX_ENTRIES, ReadFacts, Recall, Recalled, TurnFacts
from common.text import normalise
from memory.database.schema import dispatch, turns
from memory.database.statements import Statement
from memory.database.transactions import Database, UserTransaction
from memory.facts.matching import match_facts
from memory.facts.rows import read_facts
from memory.facts.session_facts import facts_of_session
from memory.user_data.behaviour import recent_behaviour
from memory.users import own

_POLL_SECONDS = 0.02

_BEHAVIOUR_SEARCHED = 200
"""Newest entries of each kind that a topic is looked for in; at most RECALL_MAX_ENTRIES are told."""


_CURATION_BEFORE = Statement(
    select(dispatch.c.state, dispatch.c.attempts, dispatch.c.error_code)
    .where(
        own(dispatch),
        dispatch.c.kind == WorkKind.CURATE_TURN,
        dispatch.c.run == 0,
        dispatch.c.seq
        < select(turns.c.seq).where(own(turns), turns.c.turn_id == bindparam("turn_id")).scalar_subquery(),
    )
    .order_by(dispatch.c.seq.desc())
    .limit(1)
)


async def read_facts_for_turn(database: Database, clock: Clock, request: ReadFacts) -> TurnFacts:
    """The facts as of now, after the curation of the user's turn before; waits for it at most 1.5 s, and not at
    all once it has failed (read your writes, S3 section 4)."""
    until: float | None = None
    while True:
        async with database.of_user(request.owner) as tx:
            if not tx.policy.memory_enabled:
                return TurnFacts(facts=[])
            until = clock.monotonic() + tx.policy.curation_wait.total_seconds() if until is None else until
            if clock.monotonic() >= until or not await _curation_is_coming(tx, request):
                facts = await read_facts(tx)
                return TurnFacts(facts=facts, session_facts=await facts_of_session(tx, request.unsaved, facts))
        await clock.sleep(_POLL_SECONDS)


async def recall(tx: UserTransaction, request: Recall) -> Recalled:
    """Facts and behaviour that contain the topic, newest first; an empty topic matches all."""
    if not tx.policy.memory_enabled:
        return Recalled(facts=[], behaviour=[], memory_enabled=False)
    wanted = normalise(request.topic)
    history = await recent_behaviour(tx, per_kind=_BEHAVIOUR_SEARCHED)
    return Recalled(
        facts=match_facts(await read_facts(tx), request.topic, RECALL_MAX_ENTRIES),
        behaviour=[f"{entry.kind}: {entry.text}" for entry in history if wanted in normalise(entry.text)][
            :RECALL_MAX_ENTRIES
        ],
    )


async def _curation_is_coming(tx: UserTransaction, request: ReadFacts) -> bool:
    """Whether the newest earlier turn of this user still waits for its first curation attempt to end."""
    if request.turn_id is None:
        return False
    record = (await tx.connection.execute(_CURATION_BEFORE, {"turn_id": request.turn_id})).one_or_none()
    if record is None or record.state not in (WorkState.PENDING, WorkState.LEASED):
        return False
    return record.error_code is None and record.attempts <= 1
