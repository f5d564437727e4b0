"""A real HTTP server that plays an endpoint's answers, and its faults, on a socket."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import httpx2

from common.clock import SystemClock
from model_client.answers import ModelAnswer, ModelEvent
from model_client.client import ModelClient, ModelTimeouts
from model_client.profiles import PROFILES, ProviderProfile
from model_client.requests import ModelRequest

REQUEST = ModelRequest(model="m", messages=('{"role":"user","content":"你好"}',), tools="[]")
IMPATIENT = ModelTimeouts(connect=1.0, first_chunk=0.3, between_chunks=0.3, total=3.0)


def sse(*chunks: object, done: bool = True) -> bytes:
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    return "".join(lines + (["data: [DONE]\n\n"] if done else [])).encode()


def delta(finish_reason: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish_reason}]}


def text(content: str, finish_reason: str | None = None) -> dict[str, Any]:
    return delta(finish_reason, content=content)


def fragment(
    arguments: Any = None,
    *,
    index: int | None = None,
    id: str | None = None,
    name: str | None = None,
    finish_reason: str | None = None,
) -> dict[str, Any]:
    call: dict[str, Any] = {"function": {}}
    if index is not None:
        call["index"] = index
    if id is not None:
        call["id"] = id
    if name is not None:
        call["function"]["name"] = name
    if arguments is not None:
        call["function"]["arguments"] = arguments
    return delta(finish_reason, tool_calls=[call])


def answer(status: int, body: bytes, **headers: str) -> bytes:
    """An HTTP response. Header names are written with underscores."""
    kind = "text/event-stream" if status == 200 else "application/json"
    told = {"content-type": kind, "content-length": str(len(body)), "connection": "close"}
    told |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in told.items())
    return f"HTTP/1.1 {status} X\r\n{lines}\r\n".encode() + body


def streamed(*chunks: object, done: bool = True) -> bytes:
    return answer(200, sse(*chunks, done=done))


GOOD = streamed(text("hel"), text("lo"), text("", "stop"), {"choices": [], "usage": {"prompt_tokens": 3}})


@dataclass
class Endpoint:
    """Answers request number i with script[i]; the last one again and again."""

    script: list[bytes]
    bodies: list[bytes] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if b"content-length" in line)
            self.heads.append(head.decode())
            self.bodies.append(await reader.readexactly(length))
            reply = self.script[min(len(self.bodies), len(self.script)) - 1]
            writer.write(reply)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def serving(handle: Callable[[asyncio.StreamReader, asyncio.StreamWriter], object]) -> AsyncIterator[str]:
    """The base URL of a server that handles connections like this."""
    server = await asyncio.start_server(handle, "127.0.0.1", 0)  # type: ignore[arg-type]
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    finally:
        server.close()
        await server.wait_closed()


@asynccontextmanager
async def client_of(
    *script: bytes,
    profile: str | ProviderProfile = "generic",
    retry_for: float = 5.0,
    transport: httpx2.AsyncBaseTransport | None = None,
) -> AsyncIterator[tuple[ModelClient, Endpoint]]:
    endpoint = Endpoint(list(script))
    numbers = count(1)
    async with serving(endpoint.handle) as url:
        client = ModelClient(
            url,
            "key",
            PROFILES[profile] if isinstance(profile, str) else profile,
            SystemClock(),
            lambda: f"own-{next(numbers)}",
            retry_for=retry_for,
            timeouts=IMPATIENT,
            jitter=lambda: 0.0,
            transport=transport,
        )
        try:
            yield client, endpoint
        finally:
            await client.close()


async def all_events(client: ModelClient, request: ModelRequest = REQUEST) -> list[ModelEvent]:
    return [event async for event in client.stream(request)]


async def answer_of(client: ModelClient, request: ModelRequest = REQUEST) -> ModelAnswer:
    last = (await all_events(client, request))[-1]
    assert isinstance(last, ModelAnswer)
    return last
