"""Lines from standard input without blocking the event loop, and without a thread that could outlive the chat."""

import asyncio
import os
import sys


class InputLines:
    """Works for terminals and pipes, which can be watched, and for files, which are read at once."""

    def __init__(self) -> None:
        self._reader = asyncio.StreamReader()
        self._descriptor = sys.stdin.fileno()
        try:
            asyncio.get_running_loop().add_reader(self._descriptor, self._read_some)
        except PermissionError:
            self._reader.feed_data(sys.stdin.buffer.read())
            self._reader.feed_eof()

    async def next(self) -> str | None:
        """The next line without its end; None when there are no more."""
        line = await self._reader.readline()
        return line.decode(errors="replace").strip() if line else None

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._descriptor)

    def _read_some(self) -> None:
        data = os.read(self._descriptor, 65_536)
        if data:
            self._reader.feed_data(data)
        else:
            self.close()
            self._reader.feed_eof()
