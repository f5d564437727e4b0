"""The frame around a service's work: traces, heartbeat, and a last resort when it does not end."""

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import uvloop

from common.logs import get_logger
from common.process.garbage import search_rarely
from common.process.heartbeat import heartbeat
from common.settings import ServiceSettings
from common.telemetry.metrics import Metrics
from common.telemetry.traces import configure_traces, flush_traces

_log = get_logger(__name__)


def run_process(
    service: str,
    settings: ServiceSettings,
    metrics: Metrics,
    work: Callable[[], Coroutine[Any, Any, int]],
) -> int:
    """Run `work` to its end and return its exit code. Logs are configured by then."""
    configure_traces(service)
    search_rarely()

    async def with_heartbeat() -> int:
        async with heartbeat(metrics, settings.loop_stuck_seconds):
            return await work()

    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(with_heartbeat())
    finally:
        flush_traces()


def end_within(seconds: float) -> None:
    """End the process with code 1 if it is still there after `seconds`: what ignores its cancellation would keep
    it for ever."""

    def end() -> None:
        _log.error("process.overdue")
        os._exit(1)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
