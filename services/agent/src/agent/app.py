"""The composition root: everything the agent consists of is built here and passed on as arguments."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from agent.catalogue.catalogue import Catalogue
from agent.catalogue.embeddings import OpenAIEmbedder
from agent.catalogue.opening import BuildOutcome, build_index, open_catalogue
from agent.catalogue.query_cache import QueryCache
from agent.context.entries import EntryFactory
from agent.context.release import Releases, build_release
from agent.loop.hooks import Hooks
from agent.loop.step_limit import wrap_up_notice
from agent.loop.turn_loop import ChatModel, TurnLoop
from agent.settings import AgentSettings, CatalogueSettings
from agent.tools.registry import build_tools
from agent.tools.runner import ToolRunner
from agent.turns.worker import TurnTools, TurnWorker
from common.clock import Clock, SystemClock
from common.crash_points import CrashPoint, CrashPoints
from common.ids import IdFactory, new_id
from common.memory_api.client import MemoryClient
from common.memory_api.turns import ModelCallKind
from common.streams.consumer import AnyEvent, EventConsumer, Subscription
from common.streams.consumer_process import run_consumer
from common.streams.names import AGENT_GROUP
from common.streams.progress import ProgressWriter
from common.telemetry.metrics import Metrics
from model_client.measured import MeasuredModel
from model_client.profiles import ProviderProfile
from model_client.settings import open_model_client


@dataclass(frozen=True)
class AgentProcess:
    consumer: EventConsumer
    worker: TurnWorker
    memory: MemoryClient


@dataclass(frozen=True)
class LoopParts:
    loop: TurnLoop
    releases: Releases
    make: EntryFactory


def build_loop(
    model: ChatModel,
    model_name: str,
    profile: ProviderProfile,
    catalogue: Catalogue,
    clock: Clock,
    ids: IdFactory,
    crash_points: CrashPoints,
    *,
    metrics: Metrics,
    max_steps: int,
) -> LoopParts:
    """The loop and what it shares with the worker."""
    tools = build_tools(catalogue)
    make = EntryFactory(ids, profile)
    runner = ToolRunner(tools, clock, lambda: crash_points.reach(CrashPoint.AGENT_TOOL_EFFECT_DONE), metrics)
    hooks = Hooks([wrap_up_notice(max_steps)])
    main_model = MeasuredModel(model, ModelCallKind.MAIN, clock, metrics)
    loop = TurnLoop(main_model, model_name, runner, make, hooks, crash_points, max_steps=max_steps)
    return LoopParts(loop, Releases(build_release(tools.schemas())), make)


@asynccontextmanager
async def open_agent(settings: AgentSettings, metrics: Metrics) -> AsyncIterator[AgentProcess]:
    """Everything built and, at the end, closed. Raises agent.catalogue.errors.CatalogueError."""
    clock, crash_points = SystemClock(), CrashPoints.from_environment()
    async with AsyncExitStack() as closing:
        embedder = _embedder(settings)
        closing.push_async_callback(embedder.close)
        catalogue = open_catalogue(
            QueryCache(embedder), directory=settings.catalogue_dir, qdrant_url=settings.qdrant_url
        )
        closing.push_async_callback(catalogue.close)
        memory = MemoryClient(settings.memory_url, settings.service_token, clock)
        closing.push_async_callback(memory.close)
        model = open_model_client(settings, clock, lambda: f"call_{new_id().hex}")
        closing.push_async_callback(model.close)
        redis = _progress_redis(settings)
        closing.push_async_callback(redis.aclose)
        parts = build_loop(
            model,
            settings.model_main,
            settings.profile,
            catalogue,
            clock,
            new_id,
            crash_points,
            metrics=metrics,
            max_steps=settings.max_steps,
        )

        def progress_of(turn_id: UUID, attempt: int) -> ProgressWriter:
            return ProgressWriter(redis, turn_id, attempt)

        async def handle(event: AnyEvent) -> None:
            await worker.handle(event)

        consumer = EventConsumer(
            settings.redis_url.get_secret_value(),
            [Subscription(AGENT_GROUP, handle, settings.workers)],
            clock,
            metrics,
        )
        worker = TurnWorker(
            TurnTools(
                memory=memory,
                loop=parts.loop,
                releases=parts.releases,
                make=parts.make,
                progress_of=progress_of,
                publisher=consumer,
                clock=clock,
                new_id=new_id,
                crash_points=crash_points,
                metrics=metrics,
            )
        )
        yield AgentProcess(consumer, worker, memory)


async def serve(settings: AgentSettings, metrics: Metrics) -> int:
    """Work until SIGTERM; returns the exit code."""
    async with open_agent(settings, metrics) as agent:
        return await run_consumer(
            agent.consumer,
            host=settings.host,
            port=settings.port,
            connections={"memory": agent.memory.ready},
            metrics=metrics,
            hand_back=agent.worker.hand_back,
            finish_seconds=settings.finish_seconds,
            stop_seconds=settings.stop_seconds,
        )


async def build_catalogue(settings: CatalogueSettings) -> BuildOutcome:
    """Build the catalogue's vectors, unless they are current."""
    embedder = _embedder(settings)
    try:
        return await build_index(embedder, directory=settings.catalogue_dir, qdrant_url=settings.qdrant_url)
    finally:
        await embedder.close()


def _embedder(settings: CatalogueSettings) -> OpenAIEmbedder:
    return OpenAIEmbedder(settings.embedding_endpoint, settings.model_api_key, settings.model_embedding)


def _progress_redis(settings: AgentSettings) -> Redis:
    """Without retries: progress is best effort and must not hold up a turn."""
    return Redis.from_url(
        settings.redis_url.get_secret_value(),
        socket_timeout=1.0,
        socket_connect_timeout=0.5,
        retry=Retry(NoBackoff(), 0),
    )
