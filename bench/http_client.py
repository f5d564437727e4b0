"""A small HTTP/1.1 client for load: the generator shares the machine with what it measures, so it must cost little.

It speaks only what our servers speak: JSON with a content length or in chunks, and event streams in chunks.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Answer:
    status: int
    body: Any


@dataclass(frozen=True)
class StreamEvent:
    name: str
    data: dict[str, Any]
    entry_id: str = ""


class Connection:
    """One kept-alive connection; one request at a time."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def ask(self, method: str, path: str, headers: Mapping[str, str], body: Any = None) -> Answer:
        """`body` is a JSON value, or the bytes of one."""
        reader, status, answered = await self._send(method, path, headers, body)
        if "chunked" in answered.get("transfer-encoding", ""):
            content = b"".join([chunk async for chunk in _chunks(reader)])
        else:
            content = await reader.readexactly(int(answered.get("content-length", "0")))
        return Answer(status, json.loads(content) if content else None)

    async def events(self, path: str, headers: Mapping[str, str]) -> AsyncIterator[StreamEvent]:
        """The events until the server ends the stream."""
        reader, status, _ = await self._send("GET", path, headers, None)
        if status != 200:
            raise ConnectionError(f"{path} answered {status}")
        text = b""
        async for chunk in _chunks(reader):
            *whole, text = (text + chunk).split(b"\n\n")
            for block in whole:
                if event := _event(block):
                    yield event

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None

    async def _send(
        self, method: str, path: str, headers: Mapping[str, str], body: Any
    ) -> tuple[asyncio.StreamReader, int, dict[str, str]]:
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        sent = {"Host": f"{self._host}:{self._port}", "Content-Length": str(len(content)), **headers}
        if body is not None:
            sent["Content-Type"] = "application/json"
        head = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in sent.items())
        reader, text = await self._exchange(f"{head}\r\n".encode() + content)
        status_line, *lines = text.decode().split("\r\n")
        answered = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
        return reader, int(status_line.split(" ")[1]), answered

    async def _exchange(self, message: bytes) -> tuple[asyncio.StreamReader, bytes]:
        """Send, and read the head of the answer. The server closes connections that were idle for some seconds."""
        reused = self._writer is not None
        if self._reader is None or self._writer is None or self._reader.at_eof():
            self.close()
            self._reader, self._writer = await asyncio.open_connection(self._host, self._port)
            reused = False
        self._writer.write(message)
        try:
            return self._reader, await self._reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            self.close()
            if not reused:
                raise
        return await self._exchange(message)


async def _chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """The chunks of a body, up to its end."""
    while size := int((await reader.readline()).strip() or b"0", 16):
        yield await reader.readexactly(size)
        await reader.readexactly(2)
    await reader.readline()


def _event(block: bytes) -> StreamEvent | None:
    name, entry_id, data = "", "", []
    for line in block.decode().split("\n"):
        field, _, value = line.partition(":")
        if field == "event":
            name = value.removeprefix(" ")
        elif field == "id":
            entry_id = value.removeprefix(" ")
        elif field == "data":
            data.append(value.removeprefix(" "))
    return StreamEvent(name, json.loads("\n".join(data)), entry_id) if name and data else None
