"""Whether this process should get traffic."""

import asyncio

from gateway.events.reader import ProgressReader
from gateway.memory_service import MemoryService


class Readiness:
    """Redis is reported but does not count: turns are accepted and told without it, and an outage of Redis must
    not take every replica out of the load balancer."""

    def __init__(self, memory: MemoryService, reader: ProgressReader) -> None:
        self._memory = memory
        self._reader = reader
        self._reading: asyncio.Task[None] | None = None
        self._closing = False

    async def redis_reachable(self) -> bool:
        return await self._reader.reachable()

    def note_reading(self, reading: asyncio.Task[None]) -> None:
        self._reading = reading

    def alive(self) -> bool:
        """False once the reader has died of a bug: then only a new process helps."""
        return self._reading is None or not self._reading.done()

    async def ready(self) -> bool:
        return self.alive() and not self._closing and await self._memory.ready()

    def begin_closing(self) -> None:
        """Take no new traffic, and let the event streams end: their clients go on at another replica."""
        self._closing = True
        self._reader.close()
