"""Stands between the services and the model and keeps what they send. It passes every byte on as it came."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import uvicorn
from bench.cache.calls import Call, CallReader
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from devstack.ports import LOOPBACK, free_port

_CHAT = "/chat/completions"
_HOP_HEADERS = frozenset({"host", "content-length", "connection", "transfer-encoding", "accept-encoding"})


class Recorder:
    """`target` is the model's base URL; the turn at work is what the driver says."""

    def __init__(self, port: int) -> None:
        self.url = f"http://{LOOPBACK}:{port}/v1"
        self.target = ""
        self.calls: list[Call] = []
        self._reader = CallReader()
        self._session = self._turn = 0
        self._http = httpx2.AsyncClient(trust_env=False, timeout=120.0)

    def at(self, session: int, turn: int) -> None:
        """What comes from now on belongs to this turn."""
        self._session, self._turn = session, turn

    def taken(self) -> list[Call]:
        """The calls since the last time."""
        calls, self.calls = self.calls, []
        return calls

    async def close(self) -> None:
        await self._http.aclose()

    async def forward(self, request: Request) -> Response:
        body = await request.body()
        path = request.url.path.removeprefix("/v1")
        headers = {name: value for name, value in request.headers.items() if name not in _HOP_HEADERS}
        sent = self._http.build_request(request.method, f"{self.target}{path}", content=body, headers=headers)
        answer = await self._http.send(sent, stream=True)
        if path == _CHAT and answer.status_code == 200:
            self.calls.append(self._reader.read(body, self._session, self._turn))
        passed_on = {name: value for name, value in answer.headers.items() if name not in _HOP_HEADERS}
        closing = BackgroundTask(answer.aclose)
        return StreamingResponse(answer.aiter_raw(), answer.status_code, passed_on, background=closing)


@asynccontextmanager
async def recording() -> AsyncIterator[Recorder]:
    port = free_port()
    recorder = Recorder(port)
    app = Starlette(routes=[Route("/v1/{path:path}", recorder.forward, methods=["GET", "POST"])])
    server = uvicorn.Server(uvicorn.Config(app, host=LOOPBACK, port=port, log_config=None, access_log=False))
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
        if serving.done():
            serving.result()
    try:
        yield recorder
    finally:
        server.should_exit = True
        await serving
        await recorder.close()
