"""The place where the reader leaves a client's events and the client's connection picks them up."""

import asyncio
from collections import deque
from enum import Enum, auto

from gateway.events.entry import EntryId, ProgressEntry


class Signal(Enum):
    SILENCE = auto()
    """Nothing happened for as long as the connection wanted to wait."""
    INTERRUPTED = auto()
    """Redis failed; the memory service knows more."""
    TOO_SLOW = auto()
    """More events came than may wait. The client resumes from the last one it got."""
    CLOSED = auto()
    """The process shuts down."""


class Watch:
    """`position` is the last entry seen; the reader moves it."""

    def __init__(self, position: EntryId, capacity: int) -> None:
        self.position = position
        self._capacity = capacity
        self._entries: deque[ProgressEntry] = deque()
        self._signal: Signal | None = None
        self._changed = asyncio.Event()

    def offer(self, entry_id: EntryId, entry: ProgressEntry | None) -> None:
        """Take the entry if it is a new one; None stands for one that cannot be read."""
        if entry_id <= self.position:
            return
        self.position = entry_id
        if entry is None:
            return
        if len(self._entries) >= self._capacity:
            self._entries.clear()
            self.signal(Signal.TOO_SLOW)
            return
        self._entries.append(entry)
        self._changed.set()

    def signal(self, signal: Signal) -> None:
        """Signals come before entries. One that ends the watch is never replaced."""
        if self._signal in (None, Signal.INTERRUPTED):
            self._signal = signal
        self._changed.set()

    async def next(self, timeout: float) -> ProgressEntry | Signal:
        """Wait up to `timeout` seconds."""
        if not self._ready():
            self._changed.clear()
            try:
                async with asyncio.timeout(max(timeout, 0.0)):
                    await self._changed.wait()
            except TimeoutError:
                return Signal.SILENCE
        signal = self._signal
        if signal is None:
            return self._entries.popleft()
        if signal is Signal.INTERRUPTED:
            self._signal = None
        return signal

    def _ready(self) -> bool:
        return self._signal is not None or bool(self._entries)
