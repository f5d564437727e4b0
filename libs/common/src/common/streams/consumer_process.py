"""Running a consumer as a process: health endpoints, signals, a bounded shutdown and an exit code.

Needs the extra `web`.
"""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI, Response

from common.logs import get_logger
from common.problems import Problem, ProblemCode
from common.streams.consumer import EventConsumer
from common.web import install_problem_handlers, problem_response

_log = get_logger(__name__)

Check = Callable[[], Awaitable[bool]]


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
    ready: Check,
    hand_back: Callable[[], None],
    finish_seconds: float,
    stop_seconds: float,
) -> int:
    """Consume until SIGTERM or SIGINT; returns the exit code.

    At the signal, work goes on for `finish_seconds`, then `hand_back` is called and what still runs has the rest
    of `stop_seconds`. The exit code is 1 when that was not enough.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    server = _Server(
        uvicorn.Config(health_app(ready), host=host, port=port, log_config=None, access_log=False, lifespan="off")
    )
    serving = asyncio.create_task(server.serve(), name="health-server")
    await consumer.start()
    stopped = asyncio.create_task(stop.wait(), name="stop-signal")
    await asyncio.wait((stopped, serving), return_when=asyncio.FIRST_COMPLETED)
    _log.info("consumer.stopping", signalled=stop.is_set())
    handing_back = loop.call_later(finish_seconds, hand_back)
    drained = await consumer.stop(stop_seconds)
    handing_back.cancel()
    server.should_exit = True
    await serving
    _log.info("consumer.stopped", drained=drained)
    return 0 if drained and stop.is_set() else 1


def health_app(ready: Check) -> FastAPI:
    """`/healthz`: the event loop turns. `/readyz`: what the process depends on is there."""
    app = FastAPI(openapi_url=None)
    install_problem_handlers(app)

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        return {"status": "alive"}

    @app.get("/readyz")
    async def readyz() -> Response:
        if await ready():
            return Response('{"status":"ready"}', media_type="application/json")
        return problem_response(Problem.of(ProblemCode.UNAVAILABLE))

    return app
