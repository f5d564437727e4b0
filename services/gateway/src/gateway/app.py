"""The composition root: everything the gateway consists of is built and connected here."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from typing import Any

from fastapi import FastAPI
from faststream.redis import RedisBroker
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from common.clock import Clock, SystemClock
from common.crash_points import CrashPoints
from common.ids import IdFactory, new_id
from common.memory_api.client import MemoryClient
from common.streams.connection import connection_class
from common.streams.sending import EventSender
from common.telemetry.http import NO_FASTAPI_TELEMETRY, HttpTelemetry
from common.telemetry.metrics import Metrics
from common.telemetry.table import GATEWAY
from common.web import BodyLimit, CutOffAnswer, install_problem_handlers
from gateway.authentication.middleware import Authentication
from gateway.authentication.token import TokenVerifier
from gateway.dependencies import Components
from gateway.events.follow import FollowTiming, TurnFollower
from gateway.events.reader import BLOCK_SECONDS, ProgressReader
from gateway.events.routes import router as events
from gateway.health.readiness import Readiness
from gateway.health.routes import router as health
from gateway.limits.backlog import Backlog
from gateway.limits.concurrency import ConcurrencyLimit, Slots
from gateway.limits.media_type import JsonBodies, is_import
from gateway.limits.turn_rate import TurnRate
from gateway.memory_service import MemoryService
from gateway.openapi import DESCRIPTION, EVERYWHERE, install_description
from gateway.orders.routes import router as orders
from gateway.personal_data.routes import router as personal_data
from gateway.preferences.candidate_routes import router as candidates
from gateway.preferences.import_routes import router as imports
from gateway.preferences.routes import router as preferences
from gateway.sessions.routes import router as sessions
from gateway.settings import GatewaySettings
from gateway.skills.routes import router as skills
from gateway.turns.acceptance import TurnAcceptance
from gateway.turns.announcement import TurnAnnouncer
from gateway.turns.cancellation import TurnCancellation
from gateway.turns.routes import router as turns
from gateway.user_data.favourite_routes import router as favourites
from gateway.user_data.settings_routes import router as user_settings

_COMMAND_TIMEOUT_SECONDS = 2.0
_CONNECTIONS = 32

_API_ROUTERS = (
    sessions,
    turns,
    events,
    orders,
    candidates,
    imports,
    preferences,
    personal_data,
    user_settings,
    favourites,
    skills,
)


def create_app(
    settings: GatewaySettings,
    *,
    clock: Clock | None = None,
    make_id: IdFactory = new_id,
    crash_points: CrashPoints | None = None,
    metrics: Metrics | None = None,
) -> FastAPI:
    clock = clock or SystemClock()
    metrics = metrics or Metrics(GATEWAY)
    client = MemoryClient(settings.memory_url, settings.service_token, clock, retry_for=settings.memory_retry_seconds)
    memory = MemoryService(client)
    commands = _redis(settings.redis_url, _COMMAND_TIMEOUT_SECONDS)
    blocking = _redis(settings.redis_url, BLOCK_SECONDS + _COMMAND_TIMEOUT_SECONDS)
    broker = RedisBroker(
        settings.redis_url,
        connection_class=connection_class(settings.redis_url),
        logger=None,  # type: ignore[arg-type]
        retry=_no_retry(),
    )
    reader = ProgressReader(
        blocking, commands, clock, make_id, queue_length=settings.event_queue_length, jitter=random.random
    )
    announcer = TurnAnnouncer(EventSender(broker, metrics), clock, make_id, settings.announce_timeout_seconds)
    readiness = Readiness(memory, reader)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as running:
            running.push_async_callback(client.close)
            running.push_async_callback(commands.aclose)
            running.push_async_callback(blocking.aclose)
            await broker.connect()
            running.push_async_callback(broker.stop)
            readiness.note_reading(await running.enter_async_context(_task(reader)))
            yield

    app = _app_with_routes(lifespan)
    app.state.components = Components(
        settings=settings,
        clock=clock,
        memory=memory,
        acceptance=TurnAcceptance(
            memory,
            announcer,
            TurnRate(commands, clock, settings.turns_per_minute),
            Backlog(commands, clock, settings.backlog_limit),
            crash_points or CrashPoints.from_environment(),
        ),
        cancellation=TurnCancellation(memory, commands, settings.announce_timeout_seconds),
        follower=TurnFollower(memory, reader, clock, _timing(settings), random.random, metrics),
        readiness=readiness,
        metrics=metrics,
    )
    _install_edge(app, settings, metrics)
    return app


def gateway_openapi() -> dict[str, Any]:
    """The description of the public API; needs no settings and connects to nothing."""
    return _app_with_routes(lifespan=None).openapi()


def _app_with_routes(lifespan: Callable[[FastAPI], AbstractAsyncContextManager[None]] | None) -> FastAPI:
    app = FastAPI(
        title="ShoppingX",
        version="1",
        description=DESCRIPTION,
        lifespan=lifespan,
        redirect_slashes=False,
        telemetry=NO_FASTAPI_TELEMETRY,
    )
    for router in _API_ROUTERS:
        app.include_router(router, responses=EVERYWHERE)
    app.include_router(health)
    install_description(app)
    return app


def _install_edge(app: FastAPI, settings: GatewaySettings, metrics: Metrics) -> None:
    """What a request passes before its route. The last one added is the first one passed."""
    verifier = TokenVerifier(
        settings.jwt_public_key_file.read_bytes(),
        settings.jwt_issuer,
        settings.jwt_audience,
        settings.jwt_leeway_seconds,
    )
    app.add_middleware(JsonBodies)
    app.add_middleware(
        ConcurrencyLimit,
        requests=Slots(settings.requests_per_user),
        event_streams=Slots(settings.event_streams_per_user),
    )
    app.add_middleware(Authentication, verifier=verifier)
    app.add_middleware(
        BodyLimit, limit=lambda scope: settings.import_limit_bytes if is_import(scope) else settings.body_limit_bytes
    )
    install_problem_handlers(app)
    app.add_middleware(CutOffAnswer)
    # A trace that a stranger names is not continued: it would mix what belongs to others.
    app.add_middleware(HttpTelemetry, metrics=metrics, trusted=False)


@asynccontextmanager
async def _task(reader: ProgressReader) -> AsyncIterator[asyncio.Task[None]]:
    reading = asyncio.create_task(reader.run(), name="progress-reader")
    try:
        yield reading
    finally:
        reading.cancel()
        with suppress(asyncio.CancelledError):
            await reading


def _timing(settings: GatewaySettings) -> FollowTiming:
    return FollowTiming(
        silence=settings.silence_seconds,
        heartbeat=settings.heartbeat_seconds,
        after_end=settings.after_end_seconds,
        curation_check=settings.curation_check_seconds,
    )


def _redis(url: str, timeout_seconds: float) -> Redis:
    """Commands wait for a connection as long as for an answer: a crowd of clients may come at once."""
    return Redis.from_pool(
        BlockingConnectionPool.from_url(
            url,
            max_connections=_CONNECTIONS,
            timeout=timeout_seconds,
            connection_class=connection_class(url),
            socket_timeout=timeout_seconds,
            socket_connect_timeout=_COMMAND_TIMEOUT_SECONDS,
            retry=_no_retry(),
        )
    )


def _no_retry() -> Retry:
    """Redis is never waited for here: what it does not tell, the memory service does."""
    return Retry(NoBackoff(), 0)
