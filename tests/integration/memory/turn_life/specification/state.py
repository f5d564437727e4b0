"""What has to be known of turns, as plain records: the specification's whole memory."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.integration.memory.turn_life.vocabulary import Entry, Saying, WorkName

from common.memory_api.dispatch import WorkKind, WorkState
from common.memory_api.turns import TurnStatus
from common.problems import ProblemCode, ProblemError

LEASE = 15.0
DEADLINE = 120.0
PUBLISH_GRACE = 5.0
REPUBLISH = 60.0
LONG_WAIT = 5
"""Times `REPUBLISH` after which work is woken although its group lags."""
MAX_ATTEMPTS = 3
BACKOFF = 0.001
"""The first pause between two attempts. Time moves in whole seconds here, so every pause is over at the next one."""

CURATOR, SAVE_MEMORY, USER = 0, 1, 2
"""Ranks of writers: at the same seq the higher one wins."""


@dataclass
class Fact:
    value: str
    order: tuple[int, int, int]
    """(seq, rank, run) of its last writer."""
    evidence: set[str] = field(default_factory=set)


@dataclass
class User:
    seq: int = 0
    generation: int = 0
    last_clear: str = ""
    last_erase: str = ""
    facts: dict[str, Fact] = field(default_factory=dict)
    buried: dict[str, int] = field(default_factory=dict)
    """Keys of deleted facts, with the seq of the user's word."""


@dataclass
class LogEntry:
    turn: str
    entry: Entry


@dataclass
class Session:
    user: str
    open: bool = True
    log: list[LogEntry] = field(default_factory=list)


@dataclass
class Turn:
    name: str
    user: str
    session: str
    seq: int
    generation: int
    key: str
    saying: Saying
    status: TurnStatus = TurnStatus.ACCEPTED
    attempt: int = 0
    saved: dict[str, str] = field(default_factory=dict)
    """What became of each call of `save_memory`."""


@dataclass
class Work:
    name: WorkName
    user: str
    session: str
    seq: int
    generation: int
    next_attempt_at: float
    publish_after: float
    state: WorkState = WorkState.PENDING
    attempts: int = 0
    token: str | None = None
    lease_until: float = 0.0
    deadline_at: float | None = None
    generation_changed: bool = False
    """It has ended because its user cleared their memory."""
    dry_run: bool = False
    outcomes: tuple[str, ...] = ()


@dataclass
class ReplayJob:
    user: str
    dry_run: bool
    created_at: float
    turns: dict[str, str]
    """State by turn, in the order of seq."""
    runs: dict[str, int] = field(default_factory=dict)


@dataclass
class State:
    now: float = 0.0
    users: dict[str, User] = field(default_factory=dict)
    sessions: dict[str, Session] = field(default_factory=dict)
    turns: dict[str, Turn] = field(default_factory=dict)
    work: dict[WorkName, Work] = field(default_factory=dict)
    jobs: dict[str, ReplayJob] = field(default_factory=dict)
    unread: list[WorkName] = field(default_factory=list)
    """Published, and read by nobody."""
    groups_exist: bool = True

    def user(self, name: str) -> User:
        return self.users.setdefault(name, User())

    def session(self, user: str, name: str) -> Session:
        found = self.sessions.get(name)
        if found is None or found.user != user:
            raise ProblemError(ProblemCode.NOT_FOUND)
        return found

    def turn(self, user: str, name: str) -> Turn:
        found = self.turns.get(name)
        if found is None or found.user != user:
            raise ProblemError(ProblemCode.NOT_FOUND)
        return found

    def work_of(self, user: str, name: WorkName) -> Work:
        found = self.work.get(name)
        if found is None or found.user != user:
            raise ProblemError(ProblemCode.NOT_FOUND)
        return found

    def turns_of(self, user: str, session: str | None = None) -> Sequence[Turn]:
        """In the order in which they were accepted."""
        mine = (each for each in self.turns.values() if each.user == user and session in (None, each.session))
        return sorted(mine, key=lambda each: each.seq)

    def add_work(self, kind: WorkKind, subject: str, turn: Turn, run: int = 0, *, dry_run: bool = False) -> None:
        name = WorkName(kind, subject, run)
        due_at, publish_after = self.now, self.now + PUBLISH_GRACE
        self.work[name] = Work(
            name, turn.user, turn.session, turn.seq, turn.generation, due_at, publish_after, dry_run=dry_run
        )
