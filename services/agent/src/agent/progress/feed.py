"""The progress of one attempt: kept in order, text coalesced, written aside so that a slow Redis delays nothing."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from common.logs import get_logger
from common.streams.progress import ProgressEvent

_log = get_logger(__name__)


class ProgressSink(Protocol):
    async def emit(self, event: ProgressEvent, data: dict[str, Any]) -> None: ...


@dataclass(frozen=True)
class _Said:
    """`text` belongs at character `offset` of what step `step` says; a smaller offset than before starts over."""

    step: int
    offset: int
    text: str

    def joined(self, later: "_Said") -> "_Said | None":
        if later.step != self.step or later.offset != self.offset + len(self.text):
            return None
        return _Said(self.step, self.offset, self.text + later.text)


_Event = tuple[ProgressEvent, dict[str, Any]]
_Item = _Said | _Event


class ProgressFeed:
    """`emit` and `say` return at once; a task of the feed's own does the writing.

    Text waits `coalesce_seconds` for more text; any other event ends that wait, so that it holds up nothing.
    """

    def __init__(self, sink: ProgressSink, *, coalesce_seconds: float = 0.05) -> None:
        self._sink = sink
        self._coalesce_seconds = coalesce_seconds
        self._urgent = asyncio.Event()
        self._queue: asyncio.Queue[_Item | None] = asyncio.Queue()
        self._offsets: dict[int, int] = {}
        self._writing = asyncio.create_task(self._write(), name="progress-feed")

    def emit(self, event: ProgressEvent, data: dict[str, Any]) -> None:
        self._queue.put_nowait((event, data))
        self._urgent.set()

    def say(self, step: int, text: str) -> None:
        """Text of the answer, as it comes. No text says nothing."""
        if not text:
            return
        offset = self._offsets.get(step, 0)
        self._offsets[step] = offset + len(text)
        self._queue.put_nowait(_Said(step, offset, text))

    def unsay(self, step: int) -> None:
        """Take back what was said in this step, if anything: nothing at offset 0 stands for all of it."""
        if self._offsets.get(step):
            self._offsets[step] = 0
            self._queue.put_nowait(_Said(step, 0, ""))

    async def close(self, within: float = 1.0) -> None:
        """Write what is left, for at most `within` seconds."""
        self._queue.put_nowait(None)
        self._urgent.set()
        await asyncio.wait((self._writing,), timeout=within)
        self._writing.cancel()

    async def _write(self) -> None:
        ended = False
        while not ended:
            items = [await self._queue.get()]
            if isinstance(items[0], _Said):
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._coalesce_seconds):
                        await self._urgent.wait()
            self._urgent.clear()
            while not self._queue.empty():
                items.append(self._queue.get_nowait())
            ended = None in items
            for event, data in coalesced([item for item in items if item is not None]):
                await self._emit(event, data)

    async def _emit(self, event: ProgressEvent, data: dict[str, Any]) -> None:
        try:
            await self._sink.emit(event, data)
        except Exception as error:  # noqa: BLE001 - the edge: one event that cannot be told must not silence the rest
            _log.error("progress.bug", progress_event=event, error=error)


def coalesced(items: Sequence[_Item]) -> list[_Event]:
    """The events for these items, in order, with neighbouring pieces of text joined."""
    joined: list[_Item] = []
    for item in items:
        last = joined[-1] if joined else None
        both = last.joined(item) if isinstance(last, _Said) and isinstance(item, _Said) else None
        if both is None:
            joined.append(item)
        else:
            joined[-1] = both
    return [_delta(item) if isinstance(item, _Said) else item for item in joined]


def _delta(said: _Said) -> _Event:
    return ProgressEvent.TEXT_DELTA, {"step": said.step, "offset": said.offset, "text": said.text}
