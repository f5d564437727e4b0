"""Reads the progress streams of all turns that are watched in this process, with one blocking read.

The read also covers a stream of this process alone, which is written to when the set of watched turns changes:
a blocked read cannot be told otherwise without breaking its connection.

A read costs both ends in proportion to the streams it names, not to the entries it brings. So after each the reader
rests for a time in the same proportion: the next one then brings what many turns have written meanwhile.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from typing import cast
from uuid import UUID

from redis.asyncio import Redis
from redis.exceptions import RedisError

from common.clock import Clock
from common.ids import IdFactory
from common.logs import get_logger
from common.process.tasks import end_tasks
from common.streams.names import progress_stream
from gateway.events.entry import START, EntryId, ProgressEntry, parse_entry, parse_entry_id
from gateway.events.watch import Signal, Watch

BLOCK_SECONDS = 5.0
"""How long one read waits. The client's socket timeout must be longer."""

REST_SECONDS_PER_TURN = 10e-6
"""Naming a stream costs this process about 3.5 microseconds, so reading takes a quarter of a core at most; the price
is a delay of up to 10 ms with 1,000 turns, and next to none with a few."""

HISTORY_PAGE = 500
_READ_COUNT = 100
_WAKE_EXPIRY_SECONDS = 60
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 2.0

# The Redis client's annotations cover every protocol and decoding; without decoding it answers bytes.
_RawEntry = tuple[bytes, dict[bytes, bytes] | None]
_RawAnswer = list[tuple[bytes, list[_RawEntry]]]

_log = get_logger(__name__)


class ProgressReader:
    """`blocking` is a client of its own: its connection is nearly always in a blocked read."""

    def __init__(
        self,
        blocking: Redis,
        commands: Redis,
        clock: Clock,
        new_id: IdFactory,
        *,
        queue_length: int,
        jitter: Callable[[], float],
    ) -> None:
        self._blocking = blocking
        self._commands = commands
        self._clock = clock
        self._queue_length = queue_length
        self._jitter = jitter
        self._watches: dict[str, set[Watch]] = {}
        self._watched = asyncio.Event()
        self._grown = asyncio.Event()
        self._wake_stream = f"gateway:wake:{new_id()}"
        self._wake_position = START
        self._pause = _FIRST_PAUSE
        self._closed = False
        self.connected = True

    @property
    def watched_turns(self) -> int:
        return len(self._watches)

    async def reachable(self) -> bool:
        """Whether Redis answers now."""
        try:
            return bool(await self._commands.ping())
        except (RedisError, OSError):
            return False

    async def run(self) -> None:
        """Read until cancelled."""
        running = [
            asyncio.create_task(self._read_on(), name="progress-reader-reads"),
            asyncio.create_task(self._wake_on(), name="progress-reader-wakes"),
        ]
        try:
            ended, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in ended:
                task.result()  # neither ends but by a bug
        finally:
            await end_tasks(running)

    async def holds(self, turn_id: UUID, position: EntryId) -> bool:
        """Whether the stream of a turn still has this entry. Raises RedisError or OSError."""
        return bool(await self._commands.xrange(progress_stream(turn_id), min=str(position), max=str(position)))

    async def history(self, turn_id: UUID) -> AsyncGenerator[ProgressEntry, None]:
        """What the stream of a turn holds, from its start. Raises RedisError or OSError."""
        stream, after = progress_stream(turn_id), "-"
        while True:
            answer = await self._commands.xrange(stream, min=after, count=HISTORY_PAGE)
            page = cast(list[_RawEntry], answer)
            for raw_id, fields in page:
                entry = _parsed(raw_id, fields)
                if entry is not None:
                    yield entry
            if len(page) < HISTORY_PAGE:
                return
            after = f"({page[-1][0].decode()}"

    @contextmanager
    def watch(self, turn_id: UUID, position: EntryId) -> Iterator[Watch]:
        """Entries of the turn's stream after `position`, as they come."""
        stream = progress_stream(turn_id)
        watch = Watch(position, self._queue_length)
        self._watches.setdefault(stream, set()).add(watch)
        self._watched.set()
        self._grown.set()
        if self._closed:
            watch.signal(Signal.CLOSED)
        try:
            yield watch
        finally:
            self._forget(stream, watch)

    def close(self) -> None:
        """End every watch, now and later."""
        self._closed = True
        self._signal_all(Signal.CLOSED)

    async def _read_on(self) -> None:
        while True:
            await self._watched.wait()
            try:
                if not self.connected:
                    await self._blocking.ping()
                    self._note_connected()
                await self._read()
                await self._rest()
            except (RedisError, OSError) as error:
                self._note_interrupted(error)
                await self._clock.sleep(self._pause * (0.5 + self._jitter() / 2))
                self._pause = min(self._pause * 2, _LONGEST_PAUSE)

    async def _wake_on(self) -> None:
        """One wake serves all who came before it; with the rest there are no more of them than reads."""
        while True:
            await self._grown.wait()
            self._grown.clear()
            if await self._wake():
                await self._rest()
            else:
                self._grown.set()
                await self._clock.sleep(_LONGEST_PAUSE)

    async def _wake(self) -> bool:
        """Make a blocked read start over with the present set of turns. Whether it was told; it does after its time
        in any case."""
        try:
            async with self._commands.pipeline(transaction=False) as pipeline:
                pipeline.xadd(self._wake_stream, {"wake": "1"}, maxlen=1, approximate=False)
                pipeline.expire(self._wake_stream, _WAKE_EXPIRY_SECONDS)
                await pipeline.execute()
        except (RedisError, OSError) as error:
            _log.info("reader.not_woken", error=error)
            return False
        return True

    async def _rest(self) -> None:
        await self._clock.sleep(REST_SECONDS_PER_TURN * self.watched_turns)

    async def _read(self) -> None:
        positions = {stream: min(watch.position for watch in watches) for stream, watches in self._watches.items()}
        positions[self._wake_stream] = self._wake_position
        answer = await self._blocking.xread(
            {stream: str(position) for stream, position in positions.items()},
            count=_READ_COUNT,
            block=int(BLOCK_SECONDS * 1000),
        )
        for raw_stream, raw_entries in cast(_RawAnswer, answer or []):
            self._hand_out(raw_stream.decode(), raw_entries)

    def _hand_out(self, stream: str, raw_entries: list[_RawEntry]) -> None:
        if stream == self._wake_stream:
            self._wake_position = _position(raw_entries[-1][0])
            return
        for raw_id, fields in raw_entries:
            position, entry = _position(raw_id), _parsed(raw_id, fields)
            for watch in self._watches.get(stream, ()):
                watch.offer(position, entry)

    def _forget(self, stream: str, watch: Watch) -> None:
        watches = self._watches[stream]
        watches.discard(watch)
        if not watches:
            del self._watches[stream]
        if not self._watches:
            self._watched.clear()

    def _note_connected(self) -> None:
        _log.info("reader.connected")
        self.connected = True
        self._pause = _FIRST_PAUSE

    def _note_interrupted(self, error: Exception) -> None:
        if self.connected:
            _log.warning("reader.interrupted", watched_turns=self.watched_turns, error=error)
            self._signal_all(Signal.INTERRUPTED)
        self.connected = False

    def _signal_all(self, signal: Signal) -> None:
        for watches in self._watches.values():
            for watch in watches:
                watch.signal(signal)


def _position(raw_id: bytes) -> EntryId:
    position = parse_entry_id(raw_id.decode())
    assert position is not None, "Redis makes the ids"
    return position


def _parsed(raw_id: bytes, fields: dict[bytes, bytes] | None) -> ProgressEntry | None:
    entry = parse_entry(raw_id, fields or {})
    if entry is None:
        _log.warning("progress.malformed", entry_id=raw_id.decode())
    return entry
