"""A replay in a test: the service's own database and Redis, a `Replayer` moved on by hand, and what it published."""

from collections.abc import Mapping
from uuid import UUID, uuid4

from faststream.redis import RedisBroker
from faststream.redis.parser import BinaryMessageFormatV1
from redis.asyncio import Redis
from tests.support.memory_service import ATurn, MemoryService

from common.crash_points import CrashPoints
from common.events import EventAdapter, TurnCompleted
from common.ids import new_id
from common.memory_api import operations as op
from common.memory_api.base import Owner
from common.memory_api.facts import FactOutcome, ProposedFact
from common.memory_api.operations import Service
from common.memory_api.replay import ReplayJob, ReplayReport, ReplaySelection, ShowReplay, StartReplay
from common.streams.names import TURN_COMPLETED
from common.streams.sending import EventSender
from common.telemetry.metrics import Metrics
from common.telemetry.table import MEMORY
from memory.app import build_database
from memory.dispatch.publisher import EventPublisher
from memory.policy import Policy
from memory.replay.replayer import Replayer

_INTERVAL_SECONDS = 1.0


class Replaying:
    def __init__(self, memory: MemoryService, redis: Redis, broker: RedisBroker) -> None:
        self._memory = memory
        self._redis = redis
        self._broker = broker
        self.database = build_database(memory.settings, Policy.of(memory.settings), memory.clock)
        self.metrics = Metrics(MEMORY)
        self.restart()

    def restart(self) -> None:
        """A new process: nothing is known but what PostgreSQL remembers."""
        publisher = EventPublisher(EventSender(self._broker, self.metrics), self._redis, new_id)
        self.replayer = Replayer(
            self.database, publisher, self._memory.clock, _INTERVAL_SECONDS, Metrics(MEMORY), CrashPoints()
        )

    async def start(self, owner: Owner, chosen: Mapping[str, object] | None = None, *, dry_run: bool = False) -> UUID:
        of_user = {"tenant_id": owner.tenant_id, "user_id": owner.user_id}
        selection = ReplaySelection.model_validate({**of_user, **(chosen or {})})
        request = StartReplay(job_id=uuid4(), selection=selection, dry_run=dry_run, turns_per_second=100.0)
        job: ReplayJob = await self._memory.call(Service.OPERATOR, op.START_REPLAY, request)
        return job.job_id

    async def beat(self) -> list[TurnCompleted]:
        """Move the jobs on, a second later; returns what was published."""
        self._memory.clock.advance(_INTERVAL_SECONDS)
        await self.replayer.advance()
        return await self.published()

    async def published(self) -> list[TurnCompleted]:
        """Events on the stream, taken off it."""
        entries: list[tuple[bytes, dict[bytes, bytes]]] = await self._redis.xrange(TURN_COMPLETED)  # type: ignore[assignment]
        await self._redis.xtrim(TURN_COMPLETED, maxlen=0)
        bodies = [BinaryMessageFormatV1.parse(fields[b"__data__"])[0] for _, fields in entries]
        return [EventAdapter.validate_json(body) for body in bodies]  # type: ignore[misc]

    async def curate(self, event: TurnCompleted, *proposed: ProposedFact) -> list[FactOutcome]:
        """What a curator makes of the event."""
        turn, token = self.turn_of(event), uuid4()
        await self._memory.claim_curation(turn, token, event.run)
        return await self._memory.ingest(turn, token, *proposed, run=event.run)

    def turn_of(self, event: TurnCompleted) -> ATurn:
        owner = Owner(tenant_id=event.tenant_id, user_id=event.user_id)
        return ATurn(owner, event.session_id, event.turn_id, uuid4())

    async def report(self, job_id: UUID) -> ReplayReport:
        report: ReplayReport = await self._memory.call(
            Service.OPERATOR, op.SHOW_REPLAY, ShowReplay(job_id=job_id, turns=1_000)
        )
        return report
