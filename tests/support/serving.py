"""ASGI applications on a real port of this process, for tests that need the other end of a socket."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import uvicorn
from fastapi import FastAPI
from tests.support.access_tokens import AUDIENCE, ISSUER, TokenIssuer
from tests.support.fake_memory import SERVICE_TOKEN, FakeMemory
from tests.support.waiting import wait_for

from common.memory_api.base import Owner
from gateway.app import create_app
from gateway.server import GatewayServer, listening_socket
from gateway.settings import GatewaySettings

LOOPBACK = "127.0.0.1"

# What takes seconds in production takes tenths here.
SHORT_TIMES = {
    "memory_retry_seconds": 0.3,
    "silence_seconds": 0.5,
    "curation_check_seconds": 0.2,
    "after_end_seconds": 3.0,
    "shutdown_seconds": 5,
}


class WithoutSignals(uvicorn.Server):
    """Ctrl-C is for the test run."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _GatewayWithoutSignals(WithoutSignals, GatewayServer):
    """The gateway's own server, except that Ctrl-C is for the test run."""


@asynccontextmanager
async def serving(server: uvicorn.Server, listening: socket.socket) -> AsyncIterator[str]:
    """The base URL of the running server."""
    task = asyncio.create_task(server.serve(sockets=[listening]))
    await wait_for(lambda: server.started or task.done(), "the server has started")
    try:
        yield f"http://{LOOPBACK}:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        await task


@asynccontextmanager
async def fake_memory_service() -> AsyncIterator[tuple[FakeMemory, str]]:
    memory = FakeMemory()
    config = uvicorn.Config(memory.app(), log_config=None, access_log=False, ws="none")
    async with serving(WithoutSignals(config), listening_socket(LOOPBACK, 0)) as url:
        yield memory, url


@dataclass(frozen=True)
class RunningGateway:
    url: str
    app: FastAPI
    server: uvicorn.Server
    issuer: TokenIssuer
    memory: FakeMemory

    @property
    def components(self) -> Any:
        return self.app.state.components

    @property
    def reader(self) -> Any:
        return self.components.follower.reader

    def client(self, owner: Owner) -> httpx2.AsyncClient:
        """An HTTP client that speaks for `owner`."""
        return self.client_with(self.issuer.token(owner))

    def client_with(self, token: str | None) -> httpx2.AsyncClient:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return httpx2.AsyncClient(base_url=self.url, headers=headers, timeout=20.0, trust_env=False)


def gateway_settings(redis_url: str, memory_url: str, public_key_file: Path, **changes: Any) -> GatewaySettings:
    return GatewaySettings.model_validate(
        {
            "memory_url": memory_url,
            "service_token": SERVICE_TOKEN,
            "redis_url": redis_url,
            "jwt_public_key_file": public_key_file,
            "jwt_issuer": ISSUER,
            "jwt_audience": AUDIENCE,
            **SHORT_TIMES,
            **changes,
        }
    )


@asynccontextmanager
async def running_gateway(redis_url: str, directory: Path, **changes: Any) -> AsyncIterator[RunningGateway]:
    """A gateway over a fake memory service. `changes` are settings."""
    issuer = TokenIssuer()
    key_file = issuer.write_public_key(directory / "jwt-public.pem")
    async with fake_memory_service() as (memory, memory_url):
        settings = gateway_settings(redis_url, memory_url, key_file, **changes)
        app = create_app(settings)
        server = _GatewayWithoutSignals(app, settings)
        async with serving(server, listening_socket(LOOPBACK, 0)) as url:
            yield RunningGateway(url, app, server, issuer, memory)
