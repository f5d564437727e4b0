"""The gateway as a process: it dies between accepting and telling, and it stops without breaking streams."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from redis.asyncio import Redis
from tests.support.access_tokens import AUDIENCE, ISSUER, TokenIssuer
from tests.support.event_stream import event_stream
from tests.support.fake_memory import SERVICE_TOKEN, FakeMemory
from tests.support.scraping import scrape
from tests.support.serving import fake_memory_service
from tests.support.waiting import wait_for

from common.crash_points import CrashPoint
from common.memory_api.base import Owner
from common.memory_api.turns import StepView, TurnStatus
from common.streams.names import TURN_REQUESTED
from common.streams.progress import ProgressEvent, ProgressWriter
from devstack.ports import free_port

ALICE = Owner(tenant_id="shop", user_id="alice")


class GatewayProcess:
    def __init__(self, environment: dict[str, str], token: str) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._environment = {**os.environ, **environment, "PORT": str(self.port)}
        self._token = token

    @asynccontextmanager
    async def running(self, **environment: str) -> AsyncIterator[asyncio.subprocess.Process]:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "gateway", "serve", env={**self._environment, **environment}
        )
        try:
            await wait_for(self._ready, "the gateway is ready")
            yield process
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()

    def client(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            base_url=self.url,
            headers={"Authorization": f"Bearer {self._token}"},
            timeout=20.0,
            trust_env=False,
        )

    async def _ready(self) -> bool:
        try:
            async with self.client() as client:
                return (await client.get("/readyz")).status_code == 200
        except httpx2.TransportError:
            return False


@pytest.fixture
async def memory() -> AsyncIterator[tuple[FakeMemory, str]]:
    async with fake_memory_service() as running:
        yield running


@pytest.fixture
def gateway(memory: tuple[FakeMemory, str], redis_url: str, tmp_path: Path) -> GatewayProcess:
    issuer = TokenIssuer()
    environment = {
        "MEMORY_URL": memory[1],
        "SERVICE_TOKEN": SERVICE_TOKEN,
        "REDIS_URL": redis_url,
        "JWT_PUBLIC_KEY_FILE": str(issuer.write_public_key(tmp_path / "jwt.pem")),
        "JWT_ISSUER": ISSUER,
        "JWT_AUDIENCE": AUDIENCE,
    }
    return GatewayProcess(environment, issuer.token(ALICE))


async def post_turn(client: httpx2.AsyncClient, turns_url: str) -> httpx2.Response:
    return await client.post(turns_url, json={"text": "hello"}, headers={"Idempotency-Key": "k"})


async def test_a_turn_survives_a_gateway_that_dies_before_it_tells(
    gateway: GatewayProcess, redis_url: str, tmp_path: Path
) -> None:
    fuse = tmp_path / "fuse"
    fuse.touch()
    crash = {"CRASH_POINT": CrashPoint.GATEWAY_ACCEPTED.value, "CRASH_FUSE": str(fuse)}
    async with gateway.running(**crash) as process, gateway.client() as client:
        session_id = (await client.post("/api/sessions")).json()["session_id"]
        turns_url = f"/api/sessions/{session_id}/turns"
        with pytest.raises(httpx2.TransportError):
            await post_turn(client, turns_url)
        assert await process.wait() == -signal.SIGKILL
    async with Redis.from_url(redis_url) as redis, gateway.running(**crash), gateway.client() as client:
        assert await redis.xlen(TURN_REQUESTED) == 0
        (stored,) = (await client.get(turns_url)).json()["turns"]
        again = await post_turn(client, turns_url)
        assert (again.status_code, again.json()["turn_id"]) == (202, stored["turn_id"])
        assert await redis.xlen(TURN_REQUESTED) == 1


async def test_a_stopping_gateway_ends_its_streams_and_another_goes_on(
    gateway: GatewayProcess, memory: tuple[FakeMemory, str], redis_url: str
) -> None:
    turn = memory[0].add_turn(ALICE, status=TurnStatus.RUNNING, attempt=1)
    async with Redis.from_url(redis_url) as redis:
        writer = ProgressWriter(redis, turn.turn_id, attempt=1)
        await writer.emit(ProgressEvent.TURN_STARTED, {})
        async with gateway.running() as process, gateway.client() as client:
            async with event_stream(client, turn.turn_id) as stream:
                started = await stream.next()
                process.send_signal(signal.SIGTERM)
                assert await stream.rest() == []
            # It stops by itself, long before the time that open requests get.
            assert await asyncio.wait_for(process.wait(), 5) == 0
        await writer.emit(ProgressEvent.TURN_COMPLETED, {"reply": "好", "items": []})
        async with (
            gateway.running(),
            gateway.client() as client,
            event_stream(client, turn.turn_id, started.id) as stream,
        ):
            assert (await stream.next()).event == "turn.completed"


async def test_the_garbage_search_does_not_come_with_every_few_streams(
    gateway: GatewayProcess, memory: tuple[FakeMemory, str]
) -> None:
    """Each search stops everything, and most of what it looks at are streams that stay open."""
    streams = 50

    async def searches() -> float:
        samples = (await scrape(gateway.url)).samples
        return sum(value for name, _, value in samples if name == "python_gc_collections_total")

    async with gateway.running(EVENT_STREAMS_PER_USER=str(streams)), gateway.client() as client:
        before = await searches()
        async with AsyncExitStack() as following:
            for _ in range(streams):
                steps = [StepView(text="我来找找。", tools=[])]
                turn = memory[0].add_turn(ALICE, status=TurnStatus.RUNNING, attempt=1, steps=steps)
                stream = await following.enter_async_context(event_stream(client, turn.turn_id))
                assert (await stream.next()).event == "turn.snapshot"
            assert await searches() - before < 5
