"""An HTTP service as a process: a bounded shutdown and an exit code. Needs the extra `web`.

At SIGTERM it takes no more connections and lets open requests end for `finish_seconds`; then they are cancelled.
What the application has to close has the rest of `stop_seconds`.
"""

import asyncio
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

import uvicorn

from common.logs import get_logger
from common.process.run import end_within

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_LAST_RESORT_SECONDS = 2.0

_log = get_logger(__name__)


class WebServer(uvicorn.Server):
    """`begin_stopping` is called when the shutdown begins. `drained` tells afterwards whether all ended in time."""

    def __init__(
        self,
        app: Any,
        *,
        finish_seconds: float,
        stop_seconds: float,
        begin_stopping: Callable[[], None],
        **config: Any,
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                access_log=False,
                log_config=None,
                server_header=False,
                lifespan="on",
                ws="none",
                timeout_graceful_shutdown=finish_seconds,  # type: ignore[arg-type] # seconds may have a fraction
                **config,
            )
        )
        self._stop_seconds = stop_seconds
        self._begin_stopping = begin_stopping
        self.drained = True

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Uvicorn would raise the signal again once it has stopped; we end with an exit code instead."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        end_within(self._stop_seconds + _LAST_RESORT_SECONDS)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        _log.info("service.stopping", open_requests=len(self.server_state.tasks))
        self._begin_stopping()
        try:
            async with asyncio.timeout(self._stop_seconds):
                await super().shutdown(sockets)
        except TimeoutError:
            self.drained = False
            _log.error("service.not_closed")

    async def _wait_tasks_to_complete(self) -> None:
        """Uvicorn cancels this when `finish_seconds` are over, and then what still runs."""
        try:
            await super()._wait_tasks_to_complete()
        except asyncio.CancelledError:
            self.drained = False
            _log.error("service.requests_cancelled", open_requests=len(self.server_state.tasks))
            raise


async def serve_until_stopped(server: WebServer, sockets: Sequence[socket.socket] | None = None) -> int:
    """Serve until SIGTERM or SIGINT; returns the exit code: 1 when something had to be cut off."""
    await server.serve(sockets=None if sockets is None else list(sockets))
    _log.info("service.stopped", drained=server.drained)
    return 0 if server.drained else 1
