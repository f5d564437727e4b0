"""The composition root: everything the curator consists of is built here and passed on as arguments."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from common.clock import SystemClock
from common.crash_points import CrashPoints
from common.ids import new_id
from common.memory_api.client import MemoryClient
from common.memory_api.turns import ModelCallKind
from common.streams.connection import connection_class
from common.streams.consumer import EventConsumer, Subscription
from common.streams.consumer_process import run_consumer
from common.streams.names import CURATOR_GROUP, SESSION_GROUP
from common.streams.progress import ProgressWriter
from common.telemetry.metrics import Metrics
from curator.curation.worker import CurationTools, CurationWorker
from curator.sessions.closer import SessionCloser
from curator.settings import CuratorSettings
from model_client.measured import MeasuredModel
from model_client.settings import open_model_client

_SESSION_WORKERS = 1


@dataclass(frozen=True)
class CuratorProcess:
    consumer: EventConsumer
    worker: CurationWorker
    memory: MemoryClient


@asynccontextmanager
async def open_curator(settings: CuratorSettings, metrics: Metrics) -> AsyncIterator[CuratorProcess]:
    """Everything built and, at the end, closed."""
    clock = SystemClock()
    redis_url = settings.redis_url.get_secret_value()
    async with AsyncExitStack() as closing:
        memory = MemoryClient(settings.memory_url, settings.service_token, clock)
        closing.push_async_callback(memory.close)
        model = open_model_client(settings, clock, lambda: f"call_{new_id().hex}")
        closing.push_async_callback(model.close)
        redis = Redis.from_url(
            redis_url,
            connection_class=connection_class(redis_url),
            socket_timeout=1.0,
            socket_connect_timeout=0.5,
            retry=Retry(NoBackoff(), 0),
        )
        closing.push_async_callback(redis.aclose)

        def progress_of(turn_id: UUID) -> ProgressWriter:
            return ProgressWriter(redis, turn_id)

        worker = CurationWorker(
            CurationTools(
                memory=memory,
                model=MeasuredModel(model, ModelCallKind.CURATOR, clock, metrics),
                model_name=settings.model_fast,
                progress_of=progress_of,
                clock=clock,
                new_id=new_id,
                crash_points=CrashPoints.from_environment(),
            )
        )
        consumer = EventConsumer(
            redis_url,
            [
                Subscription(CURATOR_GROUP, worker.handle, settings.workers),
                Subscription(SESSION_GROUP, SessionCloser(memory).handle, _SESSION_WORKERS),
            ],
            clock,
            metrics,
        )
        yield CuratorProcess(consumer, worker, memory)


async def serve(settings: CuratorSettings, metrics: Metrics) -> int:
    """Work until SIGTERM; returns the exit code."""
    async with open_curator(settings, metrics) as curator:
        return await run_consumer(
            curator.consumer,
            host=settings.host,
            port=settings.port,
            connections={"memory": curator.memory.ready},
            metrics=metrics,
            hand_back=curator.worker.hand_back,
            finish_seconds=settings.finish_seconds,
            stop_seconds=settings.stop_seconds,
        )
