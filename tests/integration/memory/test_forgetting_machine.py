"""Promise 4 under fire: whatever order things happen in, what the user cleared, deleted, refused or erased stays away.

A state machine drives the real use cases over the real database. Agents and curators hold what they have read and may
go on with it at any later time; every event that was ever published may come again; the user speaks in between, or at
the same moment. After every step all rows of the user are read in the clear and compared with what may still be there.

The model knows three scopes. *Marks* (delete, refuse): a value may stand under a key only if it was said after the
mark. *Traces*: words that the model showed, wrote or quoted because of a memory die with a clear. *Sayings*: what the
user said dies with an erasure only.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, cast
from uuid import UUID, uuid4

import asyncpg
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from redis.asyncio import Redis
from tests.support.memory_service import MovableClock, memory_settings
from tests.support.readable_rows import UNREADABLE, places_of, read_rows

from common.crash_points import CrashPoints
from common.events import Cause
from common.ids import new_id
from common.memory_api import operations as op
from common.memory_api.base import OwnedRequest, Owner
from common.memory_api.curation import ClaimCuration, Ingest
from common.memory_api.dispatch import CheckInvariants, WorkKind
from common.memory_api.facts import (
    CandidateRequest,
    ClearMemory,
    FactAction,
    FactEditRequest,
    FactKeyRequest,
    ImportFacts,
    ProposedFact,
    PutFact,
    ReadFacts,
    RestoreFact,
    SaveFact,
)
from common.memory_api.personal_data import EraseUser
from common.memory_api.sessions import CreateSession, Layer, NewLogEntry
from common.memory_api.turns import AcceptTurn, AppendStep, Behaviour, ClaimTurn, FinishTurn, MemoryUse
from common.memory_api.user_data import BehaviourKind
from common.problems import ProblemCode, ProblemError
from common.telemetry.metrics import Metrics
from common.telemetry.table import MEMORY
from devstack.database import DatabaseUrls
from memory.api import InternalApi
from memory.app import build_database
from memory.authentication import ServiceTokens
from memory.dispatch.publisher import EventPublisher
from memory.dispatch.sweeper import Sweeper
from memory.encryption.rotation import rotate_key
from memory.policy import Policy
from memory.retention.job import RetentionJob

VALUES = ("只穿深蓝色的外套", "鞋子要四十二码半", "不吃带花生的零食", "东西都寄去汉堡")
KEYS = ("colour", "size", "food")
STAGES = ("accepted", "claimed", "shown", "saved", "finished", "in curation", "curated")


A_NO = frozenset(
    {
        ProblemCode.NOT_FOUND,
        ProblemCode.TURN_OPEN,
        ProblemCode.SESSION_ENDED,
        ProblemCode.LEASE_LOST,
        ProblemCode.LEASE_HELD,
        ProblemCode.NOT_DUE,
        ProblemCode.ALREADY_DONE,
        ProblemCode.HEAD_MOVED,
        ProblemCode.GENERATION_CHANGED,
        ProblemCode.FACT_OUTDATED,
    }
)
"""What memory may answer to somebody who is late. Anything else is a failure of the test."""


@dataclass
class Agent:
    """Works on a turn with what it has read so far, whatever has happened since."""

    turn_id: UUID
    token: UUID
    head: int
    value: str
    traces: list[str] = field(default_factory=list)


@dataclass
class Curator:
    turn_id: UUID
    token: UUID
    run: int
    value: str


@dataclass(frozen=True)
class Published:
    """An event as it lies in a stream; it may be read any number of times."""

    kind: WorkKind
    subject_id: UUID
    run: int


Word = Callable[[str, str], Awaitable[None]]


class StreamInMemory:
    """Stands for Redis: never lags, never forgets."""

    def __init__(self) -> None:
        self.owner: Owner | None = None
        self.events: list[Published] = []

    async def publish(self, record: Any, cause: Cause, now: Any) -> bool:
        if self.owner is not None and record.user_id == self.owner.user_id:
            self.events.append(Published(WorkKind(record.kind), record.subject_id, record.run))
        return True

    async def is_lagging(self, kind: WorkKind) -> bool:
        return False


class World:
    """The service's parts in this process, on a loop of their own."""

    def __init__(self, database_urls: DatabaseUrls, valkey: str, directory: Path) -> None:
        told = memory_settings(database_urls, valkey, directory)
        self.clock = MovableClock()
        self.loop = asyncio.new_event_loop()
        policy = Policy()
        metrics = Metrics(MEMORY)
        self.database = build_database(told, policy, self.clock)
        self.redis = Redis.from_url(valkey)
        self.stream = StreamInMemory()
        crash_points = CrashPoints.from_environment()
        self.api = InternalApi(self.database, self.redis, ServiceTokens({}), self.clock, crash_points)
        publisher = cast(EventPublisher, self.stream)
        self.sweeper = Sweeper(self.database, publisher, policy, self.clock, crash_points, policy.lease, metrics)
        self.retention = RetentionJob(self.database, self.clock, 1.0, metrics)
        self.admin = self.run(asyncpg.connect(database_urls.admin))

    def run(self, work: Awaitable[Any]) -> Any:
        return self.loop.run_until_complete(work)

    async def call(self, operation: op.Operation[Any, Any], request: Any) -> Any:
        answer = await self.api._use_case(operation)(request)
        if isinstance(answer, ProblemError):
            raise answer
        return answer

    async def rows_of(self, owner: Owner) -> Mapping[str, list[str]]:
        return await read_rows(self.admin, self.database, owner)

    def close(self) -> None:
        self.run(self.admin.close())
        self.run(self.database.close())
        self.run(self.redis.aclose())
        self.loop.close()


class Forgetting(RuleBasedStateMachine):
    world: World

    @initialize()
    def begin(self) -> None:
        self.owner = Owner(tenant_id="t", user_id=f"u-{uuid4()}")
        self.names = {"owner": self.owner}
        self.agents: list[Agent] = []
        self.curators: list[Curator] = []
        self.sessions: list[UUID] = []
        self.said: dict[UUID, str] = {}
        self.count = 0
        self.marks: dict[tuple[str, str], int] = {}
        """(key, value) to the newest seq at which the user spoke against it; `*` stands for any."""
        self.stood: set[tuple[str, str, int]] = set()
        """Facts that stood under another key when their value was marked: the user's no was not to them."""
        self.cleared_at = -1
        self.living_traces: set[str] = set()
        self.dead: set[str] = set()
        self.sayings: set[str] = set()
        self.racing = False
        self.world.stream.owner = self.owner
        self.world.stream.events.clear()

    @rule(random=st.randoms(use_true_random=True))
    def something_happens(self, random: Random) -> None:
        """Drawn by weight and not by Hypothesis, which likes the same few things over and over; what it still does is
        to drop the steps that a failure does not need."""
        happenings = {
            self._a_turn_comes: 5,
            self._somebody_goes_on: 3,
            self._an_event_is_read_once_more: 1,
            self._time_passes: 1,
            self._the_key_is_rotated: 0.3,
            self._saying(self._delete): 2,
            self._saying(self._refuse): 2,
            self._saying(self._clear): 1,
            self._saying(self._erase): 0.5,
            self._saying(self._put): 0.5,
            self._saying(self._import): 0.5,
            self._saying(self._restore): 0.5,
            self._saying(self._accept_candidate): 0.5,
        }
        random.choices(list(happenings), list(happenings.values()))[0](random)

    # What the system does.

    def _a_turn_comes(self, random: Random) -> None:
        """As far as some stage, and stays there until somebody goes on with it."""
        self._try(self._come_to(random.randrange(len(STAGES)), random))

    def _somebody_goes_on(self, random: Random) -> None:
        if self._workers():
            self._try(self._act(random))

    def _an_event_is_read_once_more(self, random: Random) -> None:
        if self.world.stream.events:
            self._try(self._deliver(random.choice(self.world.stream.events)))

    def _time_passes(self, random: Random) -> None:
        """The sweeper comes, or after a day the retention job."""
        seconds = random.choice([3.0, 20.0, 200.0, 86_400.0])
        self.world.clock.advance(seconds)
        self.world.run(self.world.sweeper.sweep() if seconds < 1_000 else self.world.retention.run_round())

    def _the_key_is_rotated(self, _: Random) -> None:
        self._try(rotate_key(self.world.database, self.owner))

    # What the user says, alone or at the same moment as somebody else goes on; and then others go on.

    def _saying(self, word: Word) -> Callable[[Random], None]:
        def say(random: Random) -> None:
            rows = self.world.run(self.world.rows_of(self.owner))
            standing = sorted({key for table, key, _, _ in self._memories(rows) if table == "memory_facts"})
            said = word(random.choice(standing or KEYS), random.choice(VALUES))
            if self._workers() and random.random() < 0.4:
                self._at_once(self._act(random), said)
            else:
                self._try(said)
            for _ in range(random.randrange(3) if self._workers() else 0):
                self.nothing_has_come_back()
                self._try(self._act(random))

        return say

    def _at_once(self, act: Awaitable[None], said: Awaitable[None]) -> None:
        async def together() -> None:
            await asyncio.gather(self._permitted(act), self._permitted(said))

        self.racing = True
        self.world.run(together())
        self.racing = False

    # What must hold.

    @invariant()
    def nothing_has_come_back(self) -> None:
        rows = self.world.run(self.world.rows_of(self.owner))
        assert UNREADABLE not in {value for values in rows.values() for value in values}
        for words in self.dead:
            assert places_of(rows, words) == [], f"{words} is back"
        for table, key, value, seq in self._memories(rows):
            assert seq > self.cleared_at, f"{table} {key} of a cleared generation"
            assert seq > self.marks.get((key, "*"), -1), f"{table} {key} is older than the user's word"
            if table != "memory_fact_versions" and (key, value, seq) not in self.stood:
                assert seq > self.marks.get(("*", value), -1), f"{table} {value} is older than the user's word"

    def teardown(self) -> None:
        """Whatever happened: what the user says from now on is kept."""
        if not hasattr(self, "owner"):
            return
        self.world.run(self._says_something_new())
        report = self.world.run(self.world.call(op.CHECK_INVARIANTS, CheckInvariants()))
        assert report.clean, report.violations
        self._try(self._erase("", ""))
        self.nothing_has_come_back()

    # How they do it.

    def _try(self, work: Awaitable[Any]) -> None:
        self.world.run(self._permitted(work))

    @staticmethod
    async def _permitted(work: Awaitable[Any]) -> None:
        try:
            await work
        except ProblemError as problem:
            if problem.code not in A_NO:
                raise

    def _next(self, kind: str) -> str:
        self.count += 1
        return f"{kind}-{self.count}-canary"

    async def _accept(self, value: str, again: bool) -> None:
        if not (again and self.sessions):
            session = await self.world.call(op.CREATE_SESSION, CreateSession(**self.names))
            self.sessions.append(session.session_id)
        saying = self._next("said")
        self.sayings.add(saying)
        accepted = await self.world.call(
            op.ACCEPT_TURN,
            AcceptTurn(
                **self.names,
                session_id=self.sessions[-1],
                idempotency_key=str(uuid4()),
                text=f"{saying} 请记住，{value}",
            ),
        )
        self.said[accepted.turn.turn_id] = value
        self.world.stream.events.append(Published(WorkKind.TURN, accepted.turn.turn_id, 0))

    async def _come_to(self, stage: int, random: Random) -> None:
        await self._accept(random.choice(VALUES), again=random.random() < 0.5)
        if stage >= STAGES.index("claimed"):
            await self._deliver(self.world.stream.events[-1])
            for name, act in (("shown", self._step), ("saved", self._save), ("finished", self._finish)):
                if stage >= STAGES.index(name):
                    await act(self.agents[-1])
        if stage >= STAGES.index("in curation"):
            await self._deliver(self.world.stream.events[-1])
        if stage >= STAGES.index("curated"):
            await self._ingest(self.curators[-1], random.choice(KEYS))

    async def _deliver(self, event: Published) -> None:
        token = uuid4()
        named = {**self.names, "turn_id": event.subject_id, "lease_token": token}
        value = self.said.get(event.subject_id, VALUES[0])
        if event.kind is WorkKind.TURN:
            claimed = await self.world.call(op.CLAIM_TURN, ClaimTurn(**named))
            shown = [entry.payload for entry in claimed.log if entry.bears_memory]
            traces = [trace for trace in self.living_traces if any(trace in payload for payload in shown)]
            self.agents.append(Agent(event.subject_id, token, claimed.head, value, traces))
        else:
            claimed = await self.world.call(op.CLAIM_CURATION, ClaimCuration(**named, run=event.run))
            self.curators.append(Curator(event.subject_id, token, event.run, value))

    def _workers(self) -> list[Agent | Curator]:
        """Those who came last: their leases may still be held."""
        return [*self.curators[-2:], *self.agents[-2:]]

    def _act(self, random: Random) -> Awaitable[None]:
        """What an agent or a curator does next."""
        somebody = random.choice(self._workers())
        if isinstance(somebody, Curator):
            return self._ingest(somebody, random.choice(KEYS))
        return random.choice([self._step, self._save, self._finish])(somebody)

    async def _step(self, agent: Agent) -> None:
        """Show the facts to the model, and let it quote one of them in its answer."""
        read = await self.world.call(op.READ_FACTS, ReadFacts(**self.names))
        trace = self._next("shown")
        self.living_traces.add(trace)
        agent.traces.append(trace)
        lines = "\\n".join(fact.value for fact in read.facts)
        entry = NewLogEntry(
            entry_id=new_id(),
            layer=Layer.L5,
            payload=f'{{"role":"user","content":"{trace} {lines}"}}',
            bears_memory=True,
            memory_fact_ids=[fact.fact_id for fact in read.facts],
        )
        appended = await self.world.call(
            op.APPEND_STEP,
            AppendStep(
                **self.names,
                turn_id=agent.turn_id,
                lease_token=agent.token,
                expected_head=agent.head,
                entries=[entry],
            ),
        )
        agent.head = appended.head

    async def _save(self, agent: Agent) -> None:
        for key, value in ((KEYS[0], agent.value), (KEYS[1], agent.value)):
            await self.world.call(
                op.SAVE_FACT,
                SaveFact(
                    **self.names,
                    turn_id=agent.turn_id,
                    lease_token=agent.token,
                    call_id=str(uuid4()),
                    proposed=ProposedFact(key=key, value=value),
                ),
            )

    async def _finish(self, agent: Agent) -> None:
        known = await self.world.call(op.READ_FACTS, ReadFacts(**self.names))
        quoted = " ".join(agent.traces) or "好的"
        entry = NewLogEntry(
            entry_id=new_id(),
            layer=Layer.L3,
            payload=f'{{"role":"assistant","content":"{quoted}"}}',
            bears_memory=bool(agent.traces),
        )
        await self.world.call(
            op.FINISH_TURN,
            FinishTurn(
                **self.names,
                turn_id=agent.turn_id,
                lease_token=agent.token,
                expected_head=agent.head,
                entries=[entry],
                reply=quoted,
                behaviour=[Behaviour(kind=BehaviourKind.SEARCH, text=quoted)],
                memory_uses=[MemoryUse(fact_id=fact.fact_id, how="injected") for fact in known.facts],
            ),
        )
        self.world.stream.events.append(Published(WorkKind.CURATE_TURN, agent.turn_id, 0))

    async def _ingest(self, curator: Curator, key: str) -> None:
        """The value under two keys, and a guess that waits for the user."""
        guess = next(value for value in VALUES if value != curator.value)
        proposed = [
            ProposedFact(key=key, value=curator.value),
            ProposedFact(key=KEYS[(KEYS.index(key) + 1) % len(KEYS)], value=curator.value),
            ProposedFact(key=key, value=guess),
        ]
        await self.world.call(
            op.INGEST,
            Ingest(
                **self.names,
                turn_id=curator.turn_id,
                lease_token=curator.token,
                run=curator.run,
                proposed=proposed,
            ),
        )

    async def _put(self, key: str, value: str) -> None:
        await self.world.call(op.PUT_FACT, PutFact(**self.names, proposed=ProposedFact(key=key, value=value)))

    async def _import(self, key: str, value: str) -> None:
        lines = [ProposedFact(key=key, value=value), ProposedFact(key=KEYS[0], value=value)]
        await self.world.call(op.IMPORT_FACTS, ImportFacts(**self.names, proposed=lines))

    async def _restore(self, key: str, value: str) -> None:
        history = await self.world.call(op.FACT_HISTORY, FactKeyRequest(**self.names, key=key))
        if history.versions:
            version_id = history.versions[-1].version_id
            await self.world.call(op.RESTORE_FACT, RestoreFact(**self.names, version_id=version_id))

    async def _accept_candidate(self, key: str, value: str) -> None:
        waiting = (await self.world.call(op.LIST_CANDIDATES, OwnedRequest(**self.names))).candidates
        if waiting:
            chosen = CandidateRequest(**self.names, candidate_id=waiting[0].candidate_id)
            await self.world.call(op.ACCEPT_CANDIDATE, chosen)

    async def _delete(self, key: str, value: str) -> None:
        gone = await self._values_under(key)
        if gone:
            about = [(key, "*"), *(("*", each) for each in gone)]
            await self._speak_against(about, op.DELETE_FACT, FactEditRequest(**self.names, key=key))

    async def _refuse(self, key: str, value: str) -> None:
        waiting = (await self.world.call(op.LIST_CANDIDATES, OwnedRequest(**self.names))).candidates
        if waiting:
            chosen = waiting[-1]
            # Where a fact of the key stands, the no is to the value alone. (The test may not know which comes first.)
            alone = self.racing or await self._values_under(chosen.key)
            about = [("*", chosen.value)] if alone else [("*", chosen.value), (chosen.key, "*")]
            request = CandidateRequest(**self.names, candidate_id=chosen.candidate_id)
            await self._speak_against(about, op.REFUSE_CANDIDATE, request)

    async def _speak_against(
        self, about: Iterable[tuple[str, str]], operation: op.Operation[Any, Any], request: Any
    ) -> None:
        """The user's word takes the next seq. Facts that stand under other keys are not what it is about."""
        seq = await self._seq() + 1
        stood = await self._facts()
        await self.world.call(operation, request)
        self.stood |= stood | (await self._facts() if self.racing else set())
        for key_and_value in about:
            self.marks[key_and_value] = seq

    async def _clear(self, key: str, value: str) -> None:
        seq = await self._seq()
        await self.world.call(op.CLEAR_MEMORY, ClearMemory(**self.names, request_id=uuid4()))
        self._is_cleared(seq)

    async def _erase(self, key: str, value: str) -> None:
        seq = await self._seq()
        await self.world.call(op.ERASE_USER, EraseUser(**self.names, request_id=uuid4()))
        self._is_cleared(seq)
        self.dead |= self.sayings
        self.sayings.clear()

    def _is_cleared(self, seq: int) -> None:
        self.cleared_at = seq
        self.marks.clear()
        self.stood.clear()
        self.dead |= self.living_traces
        self.living_traces.clear()

    async def _facts(self) -> set[tuple[str, str, int]]:
        rows = await self.world.rows_of(self.owner)
        return {(key, value, seq) for table, key, value, seq in self._memories(rows) if table == "memory_facts"}

    async def _values_under(self, key: str) -> set[str]:
        rows = await self.world.rows_of(self.owner)
        return {
            value
            for table, under, value, _ in self._memories(rows)
            if under == key and table in ("memory_facts", "memory_fact_versions")
        }

    async def _seq(self) -> int:
        rows = await self.world.rows_of(self.owner)
        return int(next(iter(rows.get("users.seq", ["0"]))))

    @staticmethod
    def _memories(rows: Any) -> list[tuple[str, str, str, int]]:
        """Table, key, value and seq of everything that is remembered or waits to be."""
        found = []
        for table in ("memory_facts", "memory_fact_versions", "memory_candidates"):
            columns = (rows.get(f"{table}.{name}", []) for name in ("fact_key", "value", "seq"))
            found += [(table, key, value, int(seq)) for key, value, seq in zip(*columns, strict=True)]
        return found

    async def _says_something_new(self) -> None:
        await self._accept(VALUES[0], again=False)
        await self._deliver(self.world.stream.events[-1])
        await self._finish(self.agents[-1])
        await self._deliver(self.world.stream.events[-1])
        curator = self.curators[-1]
        new = ProposedFact(key="something_new", value=VALUES[0])
        ingested = await self.world.call(
            op.INGEST,
            Ingest(**self.names, turn_id=curator.turn_id, lease_token=curator.token, run=curator.run, proposed=[new]),
        )
        assert [each.action for each in ingested.outcomes] in ([FactAction.ADDED], [FactAction.DUPLICATE])


@pytest.mark.timeout(300)
def test_what_was_cleared_deleted_refused_or_erased_stays_away(
    module_database: DatabaseUrls, valkey: str, tmp_path: Path
) -> None:
    world = World(module_database, valkey, tmp_path)
    Forgetting.world = world
    try:
        run_state_machine_as_test(
            Forgetting,
            settings=settings(
                max_examples=25,
                stateful_step_count=15,
                deadline=None,
                suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
            ),
        )
    finally:
        world.close()
