"""The same life over the memory service: its use cases in this process, PostgreSQL and Valkey as they are.

Names stand for ids, time stands still unless it is moved, and a process that dies is an exception that nothing handles.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import asyncpg
from faststream.redis import RedisBroker
from faststream.redis.parser import BinaryMessageFormatV1
from redis.asyncio import Redis
from tests.integration.memory.turn_life.vocabulary import (
    Accepted,
    Claimed,
    Entry,
    KnownFact,
    LogLine,
    ProcessDied,
    Saying,
    Shape,
    View,
    WorkName,
)
from tests.support.memory_service import memory_settings
from tests.support.readable_rows import read_rows

from common.clock import SystemClock
from common.crash_points import CrashPoint, CrashPoints
from common.events import Cause, EventAdapter, SessionClosed, TurnRequested
from common.ids import new_id
from common.memory_api import operations as op
from common.memory_api.base import Owner, TurnRequest
from common.memory_api.curation import ClaimCuration, FailCuration, Ingest
from common.memory_api.dispatch import WorkId, WorkKind
from common.memory_api.facts import ClearMemory, FactEditRequest, ProposedFact, PutFact, SaveFact
from common.memory_api.personal_data import EraseUser
from common.memory_api.replay import ReplaySelection, StartReplay
from common.memory_api.sessions import CreateSession, FinishClosing, Layer, NewLogEntry, SessionRequest
from common.memory_api.turns import (
    AcceptTurn,
    AppendStep,
    ClaimTurn,
    FailureCode,
    FinishTurn,
    ReleaseTurn,
    RenewLease,
)
from common.problems import ProblemError
from common.streams.names import ALL_GROUPS
from common.streams.sending import EventSender
from common.telemetry.metrics import Metrics
from common.telemetry.table import MEMORY
from devstack.database import DatabaseUrls
from devstack.stream_groups import create_stream_groups
from memory.api import InternalApi
from memory.app import build_database
from memory.authentication import ServiceTokens
from memory.database.transactions import Database, UserTransaction
from memory.dispatch.publisher import EventPublisher
from memory.dispatch.sweeper import Sweeper
from memory.policy import CircuitPolicy, Policy
from memory.replay.replayer import Replayer
from memory.sessions.log import ERASED_PAYLOAD

TENANT = "t"

# Pauses are over at the next second, and circuits stay out of it: they have tests of their own.
POLICY = Policy(
    max_attempts=3,
    backoff=timedelta(milliseconds=1),
    jitter=lambda: 0.0,
    circuit=CircuitPolicy(window=1_000_000),
)

_PAYLOADS: Mapping[Shape, dict[str, Any]] = {
    Shape.MEMORY: {"role": "system", "content": "<user_long_term_memory>"},
    Shape.CALL: {"role": "assistant", "content": None},
    Shape.RESULT: {"role": "tool", "content": "{}"},
    Shape.ANSWER: {"role": "assistant", "content": "好的"},
}
_NOTICE = "<system_notice>"


class StillClock(SystemClock):
    def __init__(self) -> None:
        self._now = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self._now

    def advance(self, seconds: int) -> None:
        self._now += timedelta(seconds=seconds)


class MortalCrashPoints(CrashPoints):
    """The process dies at the point that was named last."""

    def __init__(self) -> None:
        super().__init__()
        self.dies_at: CrashPoint | None = None

    def reach(self, point: CrashPoint) -> None:
        if point is self.dies_at:
            raise ProcessDied


class MortalDatabase(Database):
    """Dies when it is about to commit, if told to."""

    dies = False

    @asynccontextmanager
    async def of_user(self, owner: Owner) -> AsyncIterator[UserTransaction]:
        async with super().of_user(owner) as tx:
            yield tx
            if self.dies:
                raise ProcessDied


class ServedTurnLife:
    """Close it after use."""

    def __init__(self, urls: DatabaseUrls, redis_url: str, directory: Path) -> None:
        self._loop = asyncio.new_event_loop()
        self._clock = StillClock()
        self._redis_url = redis_url
        self._redis = Redis.from_url(redis_url)
        self._broker = RedisBroker(redis_url)
        self._admin = self._run(asyncpg.connect(urls.admin))
        self._run(self._broker.connect())
        database = build_database(memory_settings(urls, redis_url, directory), POLICY, self._clock)
        database.__class__ = MortalDatabase  # the same, but for the one method
        assert isinstance(database, MortalDatabase)
        self._database = database
        self._crash_points = MortalCrashPoints()
        metrics = Metrics(MEMORY)
        self._publisher = EventPublisher(EventSender(self._broker, metrics), self._redis, new_id)
        self._api = InternalApi(database, self._redis, ServiceTokens({}), self._clock, self._crash_points)
        self._sweeper = Sweeper(
            database, self._publisher, POLICY, self._clock, self._crash_points, POLICY.lease, metrics
        )
        self._replayer = Replayer(database, self._publisher, self._clock, 1.0, metrics, self._crash_points)
        self.begin()

    def begin(self) -> None:
        """Everybody and everything new: names mean others from now on."""
        self._ids: dict[str, UUID] = {}
        self._names: dict[UUID, str] = {}
        self._accepted: dict[str, SimpleNamespace] = {}
        self._users: set[str] = set()
        self._suffix = str(new_id())
        self._run(self._redis.flushall())
        self._run(create_stream_groups(self._redis_url))

    def end(self) -> None:
        """Nobody of the names is there any more; what is left of their work ends with the next beat."""
        for user in sorted(self._users):
            self.erase(user, str(new_id()))
        self._run(self._replayer.advance())

    def close(self) -> None:
        for closing in (self._admin.close(), self._broker.stop(), self._redis.aclose(), self._database.close()):
            self._run(closing)
        self._loop.close()

    def ask(self, operation: op.Operation[Any, Any], request: Any) -> Any:
        answer = self._run(self._api._use_case(operation)(request))
        if isinstance(answer, ProblemError):  # committed, and refused
            raise answer
        return answer

    # The user.

    def open_session(self, user: str, session: str) -> None:
        self._users.add(user)
        opened = self.ask(op.CREATE_SESSION, CreateSession(owner=self._owner(user)))
        self._name(session, opened.session_id)

    def submit(self, user: str, session: str, key: str, saying: Saying, turn: str) -> Accepted:
        accepted = self.ask(
            op.ACCEPT_TURN,
            AcceptTurn(
                owner=self._owner(user),
                session_id=self._id(session),
                idempotency_key=key,
                text=f"请记住，{saying.value}",
            ),
        ).turn
        if accepted.turn_id not in self._names:
            self._name(turn, accepted.turn_id)
            self._accepted[turn] = SimpleNamespace(**self._owner(user).model_dump(), **accepted.model_dump())
        return Accepted(self._names[accepted.turn_id], accepted.seq, accepted.purge_generation)

    def cancel(self, user: str, turn: str) -> str:
        return str(self.ask(op.CANCEL_TURN, TurnRequest(**self._of(user, turn))).status)

    def end_session(self, user: str, session: str) -> str:
        request = SessionRequest(owner=self._owner(user), session_id=self._id(session))
        return str(self.ask(op.END_SESSION, request).state)

    def put(self, user: str, saying: Saying) -> None:
        self.ask(op.PUT_FACT, PutFact(owner=self._owner(user), proposed=_proposed(saying)))

    def delete(self, user: str, key: str) -> None:
        self.ask(op.DELETE_FACT, FactEditRequest(owner=self._owner(user), key=key))

    def clear(self, user: str, request: str) -> int:
        asked = ClearMemory(owner=self._owner(user), request_id=self._id(request))
        return int(self.ask(op.CLEAR_MEMORY, asked).purge_generation)

    def erase(self, user: str, request: str) -> int:
        asked = EraseUser(owner=self._owner(user), request_id=self._id(request))
        return int(self.ask(op.ERASE_USER, asked).purge_generation)

    # An agent.

    def claim(self, user: str, turn: str, token: str) -> Claimed:
        claimed = self.ask(op.CLAIM_TURN, ClaimTurn(**self._held(user, turn, token)))
        log = tuple(LogLine(self._names[each.turn_id], _shape(each.payload)) for each in claimed.log)
        return Claimed(claimed.attempt, claimed.head, log)

    def renew(self, user: str, turn: str, token: str) -> None:
        self.ask(op.RENEW_LEASE, RenewLease(**self._held(user, turn, token)))

    def append(self, user: str, turn: str, token: str, head: int, entries: Sequence[Entry]) -> int:
        held = self._held(user, turn, token)
        request = AppendStep(**held, expected_head=head, entries=[self._entry(each) for each in entries])
        return int(self.ask(op.APPEND_STEP, request).head)

    def save(self, user: str, turn: str, token: str, call: str, saying: Saying) -> str:
        request = SaveFact(**self._held(user, turn, token), call_id=call, proposed=_proposed(saying))
        return str(self.ask(op.SAVE_FACT, request).action)

    def finish(self, user: str, turn: str, token: str, head: int, entries: Sequence[Entry], *, failed: bool) -> str:
        request = FinishTurn(
            **self._held(user, turn, token),
            expected_head=head,
            entries=[self._entry(each) for each in entries],
            failure=FailureCode.MODEL_UNAVAILABLE if failed else None,
            reply="好的",
        )
        return str(self.ask(op.FINISH_TURN, request).status)

    def give_back(self, user: str, turn: str, token: str, *, spend: bool, retry_in: float) -> None:
        held = self._held(user, turn, token)
        self.ask(op.RELEASE_TURN, ReleaseTurn(**held, spend_attempt=spend, retry_in_seconds=retry_in))

    # A curator.

    def claim_curation(self, user: str, turn: str, run: int, token: str) -> int:
        return int(self.ask(op.CLAIM_CURATION, ClaimCuration(**self._held(user, turn, token), run=run)).attempt)

    def ingest(self, user: str, turn: str, run: int, token: str, proposed: Sequence[Saying]) -> tuple[str, ...]:
        facts = [_proposed(each) for each in proposed]
        request = Ingest(**self._held(user, turn, token), run=run, proposed=facts)
        return tuple(str(each.action) for each in self.ask(op.INGEST, request).outcomes)

    def fail_curation(self, user: str, turn: str, run: int, token: str, *, spend: bool) -> None:
        held = self._held(user, turn, token)
        self.ask(op.FAIL_CURATION, FailCuration(**held, run=run, error_code="failed", spend_attempt=spend))

    def finish_closing(self, user: str, session: str) -> None:
        self.ask(op.FINISH_CLOSING, FinishClosing(owner=self._owner(user), session_id=self._id(session)))

    # An operator.

    def redrive(self, work: WorkName) -> None:
        self.ask(op.REDRIVE_WORK, self._work_id(work))

    def discard(self, work: WorkName) -> None:
        self.ask(op.DISCARD_WORK, self._work_id(work))

    def start_replay(self, job: str, user: str, *, dry_run: bool) -> None:
        selection = ReplaySelection(tenant_id=TENANT, user_id=self._owner(user).user_id)
        request = StartReplay(job_id=self._id(job), selection=selection, dry_run=dry_run, turns_per_second=1_000.0)
        self.ask(op.START_REPLAY, request)

    # Beats and time.

    def sweep(self, *, dies: bool) -> None:
        self._beat(self._sweeper.sweep(), CrashPoint.MEMORY_SWEEP_MARKED if dies else None)

    def replay_beat(self, *, dies: bool) -> None:
        self._beat(self._replayer.advance(), CrashPoint.MEMORY_REPLAY_BEGUN if dies else None)

    def advance(self, seconds: int) -> None:
        self._clock.advance(seconds)

    @contextmanager
    def dying_before_commit(self) -> Iterator[None]:
        self._database.dies = True
        try:
            yield
        finally:
            self._database.dies = False
        raise ProcessDied

    # Redis.

    def publish(self, user: str, work: WorkName) -> None:
        accepted = self._accepted[work.subject]
        record: Any = SimpleNamespace(**vars(accepted), kind=work.kind, subject_id=accepted.turn_id, run=work.run)
        assert self._run(self._publisher.publish(record, Cause.LIVE, self._clock.now()))

    def receive(self) -> Sequence[WorkName]:
        self._run(create_stream_groups(self._redis_url))
        return sorted(event for stream, group in ALL_GROUPS for event in self._read(stream, group))

    def wipe_redis(self) -> None:
        self._run(self._redis.flushall())

    def view(self, user: str) -> View:
        rows = self._run(read_rows(self._admin, self._database, self._owner(user)))
        return _View(rows, self._names).all()

    # How.

    def _run(self, work: Awaitable[Any]) -> Any:
        return self._loop.run_until_complete(work)

    def _beat(self, work: Awaitable[Any], dies_at: CrashPoint | None) -> None:
        self._crash_points.dies_at = dies_at
        try:
            self._run(work)
        finally:
            self._crash_points.dies_at = None

    def _read(self, stream: str, group: str) -> list[WorkName]:
        answer = self._run(self._redis.xreadgroup(group, "consumer", {stream: ">"}, count=10_000, noack=True))
        entries = [fields for _, found in answer for _, fields in found]
        events = [EventAdapter.validate_json(BinaryMessageFormatV1.parse(each[b"__data__"])[0]) for each in entries]
        return [named for event in events if (named := self._event_name(event)) is not None]

    def _event_name(self, event: Any) -> WorkName | None:
        """None for an event of somebody from before."""
        if isinstance(event, SessionClosed):
            kind, subject = WorkKind.CLOSE_SESSION, event.session_id
        else:
            kind = WorkKind.TURN if isinstance(event, TurnRequested) else WorkKind.CURATE_TURN
            subject = event.turn_id
        return WorkName(kind, self._names[subject], event.run) if subject in self._names else None

    def _owner(self, user: str) -> Owner:
        return Owner(tenant_id=TENANT, user_id=f"{user}-{self._suffix}")

    def _of(self, user: str, turn: str) -> dict[str, Any]:
        return {"owner": self._owner(user), "turn_id": self._id(turn)}

    def _held(self, user: str, turn: str, token: str) -> dict[str, Any]:
        return {**self._of(user, turn), "lease_token": self._id(token)}

    def _entry(self, entry: Entry) -> NewLogEntry:
        payload = dict(_PAYLOADS[entry.shape])
        if entry.shape is Shape.CALL:
            call = {"id": entry.call, "type": "function", "function": {"name": "save_memory", "arguments": "{}"}}
            payload["tool_calls"] = [call]
        elif entry.shape is Shape.RESULT:
            payload["tool_call_id"] = entry.call
        is_memory = entry.shape is Shape.MEMORY
        return NewLogEntry(
            entry_id=self._id(entry.name),
            layer=Layer.L5 if is_memory else Layer.L3,
            payload=json.dumps(payload),
            bears_memory=is_memory,
        )

    def _work_id(self, work: WorkName) -> WorkId:
        return WorkId(kind=work.kind, subject_id=self._id(work.subject), run=work.run)

    def _id(self, name: str) -> UUID:
        """The id that the name stands for; a new one at first sight."""
        if name not in self._ids:
            self._name(name, new_id())
        return self._ids[name]

    def _name(self, name: str, given: UUID) -> None:
        self._ids[name] = given
        self._names[given] = name


class _View:
    """A user's rows in the vocabulary. Only columns that are never null: those of a table have one length."""

    def __init__(self, rows: Mapping[str, Sequence[str]], names: Mapping[UUID, str]) -> None:
        self._rows = rows
        self._names = names

    def all(self) -> View:
        ((seq, generation),) = self._table("users", "seq", "memory_purge_gen") or [("0", "0")]
        return View(
            seq=int(seq),
            generation=int(generation),
            sessions={self._name(each): state for each, state in self._table("sessions", "session_id", "state")},
            turns={
                self._name(each): (status, int(attempt))
                for each, status, attempt in self._table("turns", "turn_id", "status", "attempt")
            },
            logs=self._logs(),
            work={
                WorkName(WorkKind(kind), self._name(subject), int(run)): (state, int(attempts))
                for kind, subject, run, state, attempts in self._table(
                    "dispatch", "kind", "subject_id", "run", "state", "attempts"
                )
            },
            facts=self._facts(),
            replays={
                (self._name(job), self._name(turn)): state
                for job, turn, state in self._table("replay_turns", "job_id", "turn_id", "state")
            },
        )

    def _logs(self) -> dict[str, tuple[LogLine, ...]]:
        entries = self._table("session_log", "session_id", "position", "turn_id", "payload")
        logs: dict[str, tuple[LogLine, ...]] = {}
        for session, _, turn, payload in sorted(entries, key=lambda each: int(each[1])):
            name = self._name(session)
            logs[name] = (*logs.get(name, ()), LogLine(self._name(turn), _shape(payload)))
        return logs

    def _facts(self) -> dict[str, KnownFact]:
        evidence: dict[str, set[str]] = {}
        for fact_id, turn in self._table("memory_fact_evidence", "fact_id", "turn_id"):
            evidence.setdefault(fact_id, set()).add(self._name(turn))
        rows = self._table("memory_facts", "fact_id", "fact_key", "value", "seq", "rank", "run")
        return {
            key: KnownFact(value, int(seq), int(rank), int(run), frozenset(evidence.get(fact_id, ())))
            for fact_id, key, value, seq, rank, run in rows
        }

    def _table(self, table: str, *columns: str) -> list[tuple[str, ...]]:
        return list(zip(*(self._rows.get(f"{table}.{column}", ()) for column in columns), strict=True))

    def _name(self, given: str) -> str:
        return self._names[UUID(given)]


def _shape(payload: str) -> Shape:
    if payload == ERASED_PAYLOAD:
        return Shape.ERASED
    message = json.loads(payload)
    match message["role"]:
        case "tool":
            return Shape.RESULT
        case "assistant":
            return Shape.CALL if message.get("tool_calls") else Shape.ANSWER
        case "user":
            assert _NOTICE in message["content"]
            return Shape.NOTICE
        case _:
            return Shape.MEMORY


def _proposed(saying: Saying) -> ProposedFact:
    return ProposedFact(key=saying.key, value=saying.value)
