"""The feed: order kept, text joined, and never in the way of the turn."""

import asyncio
import json
from typing import Any, cast
from uuid import uuid4

import pytest
from redis.asyncio import Redis
from tests.support.waiting import wait_for

from agent.progress.feed import ProgressFeed
from common.streams.progress import ProgressEvent, ProgressWriter


class Sink:
    def __init__(self) -> None:
        self.events: list[tuple[ProgressEvent, dict[str, Any]]] = []

    async def emit(self, event: ProgressEvent, data: dict[str, Any]) -> None:
        self.events.append((event, data))


class StuckSink:
    async def emit(self, event: ProgressEvent, data: dict[str, Any]) -> None:
        await asyncio.Event().wait()


async def test_text_is_joined_between_other_events() -> None:
    sink = Sink()
    feed = ProgressFeed(sink, coalesce_seconds=0.01)
    for piece in ("一", "二", "三"):
        feed.say(1, piece)
    feed.emit(ProgressEvent.TOOL_STARTED, {"tool": "x"})
    feed.say(1, "四")
    feed.say(2, "五")
    await feed.close()
    assert sink.events == [
        (ProgressEvent.TEXT_DELTA, {"step": 1, "offset": 0, "text": "一二三"}),
        (ProgressEvent.TOOL_STARTED, {"tool": "x"}),
        (ProgressEvent.TEXT_DELTA, {"step": 1, "offset": 3, "text": "四"}),
        (ProgressEvent.TEXT_DELTA, {"step": 2, "offset": 0, "text": "五"}),
    ]


async def test_text_waits_for_more_text_and_for_nothing_else() -> None:
    sink = Sink()
    feed = ProgressFeed(sink, coalesce_seconds=3_600.0)
    async with asyncio.timeout(5.0):
        feed.say(1, "一")
        await asyncio.sleep(0)
        feed.say(1, "二")
        feed.emit(ProgressEvent.TURN_COMPLETED, {"reply": "一二"})
        await wait_for(lambda: len(sink.events) == 2, "both are written")
        feed.say(2, "三")
        await feed.close()
    assert [data.get("text") for _, data in sink.events] == ["一二", None, "三"]


async def test_superseded_text_starts_over_at_offset_zero() -> None:
    sink = Sink()
    feed = ProgressFeed(sink, coalesce_seconds=0.01)
    feed.say(1, "旧的")
    feed.unsay(1)
    feed.say(1, "新")
    await feed.close()
    assert [data["offset"] for _, data in sink.events] == [0, 0]
    assert sink.events[-1][1]["text"] == "新"


async def test_a_stuck_sink_delays_nobody() -> None:
    feed = ProgressFeed(StuckSink(), coalesce_seconds=0.01)
    async with asyncio.timeout(2.0):
        for _ in range(1_000):
            feed.say(1, "x")
        await feed.close(within=0.1)
        await feed.close(within=0.1)


async def test_a_bug_in_one_event_does_not_silence_the_rest() -> None:
    class FaultySink(Sink):
        async def emit(self, event: ProgressEvent, data: dict[str, Any]) -> None:
            if event is ProgressEvent.ITEMS:
                raise RuntimeError("a bug")
            await super().emit(event, data)

    sink = FaultySink()
    feed = ProgressFeed(sink, coalesce_seconds=0.01)
    feed.emit(ProgressEvent.ITEMS, {})
    feed.emit(ProgressEvent.TURN_COMPLETED, {})
    await feed.close()
    assert [event for event, _ in sink.events] == [ProgressEvent.TURN_COMPLETED]


async def test_what_is_taken_back_leaves_nothing() -> None:
    sink = Sink()
    feed = ProgressFeed(sink, coalesce_seconds=0.01)
    feed.unsay(1)
    feed.say(1, "")
    feed.say(1, "旧的")
    feed.unsay(1)
    await feed.close()
    assert [(data["offset"], data["text"]) for _, data in sink.events] == [(0, "旧的"), (0, "")]


class KeptWrites:
    """Stands for Redis, where a write is an encoded text."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []

    async def eval(self, *arguments: str | bytes | int) -> None:
        *_, body = [str(each).encode() if not isinstance(each, bytes) else each for each in arguments]
        self.bodies.append(body)


@pytest.mark.parametrize("unwritable", [object(), {1j: 1}, float("nan")])
async def test_no_content_stops_the_writer(unwritable: object) -> None:
    kept = KeptWrites()
    writer = ProgressWriter(cast(Redis, kept), uuid4(), attempt=1)
    await writer.emit(ProgressEvent.TOOL_STARTED, {"arguments": {"query": "包\ud83d"}})
    await writer.emit(ProgressEvent.ITEMS, {"items": unwritable})
    await writer.emit(ProgressEvent.TURN_COMPLETED, {"reply": "好"})
    first, last = (json.loads(body) for body in kept.bodies)
    assert first == {"attempt": 1, "n": 1, "arguments": {"query": "包?"}}
    assert last == {"attempt": 1, "n": 3, "reply": "好"}
