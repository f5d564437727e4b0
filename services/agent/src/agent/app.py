"""The composition root: everything the agent consists of is built here and passed on as arguments."""

from collections.abc import AsyncIterator, Sequence
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
from agent.compaction.compactor import Compactor
from agent.compaction.limits import ContextLimits
from agent.context.entries import EntryFactory
from agent.context.release import Release, Releases, build_release
from agent.loop.constraint_notice import constraint_notice
from agent.loop.corrections import call_corrections
from agent.loop.guards.all_guards import guards
from agent.loop.guards.limits import TurnLimits
from agent.loop.hooks import Hook, Hooks
from agent.loop.opening import Opening
from agent.loop.preference_inject import preference_inject
from agent.loop.turn_loop import TurnLoop
from agent.orders.pending_order_block import PendingOrders
from agent.planner.planner import Planner
from agent.settings import AgentSettings, CatalogueSettings
from agent.skills.catalogue import Skills, builtin_skills
from agent.skills.personal import PersonalCatalogue
from agent.strategies.strategies import builtin_strategies
from agent.tools.registry import ToolRegistry, build_tools
from agent.tools.runner import ToolRunner
from agent.turns.worker import TurnTools, TurnWorker
from common.clock import Clock, SystemClock
from common.crash_points import CrashPoint, CrashPoints
from common.ids import IdFactory, new_id
from common.memory_api.client import MemoryClient
from common.memory_api.turns import ModelCallKind
from common.streams.connection import connection_class
from common.streams.consumer import AnyEvent, EventConsumer, Subscription
from common.streams.consumer_process import run_consumer
from common.streams.names import AGENT_GROUP
from common.streams.progress import ProgressWriter
from common.telemetry.metrics import Metrics
from model_client.measured import MeasuredModel, StreamingModel
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


@dataclass(frozen=True)
class LoopSettings:
    """Names of the models, the differences of their provider, and the loop's limits (times in seconds)."""

    model_main: str
    model_fast: str
    profile: ProviderProfile
    limits: ContextLimits
    turn_limits: TurnLimits
    planner_seconds: float = 15.0
    compaction_seconds: float = 60.0
    default_destination: str | None = None


def build_loop(
    model: StreamingModel,
    settings: LoopSettings,
    catalogue: Catalogue,
    clock: Clock,
    ids: IdFactory,
    crash_points: CrashPoints,
    metrics: Metrics,
    *,
    more_hooks: Sequence[Hook] = (),
) -> LoopParts:
    """The loop and what it shares with the worker. `more_hooks` are added to those of this release."""

    def measured(kind: ModelCallKind) -> MeasuredModel:
        return MeasuredModel(model, kind, clock, metrics)

    skills = builtin_skills()
    tools = build_tools(catalogue, skills, clock)
    make = EntryFactory(ids, settings.profile)
    hooks = Hooks(
        [call_corrections, constraint_notice, preference_inject, *guards(settings.turn_limits, clock), *more_hooks]
    )
    planner = Planner(measured(ModelCallKind.PLANNER), settings.model_fast, clock, time_limit=settings.planner_seconds)
    loop = TurnLoop(
        measured(ModelCallKind.MAIN),
        settings.model_main,
        Opening(planner, [PersonalCatalogue(), PendingOrders(), builtin_strategies()], hooks, make),
        ToolRunner(tools, clock, lambda: crash_points.reach(CrashPoint.AGENT_TOOL_EFFECT_DONE), metrics),
        make,
        hooks,
        Compactor(
            measured(ModelCallKind.COMPACTION),
            settings.model_main,
            make,
            settings.limits,
            clock,
            time_limit=settings.compaction_seconds,
        ),
        crash_points,
        max_steps=settings.turn_limits.steps,
        default_destination=settings.default_destination,
    )
    return LoopParts(loop, Releases(current_release(tools, skills)), make)


def current_release(tools: ToolRegistry, skills: Skills) -> Release:
    """L0 and L1 as this code has them."""
    return build_release(tools.schemas(), skills.catalogue())


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
        parts = build_loop(model, _loop_settings(settings), catalogue, clock, new_id, crash_points, metrics)

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


def _loop_settings(settings: AgentSettings) -> LoopSettings:
    return LoopSettings(
        model_main=settings.model_main,
        model_fast=settings.model_fast,
        profile=settings.profile,
        limits=ContextLimits(
            settings.profile.context_tokens, prune_at=settings.prune_at, compact_at=settings.compact_at
        ),
        turn_limits=TurnLimits(settings.max_steps, settings.max_searches, settings.max_turn_tokens),
        planner_seconds=settings.planner_seconds,
        compaction_seconds=settings.compaction_seconds,
        default_destination=settings.default_destination,
    )


def _embedder(settings: CatalogueSettings) -> OpenAIEmbedder:
    return OpenAIEmbedder(settings.embedding_endpoint, settings.model_api_key, settings.model_embedding)


def _progress_redis(settings: AgentSettings) -> Redis:
    """Without retries: progress is best effort and must not hold up a turn."""
    redis_url = settings.redis_url.get_secret_value()
    return Redis.from_url(
        redis_url,
        connection_class=connection_class(redis_url),
        socket_timeout=1.0,
        socket_connect_timeout=0.5,
        retry=Retry(NoBackoff(), 0),
    )
