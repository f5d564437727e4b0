"""The client against a real HTTP server that plays the faults on a socket."""

import asyncio
import contextlib
import json
import re
import socket
import struct
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from tests.unit.model_client.scripted_endpoint import (
    GOOD,
    IMPATIENT,
    REQUEST,
    all_events,
    answer,
    client_of,
    serving,
    sse,
    streamed,
    text,
)

from common.clock import SystemClock
from model_client.answers import ModelAnswer, Restarted, TextDelta
from model_client.client import ModelClient, ModelTimeouts
from model_client.errors import ContextOverflow, ModelRefused, ModelStreamBroken, ModelTimedOut, ModelUnavailable
from model_client.profiles import PROFILES
from model_client.requests import ModelRequest

CHUNKED = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def in_a_chunk(body: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(body), body)


async def test_an_answer_comes_with_its_deltas_and_its_cost() -> None:
    async with client_of(GOOD) as (client, endpoint):
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
    async with client_of(GOOD) as (client, endpoint):
        await all_events(client, ModelRequest(model="m", messages=(odd, odd)))
    assert f'"messages":[{odd},{odd}]'.encode() in endpoint.bodies[0]


@pytest.mark.parametrize("status", [429, 500, 503, 408])
async def test_retries_send_the_same_bytes(status: int) -> None:
    async with client_of(answer(status, b"{}"), answer(status, b"{}"), GOOD) as (client, endpoint):
        last = (await all_events(client))[-1]
    assert isinstance(last, ModelAnswer)
    assert len(endpoint.bodies) == 3
    assert len(set(endpoint.bodies)) == 1


async def test_retry_after_is_waited_for_or_given_up() -> None:
    busy = answer(429, b"{}", retry_after="1")
    async with client_of(busy, GOOD) as (client, _):
        started = asyncio.get_running_loop().time()
        await all_events(client)
        assert asyncio.get_running_loop().time() - started >= 1.0
    async with client_of(answer(429, b"{}", retry_after="60")) as (client, endpoint):
        with pytest.raises(ModelUnavailable):
            await all_events(client)
        assert len(endpoint.bodies) == 1


async def test_a_date_to_retry_after_is_read_on_the_endpoints_clock() -> None:
    theirs = datetime.now(UTC) - timedelta(hours=3)
    headers = {"date": format_datetime(theirs, usegmt=True)}
    soon = answer(429, b"{}", retry_after=format_datetime(theirs + timedelta(seconds=1), usegmt=True), **headers)
    async with client_of(soon, GOOD) as (client, _):
        started = SystemClock().monotonic()
        await all_events(client)
        assert SystemClock().monotonic() - started >= 1.0
    late = answer(503, b"{}", retry_after=format_datetime(theirs + timedelta(minutes=1), usegmt=True), **headers)
    async with client_of(late) as (client, endpoint):
        with pytest.raises(ModelUnavailable):
            await all_events(client)
        assert len(endpoint.bodies) == 1


async def test_an_endpoint_that_is_down_is_waited_for_as_long_as_the_caller_can() -> None:
    """`retry_for` is for callers who name no time, and no count of attempts ends it either."""
    down = answer(503, b"{}")
    async with client_of(*[down] * 4, GOOD, retry_for=0.0) as (client, endpoint):
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
        pytest.param(streamed(text("par"), done=False), id="ends without a finish reason"),
        pytest.param(GOOD[:-60], id="connection closed in mid-stream"),
    ],
)
async def test_attempts_that_may_have_been_paid_for_are_few(cut: bytes) -> None:
    async with client_of(cut, retry_for=60.0) as (client, endpoint):
        with pytest.raises(ModelStreamBroken):
            await all_events(client)
    assert len(endpoint.bodies) == 4
    assert len(set(endpoint.bodies)) == 1


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


async def test_a_request_that_is_too_long_is_an_error_of_its_own() -> None:
    said = b'{"error":{"message":"This model\'s maximum context length is 8192 tokens.","code":400}}'
    async with client_of(answer(400, said)) as (client, endpoint):
        with pytest.raises(ContextOverflow):
            await all_events(client)
        assert len(endpoint.bodies) == 1
    for error in (
        {"error": {"code": "context_length_exceeded", "message": "too long"}},
        {"object": "error", "message": "the request exceeds the available context size", "code": 400},
    ):
        async with client_of(streamed(text("par"), error)) as (client, endpoint):
            with pytest.raises(ContextOverflow):
                await all_events(client)
            assert len(endpoint.bodies) == 1


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(streamed(text("par"), done=False), id="ends without a finish reason"),
        pytest.param(GOOD[:-60], id="cut in mid-stream"),
        pytest.param(streamed(text("par"), {"error": {"message": "overloaded"}}), id="error inside"),
        pytest.param(answer(200, b"data: {not json\n\n"), id="not JSON"),
    ],
)
async def test_a_broken_stream_is_never_an_answer_and_is_repeated(broken: bytes) -> None:
    async with client_of(broken, GOOD) as (client, _):
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


async def test_nobody_there() -> None:
    client = ModelClient(
        "http://127.0.0.1:9/v1", "key", PROFILES["generic"], SystemClock(), lambda: "own", retry_for=0.3
    )
    with pytest.raises(ModelUnavailable):
        await all_events(client)
    await client.close()


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


async def test_a_connection_is_used_again_where_the_end_of_the_body_comes_late() -> None:
    connections, told = 0, asyncio.Event()

    async def keep_answering(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        with contextlib.suppress(asyncio.IncompleteReadError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = re.search(rb"content-length: (\d+)", head.lower())
                await reader.readexactly(int(length[1]) if length else 0)
                writer.write(CHUNKED + in_a_chunk(sse(text("hi", "stop"))))
                await told.wait()
                told.clear()
                writer.write(b"0\r\n\r\n")
        writer.close()

    async with serving(keep_answering) as url:
        client = ModelClient(url, "key", PROFILES["generic"], SystemClock(), lambda: "own", timeouts=IMPATIENT)
        for _ in range(3):
            async with contextlib.aclosing(client.stream(REQUEST)) as events:
                assert await anext(events) == TextDelta("hi")
                told.set()
                assert isinstance(await anext(events), ModelAnswer)
        await client.close()
    assert connections == 1


@pytest.mark.parametrize("broken", ["reset", "framing"])
async def test_a_connection_that_breaks_in_mid_answer_was_taken_up(broken: str) -> None:
    async def break_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(CHUNKED + in_a_chunk(sse(text("a"), done=False)) + (b"zz\r\n" if broken == "framing" else b""))
        await writer.drain()
        if broken == "reset":
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.close()

    async with serving(break_off) as url:
        client = ModelClient(
            url, "key", PROFILES["generic"], SystemClock(), lambda: "own", retry_for=0.0, timeouts=IMPATIENT
        )
        with pytest.raises(ModelStreamBroken):
            await all_events(client)
        await client.close()


async def test_comments_are_no_sign_of_life() -> None:
    async def comment(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" + sse(text("a"), done=False))
        with contextlib.suppress(ConnectionError):
            while not writer.is_closing():
                writer.write(b": ping\n\n")
                await writer.drain()
                await asyncio.sleep(0.02)

    async with serving(comment) as url:
        client = ModelClient(
            url, "key", PROFILES["generic"], SystemClock(), lambda: "own", retry_for=0.0, timeouts=IMPATIENT
        )
        async with asyncio.timeout(2.0):
            with pytest.raises(ModelTimedOut):
                await all_events(client)
        await client.close()
