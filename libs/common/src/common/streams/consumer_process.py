"""Running a consumer as a process: health endpoints, signals, a bounded shutdown and an exit code.

Needs the extra `web`.
"""

import asyncio
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

from common.logs import get_logger
from common.process.health import Check, Health, health_router
from common.process.run import end_within
from common.streams.consumer import EventConsumer
from common.telemetry.http import NO_FASTAPI_TELEMETRY
from common.telemetry.metrics import Metrics
from common.web import install_problem_handlers

_LAST_RESORT_SECONDS = 5.0
"""For giving up consumer names and closing connections; after that nothing is waited for."""

_log = get_logger(__name__)


class _Server(uvicorn.Server):
    """Uvicorn without its signal handlers: the process ends when the consumer has drained."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def run_consumer(
    consumer: EventConsumer,
    *,
    host: str,
    port: int,
    connections: Mapping[str, Check],
    metrics: Metrics,
    hand_back: Callable[[], None],
    finish_seconds: float,
    stop_seconds: float,
) -> int:
    """Consume until SIGTERM or SIGINT; returns the exit code.

    Readiness needs the subscribers, Redis and `connections`. At the signal, work goes on for `finish_seconds`, then
    `hand_back` is called and what still runs has the rest of `stop_seconds`. The exit code is 1 when that was not
    enough.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    app = _health_app(consumer, connections, metrics)
    server = _Server(uvicorn.Config(app, host=host, port=port, log_config=None, access_log=False, lifespan="off"))
    serving = asyncio.create_task(server.serve(), name="health-server")
    await consumer.start()
    stopped = asyncio.create_task(stop.wait(), name="stop-signal")
    await asyncio.wait((stopped, serving), return_when=asyncio.FIRST_COMPLETED)
    _log.info("consumer.stopping", signalled=stop.is_set())
    end_within(stop_seconds + _LAST_RESORT_SECONDS)
    handing_back = loop.call_later(finish_seconds, hand_back)
    drained = await consumer.stop(stop_seconds)
    handing_back.cancel()
    server.should_exit = True
    await serving
    _log.info("consumer.stopped", drained=drained)
    return 0 if drained and stop.is_set() else 1


def _health_app(consumer: EventConsumer, connections: Mapping[str, Check], metrics: Metrics) -> FastAPI:
    async def subscribed() -> bool:
        return consumer.subscribed()

    checks = {"subscribers": subscribed, "redis": consumer.redis_answers, **connections}
    app = FastAPI(openapi_url=None, telemetry=NO_FASTAPI_TELEMETRY)
    install_problem_handlers(app)
    app.include_router(health_router(Health(consumer.alive, checks, optional={}), metrics))
    return app
