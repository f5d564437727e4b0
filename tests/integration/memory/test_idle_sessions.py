"""A session that nobody goes on with is closed, and that is made known until somebody has answered."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from faststream.redis import RedisBroker
from redis.asyncio import Redis
from tests.support.memory_service import ATurn, MemoryService, memory_settings, serving_memory
from tests.support.sweeping import Sweeping, sweeping_by_hand

from common.events import Cause, SessionClosed
from common.memory_api import operations as op
from common.memory_api.base import Owner
from common.memory_api.dispatch import CheckInvariants, ListWork, WorkId, WorkKind, WorkState
from common.memory_api.operations import Service
from common.memory_api.sessions import FinishClosing, Session, SessionRequest
from common.problems import ProblemCode, ProblemError
from common.streams.names import SESSION_CLOSED
from devstack.database import DatabaseUrls

IDLE_MINUTES = 30.0
IDLE = IDLE_MINUTES * 60


@pytest.fixture
async def memory(database: DatabaseUrls, valkey: str, tmp_path: Path) -> AsyncIterator[MemoryService]:
    settings = memory_settings(
        database, valkey, tmp_path, session_idle_minutes=IDLE_MINUTES, turn_deadline_seconds=10 * IDLE
    )
    async with serving_memory(settings) as service:
        yield service


@pytest.fixture
async def sweeping(memory: MemoryService, redis_url: str) -> AsyncIterator[Sweeping]:
    async with (
        Redis.from_url(redis_url) as redis,
        RedisBroker(redis_url) as broker,
        sweeping_by_hand(memory, redis, broker) as running,
    ):
        yield running


async def session_of(memory: MemoryService, turn: ATurn) -> Session:
    request = SessionRequest(owner=turn.owner, session_id=turn.session_id)
    session: Session = await memory.call(Service.GATEWAY, op.GET_SESSION, request)
    return session


async def sweep_after(memory: MemoryService, sweeping: Sweeping, seconds: float) -> list[SessionClosed]:
    """Long enough for the sweeper to look again, and for the live publish that sweeping waits for."""
    memory.clock.advance(seconds)
    await sweeping.sweep()
    memory.clock.advance(sweeping.policy.publish_grace.total_seconds() + 1)
    await sweeping.sweep()
    return await sweeping.published(SESSION_CLOSED)


async def test_an_idle_session_is_closed_and_made_known_until_it_is_answered(
    memory: MemoryService, sweeping: Sweeping, owner: Owner
) -> None:
    turn = await memory.complete(owner)
    assert await sweep_after(memory, sweeping, IDLE / 2) == []
    assert (await session_of(memory, turn)).state == "open"
    (event,) = await sweep_after(memory, sweeping, IDLE)
    assert (event.session_id, event.user_id, event.cause) == (turn.session_id, owner.user_id, Cause.SWEEP)
    session = await session_of(memory, turn)
    assert (session.state, session.end_reason) == ("ended", "idle")
    with pytest.raises(ProblemError) as caught:
        await memory.accept(owner, "还在吗", turn.session_id)
    assert caught.value.code is ProblemCode.SESSION_ENDED

    assert len(await sweep_after(memory, sweeping, 61)) == 1, "not answered: once more"
    finish = FinishClosing(owner=owner, session_id=turn.session_id)
    for _ in range(2):  # the answer may be lost
        await memory.call(Service.CURATOR, op.FINISH_CLOSING, finish)
    assert await sweep_after(memory, sweeping, 61) == []
    record = await memory.call(
        Service.OPERATOR, op.SHOW_WORK, WorkId(kind=WorkKind.CLOSE_SESSION, subject_id=turn.session_id)
    )
    assert record.state is WorkState.DONE
    report = await memory.call(Service.OPERATOR, op.CHECK_INVARIANTS, CheckInvariants())
    assert report.clean, report.violations


async def test_a_session_with_an_open_turn_or_a_new_one_is_not_idle(
    memory: MemoryService, sweeping: Sweeping, owner: Owner
) -> None:
    working = await memory.accept(owner)
    await memory.claim(working)
    memory.clock.advance(IDLE - 1)
    used = await memory.complete(owner)
    await sweep_after(memory, sweeping, 60)
    for turn in (working, used):
        assert (await session_of(memory, turn)).state == "open"


async def test_a_session_without_turns_ends_in_silence(memory: MemoryService, sweeping: Sweeping, owner: Owner) -> None:
    session_id = await memory.new_session(owner)
    assert await sweep_after(memory, sweeping, IDLE + 60) == []
    request = SessionRequest(owner=owner, session_id=session_id)
    assert (await memory.call(Service.GATEWAY, op.GET_SESSION, request)).end_reason == "idle"


async def test_a_session_that_its_user_ends_is_made_known_and_a_cleared_one_is_not(
    memory: MemoryService, sweeping: Sweeping, owner: Owner
) -> None:
    ended = await memory.complete(owner)
    await memory.complete(owner)
    request = SessionRequest(owner=owner, session_id=ended.session_id)
    for _ in range(2):
        await memory.call(Service.GATEWAY, op.END_SESSION, request)
    await memory.clear(owner)
    assert [event.session_id for event in await sweep_after(memory, sweeping, 60)] == [ended.session_id]
    listed = await memory.call(Service.OPERATOR, op.LIST_WORK, ListWork(kind=WorkKind.CLOSE_SESSION))
    assert len(listed.records) == 1
