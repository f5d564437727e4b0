"""Answers from recordings, without a network. A request gets what was recorded for the very same bytes, whatever order
requests come in; the same bytes again get the next recording of them. A request that nobody recorded is an error."""

from collections import deque
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import httpx2

from model_client.errors import ModelRefused
from model_client.recording import SUFFIX, read_record


class PlaybackDiffers(ModelRefused):
    """No recording answers this request. Says which comes nearest and where it differs, never what either holds."""

    def __init__(self, reason: str) -> None:
        super().__init__(404, reason)


class PlaybackTransport(httpx2.AsyncBaseTransport):
    def __init__(self, directory: Path) -> None:
        """Raises ValueError where there are no recordings."""
        self._left: dict[str, deque[Path]] = {}
        for path in sorted(directory.glob(f"*{SUFFIX}")):
            self._left.setdefault(read_record(path)[0]["request"], deque()).append(path)
        if not self._left:
            raise ValueError(f"no recordings in {directory}")
        self._last_of = {body: paths[-1] for body, paths in self._left.items()}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        body = (await request.aread()).decode()
        paths = self._left.get(body)
        if not paths:
            raise PlaybackDiffers(self._what_differs(body))
        _, *lines = read_record(paths.popleft())
        if not lines or "status" not in lines[0]:
            raise httpx2.ConnectError("no answer was recorded", request=request)
        return httpx2.Response(lines[0]["status"], headers=lines[0]["headers"], stream=_PlayedStream(lines[1:]))

    def _what_differs(self, body: str) -> str:
        if body in self._last_of:
            return f"asked once more than it was recorded: {self._last_of[body].name}"
        shared, nearest = max((_shared(body, recorded), recorded) for recorded in self._last_of)
        return f"not recorded: {self._last_of[nearest].name} is the nearest and differs after {shared} characters"


def _shared(one: str, other: str) -> int:
    """Characters that both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((position for position, (a, b) in pairs if a != b), min(len(one), len(other)))


class _PlayedStream(httpx2.AsyncByteStream):
    def __init__(self, lines: Sequence[dict[str, Any]]) -> None:
        self._lines = lines

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for line in self._lines:
            if "data" in line:
                yield line["data"].encode()
        if not self._lines or self._lines[-1].get("end") != "complete":
            raise httpx2.ReadError("the recording broke off here")
