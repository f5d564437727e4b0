"""A TCP proxy between the services and one server, whose weather can change: slow, reset, cut off, closed."""

import asyncio
import socket
import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count

from devstack.ports import LOOPBACK

_CHUNK = 64 * 1024
_CONNECT_SECONDS = 2.0
_RESET = struct.pack("ii", 1, 0)
"""SO_LINGER on, no time: closing sends RST, as a killed machine's network would."""


@dataclass(eq=False)
class _Connection:
    client: asyncio.StreamWriter
    server: asyncio.StreamWriter
    bytes_left: int | None = None
    """It breaks after so many more bytes: in the middle of whatever is being said."""
    pumps: list[asyncio.Task[None]] = field(default_factory=list)

    def abort(self) -> None:
        for writer in (self.client, self.server):
            raw: socket.socket | None = writer.get_extra_info("socket")
            if raw is not None:
                with suppress(OSError):
                    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            writer.transport.abort()


class Link:
    """Each new connection goes to the next of `targets` that takes it, so it balances replicas as well."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.targets: Sequence[int] = ()
        """Ports on this machine."""
        self.delay = 0.0
        """Seconds that every chunk is held back."""
        self.closed = False
        """Nobody gets through."""
        self.broken = 0
        """Connections that were broken off so far."""
        self._open: set[_Connection] = set()
        self._turn: Iterator[int] = count()
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, LOOPBACK, 0, limit=_CHUNK)

    @property
    def port(self) -> int:
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        self.reset()
        pumps = [pump for connection in self._open for pump in connection.pumps]
        await asyncio.gather(*pumps, return_exceptions=True)

    def reset(self) -> None:
        """Break every connection off at once."""
        for connection in self._open:
            self.broken += 1
            connection.abort()

    def cut(self, after_bytes: int) -> None:
        """Break every connection off after so many more bytes."""
        for connection in self._open:
            connection.bytes_left = after_bytes

    async def _serve(self, client_reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        reached = None if self.closed else await self._reach()
        if reached is None:
            client.transport.abort()
            return
        server_reader, server = reached
        connection = _Connection(client, server)
        connection.pumps = [
            asyncio.create_task(self._pump(connection, client_reader, server)),
            asyncio.create_task(self._pump(connection, server_reader, client)),
        ]
        self._open.add(connection)
        try:
            await asyncio.gather(*connection.pumps)
        finally:
            self._open.discard(connection)
            for writer in (client, server):
                writer.close()

    async def _reach(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        first = next(self._turn)
        for offset in range(len(self.targets)):
            port = self.targets[(first + offset) % len(self.targets)]
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(_CONNECT_SECONDS):
                    return await asyncio.open_connection(LOOPBACK, port, limit=_CHUNK)
        return None

    async def _pump(self, connection: _Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while chunk := await reader.read(_CHUNK):
                if self.delay:
                    await asyncio.sleep(self.delay)
                writer.write(self._what_gets_through(connection, chunk))
                await writer.drain()
                if connection.bytes_left == 0:
                    self.broken += 1
                    connection.abort()
                    return
            if writer.can_write_eof():
                writer.write_eof()
            else:
                writer.close()
        except OSError:
            connection.abort()  # one side is gone, so the other must learn it

    @staticmethod
    def _what_gets_through(connection: _Connection, chunk: bytes) -> bytes:
        if connection.bytes_left is None:
            return chunk
        through = chunk[: connection.bytes_left]
        connection.bytes_left -= len(through)
        return through
