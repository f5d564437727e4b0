"""What a turn's life is told in: the calls that everybody involved may make, and what they are answered.

Everything has a short name instead of an id, so that two stores can give the same answers. Refusals are raised as
`ProblemError` with the code that the memory service answers.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, Protocol

from common.memory_api.dispatch import WorkKind


class ProcessDied(BaseException):
    """In place of SIGKILL: nothing that handles errors may see it."""


class Shape(StrEnum):
    """What an entry of a session's log is; its words do not matter here."""

    MEMORY = "memory"
    CALL = "call"
    RESULT = "result"
    ANSWER = "answer"
    NOTICE = "notice"
    ERASED = "erased"


class Entry(NamedTuple):
    """An entry to append. `call` is the id of the tool call that it makes or answers."""

    name: str
    shape: Shape
    call: str = ""


class LogLine(NamedTuple):
    turn: str
    shape: Shape


class Saying(NamedTuple):
    """What a turn's user wants to be remembered."""

    key: str
    value: str


class WorkName(NamedTuple):
    """A work record, and the event that wakes its worker. `subject` is a turn, or a session that was closed."""

    kind: WorkKind
    subject: str
    run: int = 0


@dataclass(frozen=True)
class Accepted:
    turn: str
    seq: int
    generation: int


@dataclass(frozen=True)
class Claimed:
    attempt: int
    head: int
    log: tuple[LogLine, ...]


@dataclass(frozen=True)
class KnownFact:
    """`rank` is that of its last writer; `evidence` names the turns that support it."""

    value: str
    seq: int
    rank: int
    run: int
    evidence: frozenset[str]


@dataclass(frozen=True)
class View:
    """All that a store holds of one user."""

    seq: int
    generation: int
    sessions: Mapping[str, str] = field(default_factory=dict)
    """Open or ended."""
    turns: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    """Status and attempt."""
    logs: Mapping[str, tuple[LogLine, ...]] = field(default_factory=dict)
    work: Mapping[WorkName, tuple[str, int]] = field(default_factory=dict)
    """State and attempts."""
    facts: Mapping[str, KnownFact] = field(default_factory=dict)
    replays: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """State of each turn of each job."""


class TurnLife(Protocol):
    """A store of turns and all that happens to them. Tokens, keys and request ids are chosen by the caller."""

    # The user, through the gateway.
    def open_session(self, user: str, session: str) -> None: ...
    def submit(self, user: str, session: str, key: str, saying: Saying, turn: str) -> Accepted:
        """`turn` is the name in case it is a new one."""

    def cancel(self, user: str, turn: str) -> str: ...
    def end_session(self, user: str, session: str) -> str: ...
    def put(self, user: str, saying: Saying) -> None: ...
    def delete(self, user: str, key: str) -> None: ...
    def clear(self, user: str, request: str) -> int: ...
    def erase(self, user: str, request: str) -> int: ...

    # An agent.
    def claim(self, user: str, turn: str, token: str) -> Claimed: ...
    def renew(self, user: str, turn: str, token: str) -> None: ...
    def append(self, user: str, turn: str, token: str, head: int, entries: Sequence[Entry]) -> int: ...
    def save(self, user: str, turn: str, token: str, call: str, saying: Saying) -> str: ...
    def finish(self, user: str, turn: str, token: str, head: int, entries: Sequence[Entry], *, failed: bool) -> str: ...
    def give_back(self, user: str, turn: str, token: str, *, spend: bool, retry_in: float) -> None: ...

    # A curator.
    def claim_curation(self, user: str, turn: str, run: int, token: str) -> int:
        """The attempt."""

    def ingest(self, user: str, turn: str, run: int, token: str, proposed: Sequence[Saying]) -> tuple[str, ...]: ...
    def fail_curation(self, user: str, turn: str, run: int, token: str, *, spend: bool) -> None: ...
    def finish_closing(self, user: str, session: str) -> None: ...

    # An operator.
    def redrive(self, work: WorkName) -> None: ...
    def discard(self, work: WorkName) -> None: ...
    def start_replay(self, job: str, user: str, *, dry_run: bool) -> None: ...

    # The memory service's own beats, which may die in the middle, and time.
    def sweep(self, *, dies: bool) -> None: ...
    def replay_beat(self, *, dies: bool) -> None: ...
    def advance(self, seconds: int) -> None: ...
    def dying_before_commit(self) -> AbstractContextManager[None]:
        """Whatever is asked inside is undone: the process died when it was about to commit."""

    # Redis.
    def publish(self, user: str, work: WorkName) -> None: ...
    def receive(self) -> Sequence[WorkName]:
        """Everything that no consumer has read, sorted; groups that were lost are made again."""

    def wipe_redis(self) -> None: ...

    def view(self, user: str) -> View: ...
