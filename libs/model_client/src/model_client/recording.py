"""Records the model traffic of a process, so that it can be looked at and played back. For development: the files hold
what users said, word for word.

One file per HTTP exchange, numbered in the order of the requests, readable only by its owner, in JSON lines:

    {"request": "<the body, exactly as it was sent>"}
    {"status": 200, "headers": {"content-type": "text/event-stream"}}
    {"after_ms": 12, "data": "data: {…}\\n\\n"}        one line for each piece that came, as text
    {"after_ms": 40, "end": "complete"}               or "broken", where the connection or our patience ended first

Request headers are not recorded: they hold the key.
"""

import json
import os
from codecs import getincrementaldecoder
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2

from common.clock import Clock
from model_client.exact_json import exact_json

SUFFIX = ".jsonl"
_KEPT_HEADERS = ("content-type", "date", "retry-after", "retry-after-ms")


def network() -> httpx2.AsyncBaseTransport:
    """What is recorded goes over httpx2's own transport, which hands on every piece as it came."""
    return httpx2.AsyncHTTPTransport(trust_env=False)


class RecordingTransport(httpx2.AsyncBaseTransport):
    """Passes everything on to `network` and writes down what went over it."""

    def __init__(self, network: httpx2.AsyncBaseTransport, directory: Path, clock: Clock) -> None:
        self._network = network
        self._directory = directory
        self._clock = clock
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.headers["accept-encoding"] = "identity"  # what is compressed could not be read
        record = _Record(self._directory, self._clock)
        record.write({"request": (await request.aread()).decode()})
        try:
            response = await self._network.handle_async_request(request)
        except BaseException:
            record.end("broken")
            raise
        headers = {name: response.headers[name] for name in _KEPT_HEADERS if name in response.headers}
        record.write({"status": response.status_code, "headers": headers})
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _RecordedStream(response.stream, record)
        return response

    async def aclose(self) -> None:
        await self._network.aclose()


class _Record:
    """One file, written line by line: of a process that is killed, what had come is there."""

    def __init__(self, directory: Path, clock: Clock) -> None:
        self._clock = clock
        self._began_at = clock.monotonic()
        self._file = os.fdopen(open_next(directory), "w", encoding="utf-8", buffering=1)

    def write(self, line: dict[str, Any]) -> None:
        self._file.write(exact_json(line) + "\n")

    def write_timed(self, line: dict[str, Any]) -> None:
        self.write({"after_ms": round((self._clock.monotonic() - self._began_at) * 1_000), **line})

    def end(self, how: str) -> None:
        if not self._file.closed:
            self.write_timed({"end": how})
            self._file.close()


class _RecordedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, record: _Record) -> None:
        self._stream = stream
        self._record = record

    async def __aiter__(self) -> AsyncIterator[bytes]:
        decoder = getincrementaldecoder("utf-8")("replace")
        async for piece in self._stream:
            if text := decoder.decode(piece):
                self._record.write_timed({"data": text})
            yield piece
        self._record.end("complete")

    async def aclose(self) -> None:
        self._record.end("broken")
        await self._stream.aclose()


def open_next(directory: Path) -> int:
    """A file of the next number. Other processes may be recording into the same directory."""
    numbers = (int(path.stem) for path in directory.glob(f"*{SUFFIX}") if path.stem.isdigit())
    number = max(numbers, default=0) + 1
    while True:
        try:
            return os.open(directory / f"{number:06}{SUFFIX}", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except FileExistsError:
            number += 1


def read_record(path: Path) -> list[dict[str, Any]]:
    """The lines of a record; a last one that was not finished is left out."""
    *lines, _ = path.read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines]
