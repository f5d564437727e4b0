"""How processes end: in time, with an exit code that says whether anything was cut off; and what a stuck one does."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import httpx2
import pytest
from pydantic import SecretStr
from tests.support.access_tokens import AUDIENCE, ISSUER, TokenIssuer
from tests.support.conversation import conversation
from tests.support.fake_memory import SERVICE_TOKEN, FakeMemory
from tests.support.processes import Processes
from tests.support.serving import fake_memory_service
from tests.support.waiting import wait_for

from common.clock import SystemClock
from common.memory_api import operations as op
from common.memory_api.base import Owner
from common.memory_api.client import MemoryClient, MemoryUnavailable
from common.memory_api.operations import Service
from common.memory_api.sessions import CreateSession
from common.process.heartbeat import STUCK_EXIT_CODE
from devstack.database import DatabaseUrls
from devstack.ports import free_port
from devstack.secrets import master_key_file

ALICE = Owner(tenant_id="shop", user_id="alice")
SHORT = "1"
"""Seconds that open requests get at shutdown here."""


class Started:
    """A process of a service, its log, and what it answers."""

    def __init__(self, process: asyncio.subprocess.Process, port: int, log: Path) -> None:
        self.process = process
        self.url = f"http://127.0.0.1:{port}"
        self._log = log

    async def answers(self, path: str, timeout: float = 2.0) -> int | None:
        """The status of a GET; None when there is no answer in time."""
        try:
            async with httpx2.AsyncClient(base_url=self.url, trust_env=False, timeout=timeout) as client:
                return (await client.get(path)).status_code
        except httpx2.TransportError:
            return None

    async def ready(self) -> bool:
        return await self.answers("/readyz") == 200

    async def exit_code(self, within: float = 10.0) -> int:
        return await asyncio.wait_for(self.process.wait(), within)

    def terminate(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def events(self) -> list[str]:
        lines = self._log.read_text().splitlines()
        return [json.loads(line)["event"] for line in lines if line.startswith("{")]


@asynccontextmanager
async def started(directory: Path, arguments: list[str], environment: Mapping[str, str]) -> AsyncIterator[Started]:
    port, log = free_port(), directory / "process.log"
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *arguments,
            env={"PATH": os.environ["PATH"], "PORT": str(port), **environment},
            stdout=output,
            stderr=asyncio.subprocess.STDOUT,
        )
    service = Started(process, port, log)
    try:
        await wait_for(service.ready, "the process is ready")
        yield service
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@pytest.fixture
def memory_environment(database: DatabaseUrls, redis_url: str, tmp_path: Path) -> dict[str, str]:
    return {
        "MEMORY_DATABASE_URL": database.app,
        "MEMORY_DISPATCH_DATABASE_URL": database.dispatch,
        "REDIS_URL": redis_url,
        "MEMORY_MASTER_KEY_FILE": str(master_key_file(tmp_path / "master.key")),
        **{f"SERVICE_TOKEN_{service.upper()}": f"token-of-the-{service}" for service in Service},
        "SHUTDOWN_SECONDS": SHORT,
    }


@asynccontextmanager
async def locked_table(database: DatabaseUrls) -> AsyncIterator[asyncpg.Connection]:
    """While this is open, whoever wants a session waits."""
    connection = await asyncpg.connect(database.admin)
    try:
        await connection.execute("BEGIN; LOCK TABLE sessions IN ACCESS EXCLUSIVE MODE")
        yield connection
    finally:
        await connection.close()


async def waiting_for_a_lock(database: DatabaseUrls) -> bool:
    connection = await asyncpg.connect(database.admin)
    try:
        return bool(await connection.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"))
    finally:
        await connection.close()


def memory_client(url: str, token: str) -> MemoryClient:
    return MemoryClient(url, SecretStr(token), SystemClock(), retry_for=0.0)


async def test_memory_lets_an_open_request_end(
    memory_environment: dict[str, str], database: DatabaseUrls, tmp_path: Path
) -> None:
    async with started(tmp_path, ["-m", "memory", "serve"], memory_environment) as memory:
        client = memory_client(memory.url, "token-of-the-gateway")
        async with locked_table(database) as lock:
            asking = asyncio.create_task(client.call(op.CREATE_SESSION, CreateSession(owner=ALICE)))
            await wait_for(lambda: waiting_for_a_lock(database), "the request waits")
            memory.terminate()
            await wait_for(lambda: "service.stopping" in memory.events(), "the shutdown has begun")
            assert await memory.answers("/readyz") is None, "it takes no new connection"
            await lock.execute("COMMIT")
        assert (await asking).session_id
        assert await memory.exit_code() == 0
        await client.close()


async def test_memory_says_that_it_cut_a_request_off(
    memory_environment: dict[str, str], database: DatabaseUrls, tmp_path: Path
) -> None:
    async with started(tmp_path, ["-m", "memory", "serve"], memory_environment) as memory:
        client = memory_client(memory.url, "token-of-the-gateway")
        async with locked_table(database):
            asking = asyncio.create_task(client.call(op.CREATE_SESSION, CreateSession(owner=ALICE)))
            await wait_for(lambda: waiting_for_a_lock(database), "the request waits")
            memory.terminate()
            assert await memory.exit_code() == 1
            with pytest.raises(MemoryUnavailable):
                await asking
        assert "service.requests_cancelled" in memory.events()
        await client.close()


async def test_memory_is_ready_without_redis_and_says_so(memory_environment: dict[str, str], tmp_path: Path) -> None:
    environment = {**memory_environment, "REDIS_URL": f"redis://127.0.0.1:{free_port()}"}
    async with started(tmp_path, ["-m", "memory", "serve"], environment) as memory:
        async with httpx2.AsyncClient(base_url=memory.url, trust_env=False) as client:
            answer = (await client.get("/readyz")).json()
        assert answer == {"status": "ready", "checks": {"accepting": "up", "postgresql": "up", "redis": "down"}}
        memory.terminate()
        assert await memory.exit_code() == 0


async def test_memory_without_postgresql_is_alive_and_not_ready(
    memory_environment: dict[str, str], database: DatabaseUrls, postgres: str, tmp_path: Path
) -> None:
    name = database.admin.rpartition("/")[2]
    async with started(tmp_path, ["-m", "memory", "serve"], memory_environment) as memory:
        server = await asyncpg.connect(postgres)
        try:
            await server.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
            await server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", name)
            assert await memory.answers("/readyz") == 503
            assert await memory.answers("/healthz") == 200
        finally:
            await server.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')
            await server.close()
        await wait_for(memory.ready, "it is ready again")


@pytest.fixture
async def fake_memory() -> AsyncIterator[tuple[FakeMemory, str]]:
    async with fake_memory_service() as running:
        yield running


@pytest.fixture
def alice() -> TokenIssuer:
    return TokenIssuer()


@pytest.fixture
def gateway_environment(
    fake_memory: tuple[FakeMemory, str], alice: TokenIssuer, redis_url: str, tmp_path: Path
) -> dict[str, str]:
    return {
        "MEMORY_URL": fake_memory[1],
        "SERVICE_TOKEN": SERVICE_TOKEN,
        "REDIS_URL": redis_url,
        "JWT_PUBLIC_KEY_FILE": str(alice.write_public_key(tmp_path / "jwt.pem")),
        "JWT_ISSUER": ISSUER,
        "JWT_AUDIENCE": AUDIENCE,
        "SHUTDOWN_SECONDS": SHORT,
    }


@pytest.mark.parametrize("answered_in_time", [True, False])
async def test_the_gateway_lets_an_open_request_end_or_says_that_it_cut_it_off(
    gateway_environment: dict[str, str],
    fake_memory: tuple[FakeMemory, str],
    alice: TokenIssuer,
    tmp_path: Path,
    answered_in_time: bool,
) -> None:
    memory, _ = fake_memory
    async with started(tmp_path, ["-m", "gateway", "serve"], gateway_environment) as gateway:
        headers = {"Authorization": f"Bearer {alice.token(ALICE)}"}
        async with httpx2.AsyncClient(base_url=gateway.url, headers=headers, trust_env=False, timeout=10.0) as client:
            memory.open.clear()
            try:
                asking = asyncio.create_task(client.post("/api/sessions"))
                await asyncio.sleep(0.2)  # until the request hangs in memory, which tells nobody
                gateway.terminate()
                await wait_for(lambda: "service.stopping" in gateway.events(), "the shutdown has begun")
                if answered_in_time:
                    memory.open.set()
                    assert (await asking).status_code == 201
                else:
                    assert (await asking).status_code == 503
            finally:
                memory.open.set()
        assert await gateway.exit_code() == (0 if answered_in_time else 1)


async def test_a_collector_of_traces_that_is_down_holds_nothing_up(
    gateway_environment: dict[str, str], alice: TokenIssuer, tmp_path: Path
) -> None:
    endpoint = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{free_port()}"}
    async with started(tmp_path, ["-m", "gateway", "serve"], {**gateway_environment, **endpoint}) as gateway:
        headers = {"Authorization": f"Bearer {alice.token(ALICE)}"}
        async with httpx2.AsyncClient(base_url=gateway.url, headers=headers, trust_env=False, timeout=10.0) as client:
            assert (await client.post("/api/sessions")).status_code == 201
        gateway.terminate()
        assert await gateway.exit_code(within=8.0) == 0
        assert set(gateway.events()) >= {"service.listening", "service.stopped"}


@pytest.mark.parametrize(("service", "said"), [("agent", "[[offline:hang]]"), ("curator", "[[offline:curator.hang]]")])
async def test_a_consumer_hands_back_what_it_cannot_finish(processes: Processes, service: str, said: str) -> None:
    """And the exit code says so where it has no time left to do that."""
    async with conversation(processes) as user:
        claimed = "turn.claimed" if service == "agent" else "curation.claimed"

        def claims() -> int:
            return [event["event"] for event in processes.logs(service)].count(claimed)

        for told, code in (({"FINISH_SECONDS": "0.2"}, 0), ({"FINISH_SECONDS": "60", "STOP_SECONDS": "0.5"}, 1)):
            await processes.stop(service)
            await processes.start(service, told)
            before = claims()
            turn_id = await user.say(f"你好 {said}")

            def begun(before: int = before) -> bool:
                return claims() > before

            await wait_for(begun, "work has begun")
            assert await processes.terminate(service) == code
            await user.client.post(f"/api/turns/{turn_id}/cancel")
            await user.new_session()
    await processes.start(service)


async def test_a_process_that_was_frozen_goes_on(gateway_environment: dict[str, str], tmp_path: Path) -> None:
    """An orchestrator's probe sees that it does not answer; the process itself is not to blame."""
    environment = {**gateway_environment, "LOOP_STUCK_SECONDS": "1"}
    async with started(tmp_path, ["-m", "gateway", "serve"], environment) as gateway:
        gateway.process.send_signal(signal.SIGSTOP)
        assert await gateway.answers("/healthz", timeout=2.5) is None
        gateway.process.send_signal(signal.SIGCONT)
        await wait_for(gateway.ready, "it answers again")
        await asyncio.sleep(1.2)  # longer than it may be stuck
        assert await gateway.answers("/healthz") == 200


STUCK = """
import asyncio, time
from fastapi import FastAPI
from common.logs import configure_logs
from common.process.health import Health, health_router
from common.process.run import run_process
from common.process.web_server import WebServer, serve_until_stopped
from common.settings import ServiceSettings
from common.telemetry.metrics import Metrics

settings, metrics, app = ServiceSettings(), Metrics("gateway"), FastAPI()
configure_logs("gateway")
app.include_router(health_router(Health(lambda: True, {}, {}), metrics))

@app.get("/block")
async def block_for_ever() -> None:
    while True:
        time.sleep(0.01)

server = WebServer(app, port=settings.port, finish_seconds=1, stop_seconds=2, begin_stopping=lambda: None)
raise SystemExit(run_process("gateway", settings, metrics, lambda: serve_until_stopped(server)))
"""


async def test_a_stuck_loop_answers_nobody_and_ends_the_process(tmp_path: Path) -> None:
    async with started(tmp_path, ["-c", STUCK], {"LOOP_STUCK_SECONDS": "2"}) as process:
        asking = asyncio.create_task(process.answers("/block", timeout=10.0))

        async def silent() -> bool:
            return await process.answers("/healthz", timeout=0.5) is None

        await wait_for(silent, "it answers nobody")
        assert process.process.returncode is None
        assert await process.exit_code() == STUCK_EXIT_CODE
        assert await asking is None
        assert "loop.stuck" in process.events()
        assert "block_for_ever" in (tmp_path / "process.log").read_text()
