"""Composition root of the memory service: everything is built here and passed on as arguments."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from fastapi import FastAPI
from faststream.redis import RedisBroker
from redis.asyncio import Redis
from redis.exceptions import RedisError

from common.clock import Clock, SystemClock
from common.crash_points import CrashPoints
from common.ids import new_id
from common.logs import get_logger
from common.process.health import health_router
from common.streams.connection import connection_class
from common.streams.sending import EventSender
from common.telemetry.http import NO_FASTAPI_TELEMETRY, HttpTelemetry
from common.telemetry.metrics import Metrics
from common.telemetry.table import MEMORY
from common.web import BodyLimit, CutOffAnswer, install_problem_handlers
from memory.api import InternalApi
from memory.authentication import ServiceTokens
from memory.database.pool import Pool
from memory.database.transactions import Database
from memory.dispatch.backlog import Backlog
from memory.dispatch.publisher import EventPublisher
from memory.dispatch.sweeper import Sweeper
from memory.encryption.key_store import PostgresKeyStore, read_master_keys
from memory.health import MemoryHealth
from memory.measurements import MemoryMetrics
from memory.openapi import memory_openapi
from memory.policy import Policy
from memory.replay.replayer import Replayer
from memory.retention.job import RetentionJob
from memory.settings import MemorySettings

_log = get_logger(__name__)

_LAST_ROUND_SECONDS = 3.0

_DISPATCH_CONNECTIONS = 4
_KEY_CONNECTIONS = 3

_BODY_LIMIT = 4 * 1024 * 1024
"""A step may carry several tool results; the public limit is the gateway's."""


def build_database(settings: MemorySettings, policy: Policy, clock: Clock, metrics: Metrics | None = None) -> Database:
    users = Pool(settings.memory_database_url.get_secret_value(), settings.database_pool_size)
    dispatch = Pool(settings.memory_dispatch_database_url.get_secret_value(), _DISPATCH_CONNECTIONS)
    masters = read_master_keys(settings.memory_master_key_file, settings.memory_previous_master_key_files)
    # A pool of their own, wherever they lie: a transaction that changes a user's key waits for them.
    key_pool = Pool((settings.key_database_url or settings.memory_database_url).get_secret_value(), _KEY_CONNECTIONS)
    keys = PostgresKeyStore(key_pool, masters, clock, new_id)
    measured = MemoryMetrics(metrics or Metrics(MEMORY))
    return Database(users, dispatch, keys, policy, clock, new_id, measured)


def build(settings: MemorySettings, clock: Clock | None = None, metrics: Metrics | None = None) -> FastAPI:
    clock = clock or SystemClock()
    metrics = metrics or Metrics(MEMORY)
    policy = Policy.of(settings)
    crash_points = CrashPoints.from_environment()
    database = build_database(settings, policy, clock, metrics)
    redis_url = settings.redis_url.get_secret_value()
    connecting = connection_class(redis_url)
    broker = RedisBroker(
        redis_url,
        connection_class=connecting,
        socket_timeout=5.0,
        socket_connect_timeout=2.0,
        health_check_interval=10,
    )
    redis = Redis.from_url(redis_url, connection_class=connecting, socket_timeout=5.0, socket_connect_timeout=2.0)
    publisher = EventPublisher(EventSender(broker, metrics), redis, new_id)
    sweeper = Sweeper(
        database,
        publisher,
        policy,
        clock,
        crash_points,
        timedelta(seconds=settings.sweep_interval_seconds),
        metrics,
    )
    replayer = Replayer(database, publisher, clock, settings.replay_interval_seconds, metrics, crash_points)
    backlog = Backlog(database, redis, clock, settings.backlog_interval_seconds, metrics)
    retention = RetentionJob(database, clock, settings.retention_interval_seconds, metrics)
    health = MemoryHealth(database, redis, sweeper)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        _log.info("memory.starting", settings=settings.redacted())
        sweeping = asyncio.create_task(_sweep(broker, sweeper, clock), name="sweeper")
        health.note_sweeping(sweeping)
        replaying = asyncio.create_task(replayer.run(), name="replayer")
        looking = asyncio.create_task(backlog.run(), name="backlog")
        retaining = asyncio.create_task(retention.run(), name="retention")
        try:
            yield
        finally:
            health.begin_stopping()
            # A round in the middle has marked records as published that it is about to publish.
            await asyncio.wait((sweeping,), timeout=_LAST_ROUND_SECONDS)
            for task in (sweeping, replaying, looking, retaining):
                task.cancel()
                await asyncio.wait((task,))
            await broker.stop()
            await redis.aclose()
            await database.close()

    app = FastAPI(
        title="ShoppingX memory (internal)",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        telemetry=NO_FASTAPI_TELEMETRY,
    )
    app.openapi = memory_openapi  # type: ignore[method-assign]
    install_problem_handlers(app)
    app.add_middleware(CutOffAnswer)
    app.add_middleware(BodyLimit, limit=_BODY_LIMIT)
    tokens = ServiceTokens(settings.service_tokens())
    app.router.routes.extend(InternalApi(database, redis, tokens, clock, crash_points).routes())
    app.include_router(health_router(health.health(), metrics))
    app.add_middleware(HttpTelemetry, metrics=metrics, trusted=True)
    app.state.health = health
    return app


async def _sweep(broker: RedisBroker, sweeper: Sweeper, clock: Clock) -> None:
    """Sweep for ever. Redis may not be there yet; the memory service serves without it."""
    while True:
        try:
            await broker.connect()
            break
        except (RedisError, OSError) as error:
            _log.warning("redis.not_connected", error=error)
            await clock.sleep(1.0)
    await sweeper.run()
