"""The feed: order kept, text joined, and never in the way of the turn."""

import asyncio
from typing import Any

from agent.progress.feed import ProgressFeed
from common.clock import SystemClock
from common.streams.progress import ProgressEvent


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
    feed = ProgressFeed(sink, SystemClock(), coalesce_seconds=0.01)
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


async def test_superseded_text_starts_over_at_offset_zero() -> None:
    sink = Sink()
    feed = ProgressFeed(sink, SystemClock(), coalesce_seconds=0.01)
    feed.say(1, "旧的")
    feed.unsay(1)
    feed.say(1, "新")
    await feed.close()
    assert [data["offset"] for _, data in sink.events] == [0, 0]
    assert sink.events[-1][1]["text"] == "新"


async def test_a_stuck_sink_delays_nobody() -> None:
    feed = ProgressFeed(StuckSink(), SystemClock(), coalesce_seconds=0.01)
    async with asyncio.timeout(2.0):
        for _ in range(1_000):
            feed.say(1, "x")
        await feed.close(within=0.1)
        await feed.close(within=0.1)
