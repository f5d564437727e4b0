"""A turn between its acceptance and its end, and the log that it leaves."""

from collections.abc import Sequence

from tests.integration.memory.turn_life.specification import leases
from tests.integration.memory.turn_life.specification.state import LogEntry, Session, State, Turn
from tests.integration.memory.turn_life.vocabulary import Accepted, Entry, LogLine, Saying, Shape, WorkName

from common.memory_api.dispatch import WorkKind, WorkState
from common.memory_api.turns import TurnStatus
from common.problems import ProblemCode, ProblemError


def submit(state: State, user: str, session: str, key: str, saying: Saying, name: str) -> Accepted:
    seen = next((each for each in state.turns_of(user) if each.key == key), None)
    if seen is not None:
        if (seen.session, seen.saying) != (session, saying):
            raise ProblemError(ProblemCode.IDEMPOTENCY_CONFLICT)
        return Accepted(seen.name, seen.seq, seen.generation)
    found = state.session(user, session)
    if any(each.status.open for each in state.turns_of(user, session)):
        raise ProblemError(ProblemCode.TURN_OPEN)
    if not found.open:
        raise ProblemError(ProblemCode.SESSION_ENDED)
    counters = state.user(user)
    counters.seq += 1
    turn = Turn(name, user, session, counters.seq, counters.generation, key, saying)
    state.turns[name] = turn
    state.add_work(WorkKind.TURN, name, turn)
    return Accepted(name, turn.seq, turn.generation)


def append(session: Session, turn: Turn, head: int, entries: Sequence[Entry]) -> int:
    """At the head that the writer knows, or nowhere; what was appended already is not appended again."""
    if head != len(session.log):
        if entries and [each.entry for each in session.log[head:]] == [*entries]:
            return len(session.log)
        raise ProblemError(ProblemCode.HEAD_MOVED)
    session.log += [LogEntry(turn.name, entry) for entry in entries]
    return len(session.log)


def lines(session: Session) -> tuple[LogLine, ...]:
    return tuple(LogLine(each.turn, each.entry.shape) for each in session.log)


def close_log(session: Session, turn: Turn) -> None:
    """Every call gets a result, and the turn an answer."""
    mine = [each.entry for each in session.log if each.turn == turn.name]
    answered = {each.call for each in mine if each.shape is Shape.RESULT}
    results = [Entry("", Shape.RESULT, each.call) for each in mine if each.shape is Shape.CALL]
    closing = [each for each in results if each.call not in answered]
    if closing or not mine or mine[-1].shape is not Shape.ANSWER:
        closing.append(Entry("", Shape.ANSWER))
    session.log += [LogEntry(turn.name, entry) for entry in closing]


def end(state: State, turn: Turn, status: TurnStatus) -> None:
    """What its user said stays said, unless they took the turn back."""
    turn.status = status
    if status is not TurnStatus.CANCELLED:
        state.add_work(WorkKind.CURATE_TURN, turn.name, turn)


def give_up(state: State, turn: Turn, status: TurnStatus, work_state: WorkState = WorkState.DONE) -> None:
    """End a turn over its worker's head. One that never started has left nothing to close."""
    session = state.sessions[turn.session]
    if any(each.turn == turn.name for each in session.log):
        close_log(session, turn)
    end(state, turn, status)
    leases.revoke(state.work[WorkName(WorkKind.TURN, turn.name)], work_state)


def give_up_open_ones(state: State, user: str, session: str | None = None) -> None:
    for turn in state.turns_of(user, session):
        if turn.status.open:
            give_up(state, turn, TurnStatus.CANCELLED)


def drive_again(state: State, turn: Turn) -> None:
    """An operator's word: a failed turn that its session still waits for begins anew."""
    if turn.status is not TurnStatus.FAILED:
        raise ProblemError(ProblemCode.INVALID_REQUEST)
    session = state.sessions[turn.session]
    if not session.open or state.turns_of(turn.user, turn.session)[-1] is not turn:
        raise ProblemError(ProblemCode.SESSION_ENDED)
    if state.work[WorkName(WorkKind.TURN, turn.name)].state not in (WorkState.DEAD, WorkState.DISCARDED):
        raise ProblemError(ProblemCode.INVALID_REQUEST)
    for name in [name for name in state.work if name.kind is WorkKind.CURATE_TURN and name.subject == turn.name]:
        del state.work[name]  # it will end again, and be curated then
    if any(each.turn == turn.name for each in session.log):
        session.log.append(LogEntry(turn.name, Entry("", Shape.NOTICE)))
    turn.status = TurnStatus.ACCEPTED
