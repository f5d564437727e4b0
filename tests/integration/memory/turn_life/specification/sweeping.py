"""Nothing waits for ever: what is past help ends, what lost its worker is free again, what is due is woken."""

from tests.integration.memory.turn_life.specification import leases
from tests.integration.memory.turn_life.specification.state import LONG_WAIT, MAX_ATTEMPTS, REPUBLISH, State, Work
from tests.integration.memory.turn_life.specification.turns import give_up
from tests.integration.memory.turn_life.vocabulary import ProcessDied

from common.memory_api.dispatch import WorkKind, WorkState
from common.memory_api.turns import TurnStatus

_WOKEN = (WorkKind.TURN, WorkKind.CURATE_TURN, WorkKind.CLOSE_SESSION)


def sweep(state: State, *, dies: bool) -> None:
    """`dies`: when work is marked as published and nothing is published yet."""
    for work in [*state.work.values()]:
        if _is_hopeless(state, work):
            _end(state, work)
    for work in state.work.values():
        if work.state is WorkState.LEASED and work.lease_until < state.now and work.attempts < MAX_ATTEMPTS:
            leases.hand_back(work, state.now + leases.pause_after(work.attempts), spend=True)
    for kind in _WOKEN:
        due = [work for work in state.work.values() if work.name.kind is kind and _is_due(state, work)]
        for work in due:
            work.publish_after = state.now + REPUBLISH
        if due and dies:
            raise ProcessDied
        state.unread += [work.name for work in due]


def _is_hopeless(state: State, work: Work) -> bool:
    idle = work.state is WorkState.PENDING or (work.state is WorkState.LEASED and work.lease_until < state.now)
    spent = work.attempts >= MAX_ATTEMPTS
    late = work.name.kind is WorkKind.TURN and work.deadline_at is not None and work.deadline_at < state.now
    return idle and (spent or late)


def _end(state: State, work: Work) -> None:
    if work.name.kind is WorkKind.TURN:
        give_up(state, state.turns[work.name.subject], TurnStatus.FAILED, WorkState.DEAD)
    else:
        leases.revoke(work, WorkState.DEAD)


def _is_due(state: State, work: Work) -> bool:
    due = (
        work.state is WorkState.PENDING
        and work.attempts < MAX_ATTEMPTS
        and max(work.next_attempt_at, work.publish_after) <= state.now
    )
    if not due or not _lags(state, work.name.kind):
        return due
    # Its event may be among those that nobody has read.
    unpublished = work.publish_after <= work.next_attempt_at
    return unpublished or work.next_attempt_at <= state.now - LONG_WAIT * REPUBLISH


def _lags(state: State, kind: WorkKind) -> bool:
    return state.groups_exist and any(name.kind is kind for name in state.unread)
