"""The client against a real HTTP server that plays the faults on a socket."""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from common.clock import SystemClock
from model_client.answers import ModelAnswer, ModelEvent, Restarted, TextDelta
from model_client.client import ModelClient, ModelTimeouts
from model_client.errors import (
    ModelMisbehaved,
    ModelRefused,
    ModelStreamBroken,
    ModelTimedOut,
    ModelTruncated,
    ModelUnavailable,
)
from model_client.profiles import PROFILES
from model_client.requests import ModelRequest

REQUEST = ModelRequest(model="m", messages=('{"role":"user","content":"你好"}',), tools="[]")


IMPATIENT = ModelTimeouts(connect=1.0, first_chunk=0.3, between_chunks=0.3, total=3.0)


def sse(*chunks: object, done: bool = True) -> bytes:
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    return "".join(lines + (["data: [DONE]\n\n"] if done else [])).encode()


def text(content: str, finish: str | None = None) -> object:
    return {"choices": [{"delta": {"content": content}, "finish_reason": finish}]}


GOOD = sse(text("hel"), text("lo"), text("", "stop"), {"choices": [], "usage": {"prompt_tokens": 3}})


def answer(status: int, body: bytes, **headers: str) -> bytes:
    kind = "text/event-stream" if status == 200 else "application/json"
    told = {"content-type": kind, "content-length": str(len(body)), "connection": "close", **headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in told.items())
    return f"HTTP/1.1 {status} X\r\n{lines}\r\n".encode() + body


@dataclass
class Endpoint:
    """Answers request number i with script[i]; the last one again and again."""

    script: list[bytes]
    bodies: list[bytes] = field(default_factory=list)

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if b"content-length" in line)
            self.bodies.append(await reader.readexactly(length))
            reply = self.script[min(len(self.bodies), len(self.script)) - 1]
            writer.write(reply)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def client_of(
    *script: bytes, profile: str = "generic", retry_for: float = 5.0
) -> AsyncIterator[tuple[ModelClient, Endpoint]]:
    endpoint = Endpoint(list(script))
    server = await asyncio.start_server(endpoint.handle, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    client = ModelClient(
        f"http://127.0.0.1:{port}/v1",
        "key",
        PROFILES[profile],
        SystemClock(),
        lambda: "own",
        retry_for=retry_for,
        timeouts=IMPATIENT,
        jitter=lambda: 0.0,
    )
    try:
        yield client, endpoint
    finally:
        await client.close()
        server.close()
        await server.wait_closed()


async def all_events(client: ModelClient, request: ModelRequest = REQUEST) -> list[ModelEvent]:
    return [event async for event in client.stream(request)]


async def test_an_answer_comes_with_its_deltas_and_its_cost() -> None:
    async with client_of(answer(200, GOOD)) as (client, endpoint):
        *deltas, last = await all_events(client)
    assert deltas == [TextDelta("hel"), TextDelta("lo")]
    assert isinstance(last, ModelAnswer)
    assert last.payload == '{"role":"assistant","content":"hello"}'
    assert last.usage.prompt_tokens == 3
    assert last.time_to_first_token_ms is not None
    assert json.loads(endpoint.bodies[0]) == {
        "model": "m",
        "tools": [],
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [{"role": "user", "content": "你好"}],
    }


async def test_the_messages_go_out_byte_for_byte() -> None:
    odd = '{"role":"user",  "content":"\\u4f60 好"}'
    async with client_of(answer(200, GOOD)) as (client, endpoint):
        await all_events(client, ModelRequest(model="m", messages=(odd, odd)))
    assert f'"messages":[{odd},{odd}]'.encode() in endpoint.bodies[0]


@pytest.mark.parametrize("status", [429, 500, 503, 408])
async def test_retries_send_the_same_bytes(status: int) -> None:
    async with client_of(answer(status, b"{}"), answer(status, b"{}"), answer(200, GOOD)) as (client, endpoint):
        last = (await all_events(client))[-1]
    assert isinstance(last, ModelAnswer)
    assert len(endpoint.bodies) == 3
    assert len(set(endpoint.bodies)) == 1


async def test_retry_after_is_waited_for_or_given_up() -> None:
    busy = answer(429, b"{}", **{"retry-after": "1"})
    async with client_of(busy, answer(200, GOOD)) as (client, _):
        started = asyncio.get_running_loop().time()
        await all_events(client)
        assert asyncio.get_running_loop().time() - started >= 1.0
    async with client_of(answer(429, b"{}", **{"retry-after": "60"})) as (client, endpoint):
        with pytest.raises(ModelUnavailable):
            await all_events(client)
        assert len(endpoint.bodies) == 1


async def test_an_endpoint_that_is_down_is_waited_for_as_long_as_the_caller_can() -> None:
    """`retry_for` is for callers who name no time, and no count of attempts ends it either."""
    down = answer(503, b"{}")
    async with client_of(*[down] * 4, answer(200, GOOD), retry_for=0.0) as (client, endpoint):
        deadline = SystemClock().monotonic() + 20.0
        events = [event async for event in client.stream(REQUEST, give_up_at=deadline)]
    assert events[:4] == [Restarted(accepted=False)] * 4
    assert isinstance(events[-1], ModelAnswer)
    assert len(set(endpoint.bodies)) == 1


async def test_an_endpoint_that_is_down_is_given_up_at_the_callers_time() -> None:
    async with client_of(answer(503, b"{}"), retry_for=60.0) as (client, endpoint):
        started = SystemClock().monotonic()
        with pytest.raises(ModelUnavailable):
            async for _ in client.stream(REQUEST, give_up_at=started + 1.0):
                pass
        assert SystemClock().monotonic() - started < 1.0
    assert len(endpoint.bodies) > 1


@pytest.mark.parametrize(
    "cut",
    [
        pytest.param(answer(200, sse(text("par"), done=False)), id="ends without a finish reason"),
        pytest.param(answer(200, GOOD)[:-60], id="connection closed in mid-stream"),
    ],
)
async def test_attempts_that_may_have_been_paid_for_are_few(cut: bytes) -> None:
    async with client_of(cut, retry_for=60.0) as (client, endpoint):
        with pytest.raises(ModelStreamBroken):
            await all_events(client)
    assert len(endpoint.bodies) == 4


async def test_no_connection_in_time_is_not_a_request_that_was_taken_up() -> None:
    with socket.socket() as listening, contextlib.ExitStack() as waiting:
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        for _ in range(3):  # nobody accepts: the queue is full, and the next one's handshake gets no answer
            filler = waiting.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(listening.getsockname())
        client = ModelClient(
            f"http://127.0.0.1:{listening.getsockname()[1]}/v1",
            "key",
            PROFILES["generic"],
            SystemClock(),
            lambda: "own",
            retry_for=0.0,
            timeouts=ModelTimeouts(connect=0.2, first_chunk=2.0),
        )
        with pytest.raises(ModelUnavailable) as unavailable:
            await all_events(client)
        await client.close()
    assert not unavailable.value.accepted


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
async def test_a_refusal_is_not_repeated(status: int) -> None:
    async with client_of(answer(status, b'{"error":{"message":"the prompt"}}')) as (client, endpoint):
        with pytest.raises(ModelRefused) as refused:
            await all_events(client)
    assert refused.value.status == status
    assert "prompt" not in str(refused.value)
    assert len(endpoint.bodies) == 1


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(answer(200, sse(text("par"), done=False)), id="ends without a finish reason"),
        pytest.param(answer(200, GOOD)[:-60], id="cut in mid-stream"),
        pytest.param(answer(200, sse(text("par"), {"error": {"message": "overloaded"}})), id="error inside"),
        pytest.param(answer(200, b"data: {not json\n\n"), id="not JSON"),
    ],
)
async def test_a_broken_stream_is_never_an_answer_and_is_repeated(broken: bytes) -> None:
    async with client_of(broken, answer(200, GOOD)) as (client, _):
        events = await all_events(client)
    assert isinstance(events[-1], ModelAnswer)
    assert events[-1].text == "hello"
    if TextDelta("par") in events:
        assert events[1] == Restarted(accepted=True)
    async with client_of(broken, retry_for=0.0) as (client, _):
        with pytest.raises(ModelUnavailable):
            await all_events(client)


@pytest.mark.parametrize(
    "before_silence",
    [
        pytest.param(b"", id="no answer at all"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" + sse(text("a"), done=False),
            id="between chunks",
        ),
    ],
)
async def test_silence_ends_in_time(before_silence: bytes) -> None:
    async def go_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(before_silence)
        await reader.read()
        writer.close()

    async with serving(go_silent) as url:
        client = ModelClient(
            url, "key", PROFILES["generic"], SystemClock(), lambda: "own", retry_for=0.0, timeouts=IMPATIENT
        )
        async with asyncio.timeout(3.0):
            with pytest.raises(ModelTimedOut):
                await all_events(client)
        await client.close()


@asynccontextmanager
async def serving(handle: Callable[[asyncio.StreamReader, asyncio.StreamWriter], object]) -> AsyncIterator[str]:
    server = await asyncio.start_server(handle, "127.0.0.1", 0)  # type: ignore[arg-type]
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    finally:
        server.close()
        await server.wait_closed()


async def test_nobody_there() -> None:
    client = ModelClient(
        "http://127.0.0.1:9/v1", "key", PROFILES["generic"], SystemClock(), lambda: "own", retry_for=0.3
    )
    with pytest.raises(ModelUnavailable):
        await all_events(client)
    await client.close()


async def test_a_truncated_call_is_tried_once_more_and_then_reported() -> None:
    cut_off = {
        "choices": [
            {
                "delta": {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "x", "arguments": "{"}}]},
                "finish_reason": "length",
            }
        ]
    }
    async with client_of(answer(200, sse(cut_off)), answer(200, GOOD)) as (client, endpoint):
        assert isinstance((await all_events(client))[-1], ModelAnswer)
        assert len(endpoint.bodies) == 2
    async with client_of(answer(200, sse(cut_off))) as (client, endpoint):
        with pytest.raises(ModelTruncated):
            await all_events(client)
        assert len(endpoint.bodies) == 2


async def test_an_empty_answer_is_misbehaviour() -> None:
    async with client_of(answer(200, sse(text("", "stop")))) as (client, _):
        with pytest.raises(ModelMisbehaved):
            await all_events(client)


async def test_reasoning_is_echoed_only_where_the_profile_wants_it() -> None:
    thinking = sse({"choices": [{"delta": {"reasoning_content": "hm"}}]}, text("ok", "stop"))
    async with client_of(answer(200, thinking), profile="dashscope") as (client, _):
        last = (await all_events(client))[-1]
        assert isinstance(last, ModelAnswer)
        assert json.loads(last.payload)["reasoning_content"] == "hm"
    async with client_of(answer(200, thinking)) as (client, _):
        last = (await all_events(client))[-1]
        assert isinstance(last, ModelAnswer)
        assert "reasoning_content" not in json.loads(last.payload)


async def test_giving_up_closes_the_connection() -> None:
    gone = asyncio.Event()

    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" + sse(text("a"), done=False))
        await reader.read()
        gone.set()
        writer.close()

    async with serving(drip) as url:
        client = ModelClient(url, "key", PROFILES["generic"], SystemClock(), lambda: "own")
        stream = client.stream(REQUEST)
        assert await anext(stream) == TextDelta("a")
        await stream.aclose()
        async with asyncio.timeout(3.0):
            await gone.wait()
        await client.close()
