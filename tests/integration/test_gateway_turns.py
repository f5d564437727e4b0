"""A turn that was answered with 202 is stored, and whoever must know is told if Redis is there to tell."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest
from faststream.redis.parser import BinaryMessageFormatV1
from redis.asyncio import Redis
from tests.support.serving import RunningGateway, running_gateway
from tests.support.waiting import wait_for

from common.events import Cause, EventAdapter, TurnRequested
from common.memory_api.base import Owner
from common.memory_api.turns import CurationState, TurnStatus
from common.problems import PROBLEM_JSON
from common.streams.names import TURN_REQUESTED, progress_stream

ALICE = Owner(tenant_id="shop", user_id="alice")
BOB = Owner(tenant_id="shop", user_id="bob")


@pytest.fixture
async def redis(redis_url: str) -> AsyncIterator[Redis]:
    async with Redis.from_url(redis_url) as client:
        yield client


@pytest.fixture
async def gateway(redis_url: str, tmp_path: Path) -> AsyncIterator[RunningGateway]:
    async with running_gateway(redis_url, tmp_path) as running:
        yield running


async def new_session(client: httpx2.AsyncClient) -> str:
    return str((await client.post("/api/sessions")).json()["session_id"])


async def post_turn(client: httpx2.AsyncClient, session_id: str, key: str = "k") -> dict[str, Any]:
    answer = await client.post(
        f"/api/sessions/{session_id}/turns", json={"text": "找一个双肩包"}, headers={"Idempotency-Key": key}
    )
    assert answer.status_code == 202, answer.text
    return dict(answer.json())


async def entries(redis: Redis, stream: str) -> list[dict[bytes, bytes]]:
    found: Any = await redis.xrange(stream)
    return [fields for _, fields in found]


async def announced(redis: Redis) -> list[TurnRequested]:
    events = [
        EventAdapter.validate_json(BinaryMessageFormatV1.parse(fields[b"__data__"])[0])
        for fields in await entries(redis, TURN_REQUESTED)
    ]
    assert all(isinstance(event, TurnRequested) for event in events)
    return [event for event in events if isinstance(event, TurnRequested)]


async def test_an_accepted_turn_is_announced_without_its_words(gateway: RunningGateway, redis: Redis) -> None:
    async with gateway.client(ALICE) as client:
        turn = await post_turn(client, await new_session(client))
    (event,) = await announced(redis)
    assert str(event.turn_id) == turn["turn_id"]
    assert str(event.session_id) == turn["session_id"]
    assert (event.tenant_id, event.user_id, event.seq) == ("shop", "alice", turn["seq"])
    assert (event.cause, event.run, event.purge_generation) == (Cause.LIVE, 0, 0)
    (fields,) = await entries(redis, TURN_REQUESTED)
    assert "双肩包".encode() not in fields[b"__data__"]


async def test_a_repeated_request_announces_again_while_nobody_has_taken_the_turn(
    gateway: RunningGateway, redis: Redis
) -> None:
    async with gateway.client(ALICE) as client:
        session_id = await new_session(client)
        turn = await post_turn(client, session_id)
        await post_turn(client, session_id)
        assert len(await announced(redis)) == 2
        gateway.memory.change_turn(UUID(turn["turn_id"]), status=TurnStatus.RUNNING, attempt=1)
        await post_turn(client, session_id)
        assert len(await announced(redis)) == 2


@asynccontextmanager
async def silent_server() -> AsyncIterator[str]:
    """The URL of a Redis that takes connections and never answers."""
    connections = []

    async def accept(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    try:
        yield f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}/0"
    finally:
        for writer in connections:
            writer.close()
        server.close()
        await server.wait_closed()


async def test_a_turn_is_accepted_while_redis_is_gone(tmp_path: Path) -> None:
    async with running_gateway("redis://127.0.0.1:1/0", tmp_path) as gateway, gateway.client(ALICE) as client:
        turn = await post_turn(client, await new_session(client))
        assert (await client.get(f"/api/turns/{turn['turn_id']}")).json()["status"] == "accepted"
        assert (await client.post(f"/api/turns/{turn['turn_id']}/cancel")).json()["status"] == "cancelled"
        # Without Redis the gateway still serves its users, so it stays in the load balancer.
        ready = await client.get("/readyz")
        assert (ready.status_code, ready.json()) == (200, {"status": "ready", "redis": "down"})


async def test_a_turn_is_accepted_in_time_while_redis_hangs(tmp_path: Path) -> None:
    async with silent_server() as url, running_gateway(url, tmp_path) as gateway, gateway.client(ALICE) as client:
        session_id = await new_session(client)
        started = time.monotonic()
        await post_turn(client, session_id)
        assert time.monotonic() - started < 1.0


async def test_a_turn_is_not_accepted_while_memory_is_gone(gateway: RunningGateway, redis: Redis) -> None:
    async with gateway.client(ALICE) as client:
        session_id = await new_session(client)
        gateway.memory.down = True
        answer = await client.post(
            f"/api/sessions/{session_id}/turns", json={"text": "hello"}, headers={"Idempotency-Key": "k"}
        )
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
        assert answer.headers["retry-after"]
        assert await announced(redis) == []
        gateway.memory.down = False
        await post_turn(client, session_id)
    assert len(await announced(redis)) == 1


async def test_a_cancelled_turn_is_told_to_its_stream(gateway: RunningGateway, redis: Redis) -> None:
    turn = gateway.memory.add_turn(ALICE, status=TurnStatus.RUNNING, attempt=1)
    async with gateway.client(ALICE) as client:
        await client.post(f"/api/turns/{turn.turn_id}/cancel")
    stream = progress_stream(turn.turn_id)
    (fields,) = await entries(redis, stream)
    assert fields[b"event"] == b"turn.cancelled"
    assert b'"failure":"cancelled-by-user"' in fields[b"data"]
    assert b'"attempt"' not in fields[b"data"]
    assert 0 < await redis.ttl(stream) <= 600


async def test_a_turn_that_was_over_is_not_told_as_cancelled(gateway: RunningGateway, redis: Redis) -> None:
    turn = gateway.memory.add_turn(ALICE, status=TurnStatus.COMPLETED, reply="好", curation=CurationState.DONE)
    async with gateway.client(ALICE) as client:
        assert (await client.post(f"/api/turns/{turn.turn_id}/cancel")).json()["status"] == "completed"
    assert await redis.xlen(progress_stream(turn.turn_id)) == 0


async def test_one_user_has_so_many_requests_at_once(redis_url: str, tmp_path: Path) -> None:
    async with (
        running_gateway(redis_url, tmp_path, requests_per_user=2) as gateway,
        gateway.client(ALICE) as alice,
        gateway.client(BOB) as bob,
    ):
        gateway.memory.open.clear()
        held = [asyncio.create_task(alice.get("/api/settings")) for _ in range(3)]
        done, waiting = await asyncio.wait(held, return_when=asyncio.FIRST_COMPLETED)
        (refused,) = done
        answer = refused.result()
        assert (answer.status_code, answer.json()["code"]) == (429, "too-many-requests")
        assert answer.headers["retry-after"]
        of_bob = asyncio.create_task(bob.get("/api/settings"))
        await wait_for(lambda: not of_bob.done(), "bob waits for memory and not for alice")
        gateway.memory.open.set()
        assert [(await request).status_code for request in (*waiting, of_bob)] == [200] * 3
        assert (await alice.get("/api/settings")).status_code == 200


async def test_who_has_no_tokens_left_is_told_until_when(gateway: RunningGateway) -> None:
    async with gateway.client(ALICE) as client:
        session_id = (await client.post("/api/sessions")).json()["session_id"]
        gateway.memory.tokens_used_up_for = 4_321
        try:
            answer = await client.post(
                f"/api/sessions/{session_id}/turns", json={"text": "你好"}, headers={"Idempotency-Key": "k"}
            )
        finally:
            gateway.memory.tokens_used_up_for = None
    assert answer.headers["content-type"] == PROBLEM_JSON
    assert (answer.status_code, answer.json()["code"]) == (429, "token-budget")
    assert answer.headers["retry-after"] == "4321"


async def test_two_turns_at_once_in_one_session(gateway: RunningGateway) -> None:
    async with gateway.client(ALICE) as client:
        url = f"/api/sessions/{await new_session(client)}/turns"
        answers = await asyncio.gather(
            *(client.post(url, json={"text": "hello"}, headers={"Idempotency-Key": str(uuid4())}) for _ in range(2))
        )
    assert sorted(answer.status_code for answer in answers) == [202, 409]
