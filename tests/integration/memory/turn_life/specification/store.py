"""The life of a turn as it is meant (design sections 3 and 4): what the memory service must answer, in plain Python.

It is written from the design and not from the service, and does everything at once: no rows, no locks, no network.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy

from tests.integration.memory.turn_life.specification import facts, leases, replaying, sweeping, turns
from tests.integration.memory.turn_life.specification.state import (
    CURATOR,
    DEADLINE,
    LEASE,
    SAVE_MEMORY,
    USER,
    LogEntry,
    Session,
    State,
    Work,
)
from tests.integration.memory.turn_life.vocabulary import (
    Accepted,
    Claimed,
    Entry,
    KnownFact,
    ProcessDied,
    Saying,
    Shape,
    View,
    WorkName,
)

from common.memory_api.dispatch import WorkKind, WorkState
from common.memory_api.turns import TurnStatus
from common.problems import ProblemCode, ProblemError


class SpecifiedTurnLife:
    def __init__(self) -> None:
        self._state = State()

    # The user.

    def open_session(self, user: str, session: str) -> None:
        self._state.user(user)
        self._state.sessions[session] = Session(user)

    def submit(self, user: str, session: str, key: str, saying: Saying, turn: str) -> Accepted:
        return turns.submit(self._state, user, session, key, saying, turn)

    def cancel(self, user: str, turn: str) -> str:
        found = self._state.turn(user, turn)
        if found.status.open:
            turns.give_up(self._state, found, TurnStatus.CANCELLED)
        return found.status

    def end_session(self, user: str, session: str) -> str:
        found = self._state.session(user, session)
        turns.give_up_open_ones(self._state, user, session)
        if found.open:
            found.open = False
            said = self._state.turns_of(user, session)
            if said:  # else there is nothing to be kept
                self._state.add_work(WorkKind.CLOSE_SESSION, session, said[-1])
        return "ended"

    def put(self, user: str, saying: Saying) -> None:
        mine = self._state.user(user)
        mine.seq += 1
        facts.write(mine, saying, (mine.seq, USER, 0), None)

    def delete(self, user: str, key: str) -> None:
        if not facts.bury(self._state.user(user), key):
            raise ProblemError(ProblemCode.NOT_FOUND)

    def clear(self, user: str, request: str) -> int:
        mine = self._state.user(user)
        if mine.last_clear == request:
            return mine.generation
        mine.generation, mine.last_clear = mine.generation + 1, request
        turns.give_up_open_ones(self._state, user)
        for session in self._state.sessions.values():
            if session.user == user:
                session.open = False
                session.log = [_without_memory(each) for each in session.log]
        for turn in self._state.turns_of(user):
            turn.saved.clear()
        for work in self._state.work.values():
            if work.user == user:
                work.outcomes = ()
        mine.facts, mine.buried = {}, {}
        return mine.generation

    def erase(self, user: str, request: str) -> int:
        state, mine = self._state, self._state.user(user)
        if mine.last_erase == request:
            return mine.generation
        state.sessions = {name: each for name, each in state.sessions.items() if each.user != user}
        state.turns = {name: each for name, each in state.turns.items() if each.user != user}
        state.work = {name: each for name, each in state.work.items() if each.user != user}
        state.jobs = {name: each for name, each in state.jobs.items() if each.user != user}
        mine.facts, mine.buried = {}, {}
        mine.generation += 1
        mine.last_clear = mine.last_erase = request
        return mine.generation

    # An agent.

    def claim(self, user: str, turn: str, token: str) -> Claimed:
        found = self._state.turn(user, turn)
        if not found.status.open:
            raise ProblemError(ProblemCode.ALREADY_DONE)
        work = self._state.work_of(user, WorkName(WorkKind.TURN, turn))
        if leases.take(work, token, self._state.now):
            found.attempt += 1
            work.deadline_at = work.deadline_at or self._state.now + DEADLINE
        found.status = TurnStatus.RUNNING
        session = self._state.sessions[found.session]
        return Claimed(found.attempt, len(session.log), turns.lines(session))

    def renew(self, user: str, turn: str, token: str) -> None:
        work = self._state.work_of(user, WorkName(WorkKind.TURN, turn))
        if work.deadline_at is not None and work.deadline_at + LEASE < self._state.now:
            raise ProblemError(ProblemCode.LEASE_LOST)
        leases.must_hold(work, token)
        work.lease_until = self._state.now + LEASE

    def append(self, user: str, turn: str, token: str, head: int, entries: Sequence[Entry]) -> int:
        found = self._state.turn(user, turn)
        leases.must_hold(self._state.work[WorkName(WorkKind.TURN, turn)], token)
        return turns.append(self._state.sessions[found.session], found, head, entries)

    def save(self, user: str, turn: str, token: str, call: str, saying: Saying) -> str:
        found = self._state.turn(user, turn)
        leases.must_hold(self._state.work[WorkName(WorkKind.TURN, turn)], token)
        if call not in found.saved:
            order = (found.seq, SAVE_MEMORY, 0)
            found.saved[call] = facts.write(self._state.user(user), saying, order, turn)
        return facts.told_again(self._state.user(user), saying, found.seq, found.saved[call])

    def finish(self, user: str, turn: str, token: str, head: int, entries: Sequence[Entry], *, failed: bool) -> str:
        found = self._state.turn(user, turn)
        work = self._state.work[WorkName(WorkKind.TURN, turn)]
        if work.state is not WorkState.LEASED and work.token == token:
            return found.status
        leases.must_hold(work, token)
        session = self._state.sessions[found.session]
        turns.append(session, found, head, entries)
        if failed:
            turns.close_log(session, found)
        turns.end(self._state, found, TurnStatus.FAILED if failed else TurnStatus.COMPLETED)
        leases.end(work)
        return found.status

    def give_back(self, user: str, turn: str, token: str, *, spend: bool, retry_in: float) -> None:
        work = self._state.work_of(user, WorkName(WorkKind.TURN, turn))
        leases.must_hold(work, token)
        pause = leases.pause_after(work.attempts) if spend else retry_in
        leases.hand_back(work, self._state.now + pause, spend=spend)

    # A curator.

    def claim_curation(self, user: str, turn: str, run: int, token: str) -> int:
        found = self._state.turn(user, turn)
        work = self._state.work_of(user, WorkName(WorkKind.CURATE_TURN, turn, run))
        is_open = work.state in (WorkState.PENDING, WorkState.LEASED)
        if is_open and found.generation != self._state.user(user).generation:
            leases.end(work)
            work.generation_changed = True
            raise ProblemError(ProblemCode.GENERATION_CHANGED)
        leases.take(work, token, self._state.now)
        return work.attempts

    def ingest(self, user: str, turn: str, run: int, token: str, proposed: Sequence[Saying]) -> tuple[str, ...]:
        found, mine = self._state.turn(user, turn), self._state.user(user)
        work = self._state.work_of(user, WorkName(WorkKind.CURATE_TURN, turn, run))
        if work.generation_changed:
            raise ProblemError(ProblemCode.GENERATION_CHANGED)
        if work.state is WorkState.DONE and work.token == token:
            return work.outcomes
        leases.must_hold(work, token)
        leases.end(work)
        if found.generation != mine.generation:
            work.generation_changed = True
            raise ProblemError(ProblemCode.GENERATION_CHANGED)
        if not work.dry_run:
            order = (found.seq, CURATOR, run)
            work.outcomes = tuple(facts.write(mine, saying, order, turn) for saying in proposed)
            replaying.make_good(self._state, turn, run)
        return work.outcomes

    def fail_curation(self, user: str, turn: str, run: int, token: str, *, spend: bool) -> None:
        work = self._state.work_of(user, WorkName(WorkKind.CURATE_TURN, turn, run))
        leases.must_hold(work, token)
        leases.hand_back(work, self._state.now + leases.pause_after(2), spend=spend)

    def finish_closing(self, user: str, session: str) -> None:
        work = self._state.work_of(user, WorkName(WorkKind.CLOSE_SESSION, session))
        if work.state is WorkState.PENDING:
            leases.end(work)

    # An operator.

    def redrive(self, work: WorkName) -> None:
        found = self._any(work)
        if work.kind is WorkKind.TURN:
            turns.drive_again(self._state, self._state.turns[work.subject])
        elif found.state not in (WorkState.DEAD, WorkState.DISCARDED):
            raise ProblemError(ProblemCode.INVALID_REQUEST)
        found.state, found.attempts, found.token, found.deadline_at = WorkState.PENDING, 0, None, None
        found.next_attempt_at = found.publish_after = self._state.now

    def discard(self, work: WorkName) -> None:
        found = self._any(work)
        if found.state is WorkState.DONE:
            raise ProblemError(ProblemCode.ALREADY_DONE)
        turn = self._state.turns[work.subject]
        if work.kind is WorkKind.TURN and turn.status.open:
            turns.give_up(self._state, turn, TurnStatus.FAILED, WorkState.DISCARDED)
        else:
            leases.revoke(found, WorkState.DISCARDED)

    def start_replay(self, job: str, user: str, *, dry_run: bool) -> None:
        replaying.start(self._state, job, user, dry_run=dry_run)

    # Beats and time.

    def sweep(self, *, dies: bool) -> None:
        sweeping.sweep(self._state, dies=dies)

    def replay_beat(self, *, dies: bool) -> None:
        replaying.beat(self._state, dies=dies)

    def advance(self, seconds: int) -> None:
        self._state.now += seconds

    @contextmanager
    def dying_before_commit(self) -> Iterator[None]:
        before = deepcopy(self._state)
        try:
            yield
        finally:
            self._state = before
        raise ProcessDied

    # Redis.

    def publish(self, user: str, work: WorkName) -> None:
        self._state.unread.append(work)

    def receive(self) -> Sequence[WorkName]:
        self._state.groups_exist = True
        unread, self._state.unread = self._state.unread, []
        return sorted(unread)

    def wipe_redis(self) -> None:
        self._state.groups_exist = False
        self._state.unread.clear()

    def view(self, user: str) -> View:
        state, mine = self._state, self._state.user(user)
        sessions = {name: each for name, each in state.sessions.items() if each.user == user}
        return View(
            seq=mine.seq,
            generation=mine.generation,
            sessions={name: "open" if each.open else "ended" for name, each in sessions.items()},
            turns={each.name: (each.status, each.attempt) for each in state.turns_of(user)},
            logs={name: lines for name, each in sessions.items() if (lines := turns.lines(each))},
            work={name: (each.state, each.attempts) for name, each in state.work.items() if each.user == user},
            facts={
                key: KnownFact(each.value, *each.order, frozenset(each.evidence)) for key, each in mine.facts.items()
            },
            replays={
                (name, turn): each
                for name, job in state.jobs.items()
                if job.user == user
                for turn, each in job.turns.items()
            },
        )

    def _any(self, name: WorkName) -> Work:
        found = self._state.work.get(name)
        if found is None:
            raise ProblemError(ProblemCode.NOT_FOUND)
        return found


def _without_memory(line: LogEntry) -> LogEntry:
    bears = line.entry.shape is Shape.MEMORY
    return LogEntry(line.turn, line.entry._replace(shape=Shape.ERASED)) if bears else line
