"""Model traffic is recorded as it was and played back to whoever asks the same."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.model_client.scripted_endpoint import (
    GOOD,
    REQUEST,
    all_events,
    answer,
    client_of,
    delta,
    fragment,
    serving,
    sse,
    streamed,
    text,
)

from common.clock import SystemClock
from model_client.answers import ModelAnswer, ModelEvent, Restarted
from model_client.client import ModelClient
from model_client.errors import ModelRefused, ModelStreamBroken, ModelUnavailable
from model_client.playback import PlaybackDiffers
from model_client.recording import RecordingTransport, network, open_next, read_record
from model_client.requests import ModelRequest
from model_client.settings import ModelSettings, open_model_client

OTHER = replace(REQUEST, messages=('{"role":"user","content":"你好吗"}',))


def recorder(directory: Path) -> RecordingTransport:
    return RecordingTransport(network(), directory, SystemClock())


@asynccontextmanager
async def playing(directory: Path) -> AsyncIterator[ModelClient]:
    """A client that plays back; the address it is given has nobody."""
    settings = ModelSettings(model_base_url="http://127.0.0.1:9/v1", model_playback_dir=directory)
    client = open_model_client(settings, SystemClock(), lambda: "own")
    yield client
    await client.close()


def told(events: list[ModelEvent]) -> list[ModelEvent]:
    """The events without their times."""
    return [
        replace(event, time_to_first_token_ms=None, duration_ms=0) if isinstance(event, ModelAnswer) else event
        for event in events
    ]


async def record(directory: Path, *script: bytes, request: ModelRequest = REQUEST) -> list[ModelEvent]:
    async with client_of(*script, transport=recorder(directory)) as (client, _):
        return told(await all_events(client, request))


async def test_what_was_recorded_is_played_back_without_a_network(tmp_path: Path) -> None:
    calls = streamed(
        fragment('{"q"', index=0, id="a", name="one"), fragment(':"包😀"}', index=0), delta("tool_calls", content="好")
    )
    first = await record(tmp_path, GOOD)
    second = await record(tmp_path, calls, request=OTHER)
    async with playing(tmp_path) as client:
        assert told(await all_events(client, OTHER)) == second
        assert told(await all_events(client)) == first


async def test_a_file_holds_one_exchange_and_is_for_its_owner_alone(tmp_path: Path) -> None:
    directory = tmp_path / "new" / "traffic"
    await record(directory, answer(429, b"{}", retry_after="0"), GOOD)
    files = sorted(directory.iterdir())
    assert [file.name for file in files] == ["000001.jsonl", "000002.jsonl"]
    assert [file.stat().st_mode & 0o777 for file in files] == [0o600, 0o600]
    assert directory.stat().st_mode & 0o777 == 0o700
    refused, answered = (read_record(file) for file in files)
    assert refused[0]["request"] == answered[0]["request"] == REQUEST.body().decode()
    assert refused[1] == {"status": 429, "headers": {"content-type": "application/json", "retry-after": "0"}}
    assert answered[1]["status"] == 200
    assert "".join(line.get("data", "") for line in answered).encode() in GOOD
    assert answered[-1]["end"] == "complete"


async def test_the_key_is_in_no_file_and_what_comes_is_not_compressed(tmp_path: Path) -> None:
    async with client_of(GOOD, transport=recorder(tmp_path)) as (client, endpoint):
        await all_events(client)
    assert "authorization: bearer key" in endpoint.heads[0].lower()
    assert "accept-encoding: identity" in endpoint.heads[0].lower()
    assert "bearer" not in (tmp_path / "000001.jsonl").read_text().lower()


async def test_faults_are_played_back_as_faults(tmp_path: Path) -> None:
    cut_after_the_finish = GOOD[:-60]
    recorded = await record(tmp_path, answer(503, b"{}"), cut_after_the_finish, GOOD)
    assert [event for event in recorded if isinstance(event, Restarted)] == [Restarted(False), Restarted(True)]
    async with playing(tmp_path) as client:
        assert told(await all_events(client)) == recorded


async def test_a_connection_that_was_refused_is_played_back_as_that(tmp_path: Path) -> None:
    settings = ModelSettings(model_base_url="http://127.0.0.1:9/v1", model_record_dir=tmp_path)
    client = open_model_client(settings, SystemClock(), lambda: "own")
    with pytest.raises(ModelUnavailable, match="connection failed"):
        [event async for event in client.stream(REQUEST, give_up_at=0.0)]
    await client.close()
    async with playing(tmp_path) as client:
        with pytest.raises(ModelUnavailable, match="connection failed"):
            [event async for event in client.stream(REQUEST, give_up_at=0.0)]


async def test_a_call_that_was_left_is_a_broken_record(tmp_path: Path) -> None:
    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" + sse(text("a"), done=False))
        await reader.read()
        writer.close()

    async with serving(drip) as url:
        settings = ModelSettings(model_base_url=url, model_record_dir=tmp_path)
        client = open_model_client(settings, SystemClock(), lambda: "own")
        stream = client.stream(REQUEST)
        await anext(stream)
        await stream.aclose()
        await client.close()
    assert read_record(tmp_path / "000001.jsonl")[-1]["end"] == "broken"
    async with playing(tmp_path) as client:
        with pytest.raises(ModelStreamBroken):
            [event async for event in client.stream(REQUEST, give_up_at=0.0)]


async def test_a_request_that_differs_fails_and_says_where(tmp_path: Path) -> None:
    await record(tmp_path, GOOD)
    await record(tmp_path, GOOD, request=replace(OTHER, model="another"))
    async with playing(tmp_path) as client:
        with pytest.raises(PlaybackDiffers) as differs:
            await all_events(client, OTHER)
    same = len(REQUEST.body().decode().split("你好")[0] + "你好")
    assert str(differs.value) == f"not recorded: 000001.jsonl is the nearest and differs after {same} characters"
    assert isinstance(differs.value, ModelRefused)


async def test_the_same_request_gets_what_followed_and_no_more(tmp_path: Path) -> None:
    for word in ("one", "two"):
        await record(tmp_path, streamed(text(word, "stop")))
    async with playing(tmp_path) as client:
        answers = [(await all_events(client))[-1] for _ in range(2)]
        assert [event.text for event in answers if isinstance(event, ModelAnswer)] == ["one", "two"]
        with pytest.raises(PlaybackDiffers, match="once more than it was recorded: 000002"):
            await all_events(client)


async def test_calls_side_by_side_have_a_file_each(tmp_path: Path) -> None:
    requests = [replace(REQUEST, model=f"m{number}") for number in range(8)]
    await asyncio.gather(*(record(tmp_path, GOOD, request=request) for request in requests))
    assert recorded_requests(tmp_path) == {request.body().decode() for request in requests}


def recorded_requests(directory: Path) -> set[str]:
    return {read_record(file)[0]["request"] for file in directory.iterdir()}


def test_nobody_takes_the_file_of_another(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        for file in threads.map(lambda _: open_next(tmp_path), range(200)):
            os.close(file)
    assert len(list(tmp_path.iterdir())) == 200


async def test_the_record_of_a_killed_process_can_be_read(tmp_path: Path) -> None:
    await record(tmp_path, GOOD)
    file = tmp_path / "000001.jsonl"
    whole = read_record(file)
    file.write_text(file.read_text()[:-5])
    assert read_record(file) == whole[:-1]
    assert json.loads(whole[0]["request"])["messages"][0]["content"] == "你好"


def test_nothing_to_play_back_is_said_at_start(tmp_path: Path) -> None:
    settings = ModelSettings(model_base_url="http://127.0.0.1:9/v1", model_playback_dir=tmp_path)
    with pytest.raises(ValueError, match="no recordings"):
        open_model_client(settings, SystemClock(), lambda: "own")
