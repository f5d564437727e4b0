"""What memory tells about waiting work and about what use cases did: the truth of the database, and only what was
committed."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from uuid import uuid4

import pytest
from redis.asyncio import Redis
from sqlalchemy import update
from tests.support.memory_service import MemoryService
from tests.support.scraping import Scraped, parse

from common.memory_api.base import Owner
from common.memory_api.dispatch import WorkKind, WorkState
from common.streams.names import AGENT_GROUP, TURN_REQUESTED
from common.telemetry import table
from common.telemetry.metrics import Metrics
from memory.app import build_database
from memory.database.schema import dispatch
from memory.database.transactions import Database
from memory.dispatch.backlog import Backlog
from memory.dispatch.records import lock_work, revoke
from memory.policy import Policy


@dataclass
class Looking:
    metrics: Metrics
    database: Database
    backlog: Backlog

    async def look(self) -> Scraped:
        await self.backlog.observe()
        return parse(self.metrics.text().decode())


@pytest.fixture
async def looking(memory: MemoryService, redis_url: str) -> AsyncIterator[Looking]:
    metrics = Metrics(table.MEMORY)
    database = build_database(memory.settings, Policy.of(memory.settings), memory.clock, metrics)
    async with Redis.from_url(redis_url) as redis:
        yield Looking(metrics, database, Backlog(database, redis, memory.clock, 1.0, metrics))
    await database.close()


async def test_work_is_counted_by_state_and_its_age_is_that_of_the_oldest_due(
    memory: MemoryService, looking: Looking, owner: Owner
) -> None:
    before = await looking.look()
    assert before.value(table.OLDEST_DUE_WORK, kind="turn") == 0
    first = await memory.accept(owner)
    memory.clock.advance(30)
    await memory.accept(Owner(tenant_id="t1", user_id=f"u-{uuid4()}"))
    after = await looking.look()
    assert after.value(table.WORK_RECORDS, kind="turn", state="pending") == 2
    assert 30 <= after.value(table.OLDEST_DUE_WORK, kind="turn") < 40
    await memory.claim(first)
    async with looking.database.of_user(owner) as tx:
        await revoke(tx, await lock_work(tx, WorkKind.TURN, first.turn_id), WorkState.DEAD, "tried")
    ended = await looking.look()
    assert ended.value(table.WORK_RECORDS, kind="turn", state="dead") == 1
    assert ended.value(table.OLDEST_DUE_WORK, kind="turn") < 10, "the other one was accepted later"
    assert ended.value(table.OLDEST_DUE_WORK, kind="curate_turn") == 0


async def test_work_that_is_not_due_yet_is_not_late(memory: MemoryService, looking: Looking, owner: Owner) -> None:
    before = (await looking.look()).value(table.OLDEST_DUE_WORK, kind="turn")
    turn = await memory.accept(owner)
    later = update(dispatch).where(dispatch.c.subject_id == turn.turn_id)
    async with looking.database.of_user(owner) as tx:
        await tx.connection.execute(later.values(next_attempt_at=dispatch.c.next_attempt_at + timedelta(hours=1)))
    assert (await looking.look()).value(table.OLDEST_DUE_WORK, kind="turn") == pytest.approx(before, abs=5)


async def test_a_group_is_told_with_what_it_has_not_read_and_not_acknowledged(looking: Looking, redis_url: str) -> None:
    async with Redis.from_url(redis_url) as redis:
        assert (await looking.look()).value(table.GROUP_LAG) == 0, "a stream that is not there has nothing to read"
        await redis.xgroup_create(TURN_REQUESTED, AGENT_GROUP.group, id="0", mkstream=True)
        for _ in range(3):
            await redis.xadd(TURN_REQUESTED, {"x": "y"})
        await redis.xreadgroup(AGENT_GROUP.group, "someone", {TURN_REQUESTED: ">"}, count=1)
    told = await looking.look()
    assert told.value(table.GROUP_LAG, stream=TURN_REQUESTED, group="agent") == 2
    assert told.value(table.GROUP_PENDING, stream=TURN_REQUESTED, group="agent") == 1
    assert told.value(table.BACKLOG_OBSERVED, source="redis") > 0
    assert told.value(table.BACKLOG_OBSERVED, source="postgresql") > 0


async def test_what_is_rolled_back_is_not_counted(memory: MemoryService, looking: Looking, owner: Owner) -> None:
    turn = await memory.accept(owner)

    async def discard() -> None:
        async with looking.database.of_user(owner) as tx:
            await revoke(tx, await lock_work(tx, WorkKind.TURN, turn.turn_id), WorkState.DISCARDED, "tried")
            if not committing:
                raise ConnectionError

    committing = False
    with pytest.raises(ConnectionError):
        await discard()
    assert (await looking.look()).value(table.WORK_ATTEMPTS, state="discarded") == 0
    committing = True
    await discard()
    assert (await looking.look()).value(table.WORK_ATTEMPTS, state="discarded") == 1
