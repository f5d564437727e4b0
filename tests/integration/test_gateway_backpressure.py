"""Refusing in time: a user that begins too many turns, and everybody while the agents cannot keep up."""

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import httpx2
import pytest
from redis.asyncio import Redis
from tests.support.serving import RunningGateway, running_gateway
from tests.support.waiting import wait_for

from common.memory_api.base import Owner
from common.streams.names import AGENT_GROUP

ALICE = Owner(tenant_id="shop", user_id="alice")
BOB = Owner(tenant_id="shop", user_id="bob")
LIMITS = {"turns_per_minute": 3, "backlog_limit": 2}


@pytest.fixture
async def redis(redis_url: str) -> AsyncIterator[Redis]:
    async with Redis.from_url(redis_url) as client:
        await client.flushdb()
        yield client


async def post(gateway: RunningGateway, owner: Owner) -> httpx2.Response:
    """A turn in a session of its own, so that nothing but a limit can refuse it."""
    async with gateway.client(owner) as client:
        session_id = (await client.post("/api/sessions")).json()["session_id"]
        headers = {"Idempotency-Key": str(uuid4())}
        return await client.post(f"/api/sessions/{session_id}/turns", json={"text": "你好"}, headers=headers)


def directory(parent: Path, name: str) -> Path:
    made = parent / name
    made.mkdir()
    return made


async def drain(redis: Redis) -> None:
    """What an agent does: read everything, and ack it."""
    await redis.xgroup_create(AGENT_GROUP.stream, AGENT_GROUP.group, "0", mkstream=True)
    await read_all(redis)


async def read_all(redis: Redis) -> None:
    await redis.xreadgroup(AGENT_GROUP.group, "test", {AGENT_GROUP.stream: ">"})


async def test_a_user_above_the_rate_waits_and_others_do_not(redis: Redis, redis_url: str, tmp_path: Path) -> None:
    limits = {**LIMITS, "backlog_limit": 1_000}
    async with (
        running_gateway(redis_url, directory(tmp_path, "one"), **limits) as one,
        running_gateway(redis_url, directory(tmp_path, "two"), **limits) as two,
    ):
        statuses = [(await post(gateway, ALICE)).status_code for gateway in (one, two, one)]
        refused = await post(two, ALICE)
        assert statuses == [202, 202, 202]
        assert refused.status_code == 429
        assert refused.json()["code"] == "too-many-requests"
        assert 1 <= int(refused.headers["Retry-After"]) <= 60
        assert (await post(two, BOB)).status_code == 202


async def test_while_the_agents_lag_turns_are_refused_before_they_are_stored(
    redis: Redis, redis_url: str, tmp_path: Path
) -> None:
    async with running_gateway(redis_url, tmp_path, **{**LIMITS, "turns_per_minute": 100}) as gateway:
        await drain(redis)
        for _ in range(LIMITS["backlog_limit"] + 1):
            await redis.xadd(AGENT_GROUP.stream, {"any": "event"})
        refused = await post(gateway, ALICE)
        assert refused.status_code == 503
        assert refused.json()["code"] == "overloaded"
        assert int(refused.headers["Retry-After"]) >= 1
        assert not [call for call in gateway.memory.calls if "accept" in call]

        await read_all(redis)

        async def accepted() -> bool:
            return (await post(gateway, ALICE)).status_code == 202

        await wait_for(accepted, "turns are accepted again")


async def test_without_redis_nothing_is_refused(tmp_path: Path) -> None:
    async with running_gateway("redis://127.0.0.1:1", tmp_path, **LIMITS) as gateway:
        statuses = [(await post(gateway, ALICE)).status_code for _ in range(LIMITS["turns_per_minute"] + 1)]
        assert statuses == [202] * len(statuses)
