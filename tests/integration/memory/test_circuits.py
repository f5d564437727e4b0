"""While nearly everything a kind of worker touches fails, nothing is claimed and nothing dies of it."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from uuid import UUID, uuid4

import asyncpg
import pytest
from faststream.redis import RedisBroker
from redis.asyncio import Redis
from tests.support.memory_service import ATurn, MemoryService, memory_settings, serving_memory
from tests.support.sweeping import Sweeping, sweeping_by_hand

from common.memory_api import operations as op
from common.memory_api.base import Owner
from common.memory_api.curation import FailCuration
from common.memory_api.dispatch import ListWork, WorkKind, WorkState
from common.memory_api.operations import Service
from common.problems import ProblemCode, ProblemError
from common.streams.names import TURN_COMPLETED
from common.telemetry.table import CIRCUIT_OPEN
from devstack.database import DatabaseUrls

WINDOW = 5
COOL_DOWN = 30.0


@pytest.fixture
async def memory(database: DatabaseUrls, valkey: str, tmp_path: Path) -> AsyncIterator[MemoryService]:
    """A service of the test's own: a circuit is everybody's."""
    settings = memory_settings(
        database, valkey, tmp_path, circuit_window=WINDOW, circuit_cool_down_seconds=COOL_DOWN, backoff_seconds=1.0
    )
    async with serving_memory(settings) as service:
        yield service


@pytest.fixture
async def other(memory: MemoryService) -> AsyncIterator[MemoryService]:
    """A second replica, on the same database and clock."""
    async with serving_memory(memory.settings, memory.clock) as service:
        yield service


@pytest.fixture
async def sweeping(memory: MemoryService, redis_url: str) -> AsyncIterator[Sweeping]:
    async with (
        Redis.from_url(redis_url) as redis,
        RedisBroker(redis_url) as broker,
        sweeping_by_hand(memory, redis, broker) as running,
    ):
        yield running


async def finished_turns(memory: MemoryService, count: int) -> list[ATurn]:
    return [await memory.complete(Owner(tenant_id="t1", user_id=f"u-{uuid4()}")) for _ in range(count)]


async def fail(memory: MemoryService, turn: ATurn, token: UUID | None = None) -> None:
    if token is None:
        token = uuid4()
        await memory.claim_curation(turn, token)
    failed = FailCuration(
        owner=turn.owner, turn_id=turn.turn_id, lease_token=token, run=0, error_code="model-misbehaved"
    )
    await memory.call(Service.CURATOR, op.FAIL_CURATION, failed)


async def claim_each(memory: MemoryService, turns: Sequence[ATurn]) -> list[UUID | None]:
    """The tokens of those that were let through."""
    tokens: list[UUID | None] = []
    for turn in turns:
        token = uuid4()
        try:
            await memory.claim_curation(turn, token)
        except ProblemError as problem:
            if problem.code is not ProblemCode.NOT_DUE:
                raise
            tokens.append(None)
        else:
            tokens.append(token)
    return tokens


async def attempts(memory: MemoryService) -> int:
    listed = await memory.call(Service.OPERATOR, op.LIST_WORK, ListWork(kind=WorkKind.CURATE_TURN, limit=500))
    assert not [record for record in listed.records if record.state is WorkState.DEAD]
    return sum(record.attempts for record in listed.records)


async def test_an_open_circuit_spends_no_attempt_and_one_probe_closes_it(
    memory: MemoryService, other: MemoryService, sweeping: Sweeping
) -> None:
    turns = await finished_turns(memory, WINDOW + 2)
    for turn in turns[:WINDOW]:
        await fail(memory, turn)
    assert await attempts(memory) == WINDOW
    memory.clock.advance(COOL_DOWN / 2)  # past every pause
    assert await claim_each(memory, turns) == [None] * len(turns)
    assert await attempts(memory) == WINDOW, "nothing was spent"
    await sweeping.sweep()
    assert await sweeping.published(TURN_COMPLETED) == [], "nobody could claim it"
    assert sweeping.value(CIRCUIT_OPEN, kind="curate_turn") == 1

    memory.clock.advance(COOL_DOWN)
    await sweeping.sweep()
    assert len(await sweeping.published(TURN_COMPLETED)) == 1, "one is tried"
    tokens = await claim_each(memory, turns)
    assert [token is not None for token in tokens] == [True] + [False] * (len(turns) - 1)
    await fail(memory, turns[0], tokens[0])
    memory.clock.advance(COOL_DOWN / 2)
    assert await claim_each(memory, turns) == [None] * len(turns), "the probe has failed: open again"

    memory.clock.advance(COOL_DOWN)
    await memory.curate(turns[-1])
    assert await claim_each(memory, turns[:2]) != [None, None], "the probe has succeeded"
    await sweeping.sweep()
    assert sweeping.value(CIRCUIT_OPEN, kind="curate_turn") == 0


async def test_a_probe_whose_worker_died_does_not_keep_the_circuit_open(memory: MemoryService) -> None:
    turns = await finished_turns(memory, WINDOW)
    for turn in turns:
        await fail(memory, turn)
    memory.clock.advance(COOL_DOWN + 1)
    assert (await claim_each(memory, turns)).count(None) == WINDOW - 1
    memory.clock.advance(memory.settings.lease_seconds + 1)
    assert (await claim_each(memory, turns[1:])).count(None) == WINDOW - 2


async def test_other_kinds_of_work_go_on_and_every_replica_knows(
    memory: MemoryService, other: MemoryService, sweeping: Sweeping
) -> None:
    turns = await finished_turns(memory, WINDOW + 1)
    for turn in turns[:WINDOW]:
        await fail(memory, turn)
    await memory.complete(Owner(tenant_id="t1", user_id=f"u-{uuid4()}"))
    await sweeping.sweep()  # the other replica's sweeper reads the same row
    assert not sweeping.database.circuits.is_closed(WorkKind.CURATE_TURN)
    assert sweeping.database.circuits.is_closed(WorkKind.TURN)
    memory.clock.advance(COOL_DOWN + 1)
    await memory.curate(turns[-1])
    await sweeping.sweep()
    assert sweeping.database.circuits.is_closed(WorkKind.CURATE_TURN)


async def test_what_was_handed_back_at_a_shutdown_has_not_failed(memory: MemoryService, database: DatabaseUrls) -> None:
    for turn in await finished_turns(memory, WINDOW):
        token = uuid4()
        await memory.claim_curation(turn, token)
        handed_back = FailCuration(
            owner=turn.owner, turn_id=turn.turn_id, lease_token=token, run=0, error_code="shutdown", spend_attempt=False
        )
        await memory.call(Service.CURATOR, op.FAIL_CURATION, handed_back)
    connection = await asyncpg.connect(database.dispatch)
    assert await connection.fetchval("SELECT count(*) FROM circuits") == 0
    await connection.close()
