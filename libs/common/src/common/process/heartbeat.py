"""The event loop's heartbeat, and a thread that ends the process when it stops.

A loop that is blocked answers nobody, `/healthz` included, so an orchestrator that probes sees it. One that only
restarts what has ended (Docker does) does not, and a consumer would keep its leases. So a process that has not
beaten for too long says where it stands and ends by itself. Pure Python that spins and blocking calls are caught;
native code that keeps the interpreter's lock stops this thread too, and is left to the probe.
"""

import asyncio
import os
import sys
import threading
import time
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from common.logs import get_logger
from common.telemetry.metrics import Metrics
from common.telemetry.table import LOOP_LAG

STUCK_EXIT_CODE = 70
_BEAT_SECONDS = 0.5
_LOOK_SECONDS = 0.5
_FRAMES = 8

_log = get_logger(__name__)


@asynccontextmanager
async def heartbeat(metrics: Metrics, stuck_seconds: float) -> AsyncIterator[None]:
    """Beat while the block runs. After `stuck_seconds` without a beat the process ends; 0 never ends it."""
    heart = _Heart(metrics)
    watching = _Watch(heart, stuck_seconds, threading.get_ident(), _end_process)
    beating = asyncio.create_task(heart.beat(), name="heartbeat")
    if stuck_seconds > 0:
        watching.start()
    try:
        yield
    finally:
        watching.stop()
        beating.cancel()


class _Heart:
    def __init__(self, metrics: Metrics) -> None:
        self.beats = 0
        self._lag = metrics.histogram(LOOP_LAG)

    async def beat(self) -> None:
        while True:
            due = time.monotonic() + _BEAT_SECONDS
            await asyncio.sleep(_BEAT_SECONDS)
            self._lag.observe(max(0.0, time.monotonic() - due))
            self.beats += 1


class _Watch(threading.Thread):
    def __init__(self, heart: _Heart, stuck_seconds: float, loop_thread: int, end: Callable[[], None]) -> None:
        super().__init__(name="heartbeat-watch", daemon=True)
        self._heart = heart
        self._looks = max(1, round(stuck_seconds / _LOOK_SECONDS))
        self._loop_thread = loop_thread
        self._end = end
        self._stopped = threading.Event()

    def stop(self) -> None:
        self._stopped.set()

    def run(self) -> None:
        # Looks are counted, not seconds: a process that was frozen as a whole (a stopped container, a machine that
        # slept) is not stuck when it goes on.
        seen, looks = self._heart.beats, 0
        while not self._stopped.wait(_LOOK_SECONDS):
            looks = looks + 1 if self._heart.beats == seen else 0
            seen = self._heart.beats
            if looks >= self._looks:
                _log.error("loop.stuck", at=_place_of(self._loop_thread))
                self._end()
                return


def _place_of(thread: int) -> str:
    """Where the thread stands, as names and line numbers."""
    frame = sys._current_frames().get(thread)
    frames = traceback.extract_stack(frame)[-_FRAMES:]
    return " < ".join(f"{entry.name}:{entry.lineno}" for entry in reversed(frames))


def _end_process() -> None:
    os._exit(STUCK_EXIT_CODE)
