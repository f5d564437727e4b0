"""Finished turns through the curator once more: each user's in order, one at a time."""

from tests.integration.memory.turn_life.specification.state import ReplayJob, State, Work
from tests.integration.memory.turn_life.vocabulary import ProcessDied, WorkName

from common.memory_api.dispatch import WorkKind, WorkState
from common.memory_api.replay import ReplayTurnState

_OPEN = (ReplayTurnState.WAITING, ReplayTurnState.RUNNING)


def start(state: State, job: str, user: str, *, dry_run: bool) -> None:
    """Turns whose curation has ended, by the newest run that was meant."""
    ended = (WorkState.DEAD, WorkState.DONE)
    chosen: dict[str, str] = {}
    for turn in state.turns_of(user):
        meant = [work for work in _runs(state, turn.name) if not work.dry_run]
        if meant and meant[-1].state in ended:
            chosen[turn.name] = ReplayTurnState.WAITING
    state.jobs[job] = ReplayJob(user, dry_run, state.now, chosen)


def beat(state: State, *, dies: bool) -> None:
    """`dies`: when a run is begun and not published yet."""
    for job in state.jobs.values():
        _settle(state, job)
        if state.now > job.created_at:
            _begin_next(state, job, dies=dies)


def _settle(state: State, job: ReplayJob) -> None:
    for turn, turn_state in job.turns.items():
        if turn_state != ReplayTurnState.RUNNING:
            continue
        work = state.work.get(WorkName(WorkKind.CURATE_TURN, turn, job.runs[turn]))
        if work is None:
            job.turns[turn] = ReplayTurnState.GONE
        elif work.state in (WorkState.DEAD, WorkState.DISCARDED):
            job.turns[turn] = ReplayTurnState.FAILED
        elif work.state is WorkState.DONE:
            job.turns[turn] = ReplayTurnState.GONE if work.generation_changed else ReplayTurnState.DONE


def _begin_next(state: State, job: ReplayJob, *, dies: bool) -> None:
    mine = [each for each in state.jobs.values() if each.user == job.user]
    if any(ReplayTurnState.RUNNING in each.turns.values() for each in mine):
        return
    waiting = next((turn for turn, each in job.turns.items() if each == ReplayTurnState.WAITING), None)
    if waiting is None:
        return
    runs, turn = _runs(state, waiting), state.turns[waiting]
    if not runs or turn.generation != state.user(job.user).generation:
        job.turns[waiting] = ReplayTurnState.GONE
        return
    if runs[-1].state in (WorkState.PENDING, WorkState.LEASED):
        return
    run = runs[-1].name.run + 1
    state.add_work(WorkKind.CURATE_TURN, waiting, turn, run, dry_run=job.dry_run)
    job.turns[waiting], job.runs[waiting] = ReplayTurnState.RUNNING, run
    if dies:
        raise ProcessDied
    state.unread.append(WorkName(WorkKind.CURATE_TURN, waiting, run))


def make_good(state: State, turn: str, run: int) -> None:
    """A replay that succeeded settles what was dead before it."""
    for work in _runs(state, turn):
        if work.name.run < run and work.state is WorkState.DEAD:
            work.state = WorkState.DONE


def _runs(state: State, turn: str) -> list[Work]:
    found = [
        work for work in state.work.values() if work.name.kind is WorkKind.CURATE_TURN and work.name.subject == turn
    ]
    return sorted(found, key=lambda work: work.name.run)
