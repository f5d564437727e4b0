"""The first thing the main model does with a request: the agent's own loop, stopped at its first answer.

Planner, context, tools and model client are the agent's. There is no catalogue and no memory behind it, because
nothing the model calls is run.
"""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from uuid import uuid4

from tests.unit.agent.memory_in_process import OWNER, MemoryInProcess

from agent.app import LoopSettings, build_loop
from agent.catalogue.products import Product
from agent.catalogue.queries import CatalogueQuery, SearchResult
from agent.compaction.limits import ContextLimits
from agent.context.language import language_of
from agent.loop.guards.limits import TurnLimits
from agent.loop.turn import Turn
from agent.planner.plan import stored_plan
from agent.progress.feed import ProgressFeed
from agent.tools import skill
from agent.turns.leased_turn import LeasedTurn
from common.clock import SystemClock
from common.crash_points import CrashPoints
from common.ids import new_id
from common.streams.progress import ProgressEvent
from common.telemetry.metrics import Metrics
from common.telemetry.table import AGENT
from model_client.answers import ModelAnswer, ModelEvent
from model_client.arguments import read_arguments
from model_client.errors import ModelError
from model_client.measured import StreamingModel
from model_client.profiles import ProviderProfile
from model_client.requests import ModelRequest

_SECONDS = 120.0


@dataclass(frozen=True)
class Models:
    client: StreamingModel
    main: str
    fast: str
    profile: ProviderProfile


@dataclass(frozen=True)
class FirstStep:
    """`skills` are those that the first answer reads, `tools` all that it calls. `failure` where there was none."""

    skills: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    intent: str | None = None
    failure: str | None = None


async def first_step(models: Models, words: str) -> FirstStep:
    """What a new user's first turn of these words begins with."""
    clock, memory = SystemClock(), MemoryInProcess(words, deadline_seconds=_SECONDS)
    parts = build_loop(
        _UntilFirstAnswer(models.client),
        LoopSettings(
            models.main, models.fast, models.profile, ContextLimits(models.profile.context_tokens), TurnLimits(12)
        ),
        _NoCatalogue(),
        clock,
        new_id,
        CrashPoints(),
        Metrics(AGENT),
    )
    lease = LeasedTurn(memory, OWNER, memory.turn_id, uuid4())
    claimed = await lease.claim()
    progress = ProgressFeed(_NoProgress())
    turn = Turn(
        claimed,
        lease,
        progress,
        parts.releases.current,
        language_of(claimed.text, claimed.settings.locale),
        give_up_at=clock.monotonic() + _SECONDS,
    )
    try:
        await parts.loop.run(turn)
    except _FirstAnswer as first:
        plan = stored_plan(turn.entries)
        return _read(first.answer, None if plan is None else plan.intent.value)
    except ModelError as error:
        return FirstStep(failure=type(error).__name__)
    finally:
        await progress.close()
    raise AssertionError("a turn ended without an answer of its model")


def _read(answer: ModelAnswer, intent: str | None) -> FirstStep:
    named = [(call.name, read_arguments(call.arguments) or {}) for call in answer.tool_calls]
    read = tuple(str(arguments.get("name")) for name, arguments in named if name == skill.NAME)
    return FirstStep(read, tuple(name for name, _ in named), intent)


class _FirstAnswer(Exception):
    def __init__(self, answer: ModelAnswer) -> None:
        super().__init__()
        self.answer = answer


class _UntilFirstAnswer:
    """The model, as far as the first answer to a request with tools; the planner's have none."""

    def __init__(self, model: StreamingModel) -> None:
        self._model = model

    async def stream(self, request: ModelRequest, *, give_up_at: float | None = None) -> AsyncGenerator[ModelEvent]:
        async for event in self._model.stream(request, give_up_at=give_up_at):
            if request.tools and isinstance(event, ModelAnswer):
                raise _FirstAnswer(event)
            yield event


class _NoCatalogue:
    async def search(self, query: CatalogueQuery) -> SearchResult:
        raise AssertionError("nothing is run")

    async def get(self, item_id: str) -> Product | None:
        raise AssertionError("nothing is run")


class _NoProgress:
    async def emit(self, event: ProgressEvent, data: dict[str, object]) -> None:
        pass
