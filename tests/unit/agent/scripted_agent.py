"""An agent whose model follows a script, over memory in this process."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from typing import Any
from uuid import UUID

from tests.unit.agent.memory_in_process import OWNER, MemoryInProcess

from agent.app import LoopSettings, build_loop
from agent.catalogue.errors import CatalogueUnavailable
from agent.catalogue.products import Product, load_products
from agent.catalogue.queries import CatalogueQuery, Exclusion, SearchResult
from agent.compaction.limits import ContextLimits
from agent.loop.guards.limits import TurnLimits
from agent.loop.hooks import Hook
from agent.planner.plan import is_plan
from agent.turns.worker import TurnTools, TurnWorker
from common.clock import Clock, SystemClock
from common.crash_points import CrashPoint, CrashPoints
from common.events import Cause, TurnCompleted, TurnRequested
from common.ids import new_id
from common.memory_api.sessions import EntryKind, LogEntry
from common.memory_api.turns import ModelCall, ModelCallKind
from common.streams.progress import ProgressEvent
from common.telemetry.metrics import Metrics
from common.telemetry.table import AGENT
from model_client.answers import ArgumentsDelta, ModelAnswer, ModelEvent, TextDelta, ToolCall, assistant_payload
from model_client.measured import StreamingModel
from model_client.profiles import PROFILES
from model_client.requests import ModelRequest
from model_client.usage import ModelUsage

PRODUCTS = {product.item_id: product for product in load_products()}


def says(text: str) -> ModelAnswer:
    return _answer(text)


def calls(*named: tuple[str, dict[str, Any] | str], text: str = "") -> ModelAnswer:
    """An answer that calls tools, as (name, arguments); ids come from the script."""
    return _answer(
        text,
        tuple(
            ToolCall("", name, given if isinstance(given, str) else json.dumps(given, ensure_ascii=False))
            for name, given in named
        ),
    )


def summary(reply: str = "好的", *item_ids: str) -> ModelAnswer:
    items = [{"item_id": item_id, "reason": "合适"} for item_id in item_ids]
    return calls(("shopping_summary", {"reply": reply, "items": items}))


PLAN: dict[str, Any] = {
    "intent": "product_search",
    "domain": "bags_luggage",
    "sub_type": "双肩包",
    "destination": None,
    "budget": None,
    "currency": None,
    "must": [],
    "exclude": [],
    "penalty": [],
    "retract": [],
    "gift": False,
    "missing": [],
}


def plans(**fields: Any) -> ModelAnswer:
    """A planner's answer."""
    return says(json.dumps({**PLAN, **fields}, ensure_ascii=False))


def is_plan_request(request: ModelRequest) -> bool:
    return "response_format" in request.options


def _answer(text: str, tool_calls: tuple[ToolCall, ...] = ()) -> ModelAnswer:
    return ModelAnswer(assistant_payload(text, tool_calls), text, tool_calls, "stop", ModelUsage(100, 50, 10), 1, 2)


Step = ModelAnswer | Exception | Callable[[], Any]


class ScriptedModel:
    """Gives one step per call and keeps the requests. A callable step is awaited and then the next one is given.

    The planner has a script of its own, and a plan for whoever gave it none.
    """

    def __init__(self, *steps: Step, plan_steps: Sequence[Step] = ()) -> None:
        self._steps = list(steps)
        self._plan_steps = list(plan_steps)
        self._numbers = count(1)
        self.requests: list[ModelRequest] = []
        self.plan_requests: list[ModelRequest] = []

    async def stream(self, request: ModelRequest, *, give_up_at: float | None = None) -> AsyncGenerator[ModelEvent]:
        planning = is_plan_request(request)
        (self.plan_requests if planning else self.requests).append(request)
        steps = (self._plan_steps or [plans()]) if planning else self._steps
        step = steps.pop(0)
        while not isinstance(step, ModelAnswer | Exception):
            await step()
            step = steps.pop(0)
        if isinstance(step, Exception):
            raise step
        answer = with_ids(step, request, self._numbers, tokens_of(request))
        if answer.text:
            yield TextDelta(answer.text)
        for position, call in enumerate(answer.tool_calls):
            yield ArgumentsDelta(position, call.name, call.arguments)
        yield answer


def tokens_of(request: ModelRequest) -> int:
    """About as many as a tokeniser would count."""
    return len(request.body()) // 4


def with_ids(
    answer: ModelAnswer, request: ModelRequest, numbers: Iterator[int], prompt_tokens: int | None
) -> ModelAnswer:
    """The answer with ids for its calls that the conversation does not have yet."""
    ids = (call_id for call_id in (f"call-{number}" for number in numbers) if call_id not in request.taken_call_ids)
    numbered = tuple(ToolCall(next(ids), call.name, call.arguments) for call in answer.tool_calls)
    payload = assistant_payload(answer.text, numbered)
    return replace(answer, payload=payload, tool_calls=numbered, usage=ModelUsage(prompt_tokens, 50, 10))


class ShelfCatalogue:
    """Always offers the same products."""

    def __init__(self, *item_ids: str) -> None:
        self.products = [PRODUCTS[item_id] for item_id in item_ids]
        self.queries: list[CatalogueQuery] = []
        self.down = False

    async def search(self, query: CatalogueQuery) -> SearchResult:
        self.queries.append(query)
        if self.down:
            raise CatalogueUnavailable("down")
        # As the real one: a product once, with the first word that hits it.
        return SearchResult(self.products, [Exclusion("snk-001", word) for word in query.exclude[:1]])

    async def get(self, item_id: str) -> Product | None:
        return PRODUCTS.get(item_id)


class KeptProgress:
    """Keeps what would be written to the turn's stream."""

    def __init__(self) -> None:
        self.events: list[tuple[ProgressEvent, dict[str, Any]]] = []

    async def emit(self, event: ProgressEvent, data: dict[str, Any]) -> None:
        self.events.append((event, data))

    def of(self, event: ProgressEvent) -> list[dict[str, Any]]:
        return [data for each, data in self.events if each is event]


class KeptEvents:
    def __init__(self) -> None:
        self.events: list[TurnCompleted] = []

    async def publish(self, event: TurnCompleted, *, within: float) -> bool:
        self.events.append(event)
        return True


class Died(BaseException):
    """Stands for SIGKILL: nothing after it runs, and no handler of errors may catch it."""


class DyingAt(CrashPoints):
    """Dies at the n-th time a point is reached."""

    def __init__(self, point: CrashPoint | None = None, times: int = 1) -> None:
        super().__init__()
        self._point = point
        self._left = times

    def reach(self, point: CrashPoint) -> None:
        if point is self._point:
            self._left -= 1
            if self._left == 0:
                raise Died


class QuickClock(SystemClock):
    """Waits for next to nothing."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(min(seconds, 0.001))


class ScriptedAgent:
    def __init__(
        self,
        memory: MemoryInProcess,
        *steps: Step,
        catalogue: ShelfCatalogue | None = None,
        dies: DyingAt | None = None,
        max_steps: int = 6,
        turn_limits: TurnLimits | None = None,
        profile: str = "generic",
        model: StreamingModel | None = None,
        plan_steps: Sequence[Step] = (),
        limits: ContextLimits | None = None,
        planner_seconds: float = 5.0,
        clock: Clock | None = None,
        hooks: Sequence[Hook] = (),
    ) -> None:
        self.memory = memory
        self.model = ScriptedModel(*steps, plan_steps=plan_steps)
        self.catalogue = catalogue or ShelfCatalogue("bag-001", "bag-002")
        self.progress = KeptProgress()
        self.published = KeptEvents()
        self.metrics = Metrics(AGENT)
        clock, crash_points = clock or SystemClock(), dies or CrashPoints()
        parts = build_loop(
            model or self.model,
            LoopSettings(
                model_main="main",
                model_fast="fast",
                profile=PROFILES[profile],
                limits=limits or ContextLimits(window=131_072),
                turn_limits=turn_limits or TurnLimits(max_steps),
                planner_seconds=planner_seconds,
            ),
            self.catalogue,
            clock,
            new_id,
            crash_points,
            self.metrics,
            more_hooks=hooks,
        )
        self.worker = TurnWorker(
            TurnTools(
                memory=memory,
                loop=parts.loop,
                releases=parts.releases,
                make=parts.make,
                progress_of=self._progress_of,
                publisher=self.published,
                clock=clock,
                new_id=new_id,
                crash_points=crash_points,
                metrics=self.metrics,
            )
        )

    def _progress_of(self, turn_id: UUID, attempt: int) -> KeptProgress:
        return self.progress

    async def run(self) -> None:
        """Handle the turn's event; a death is the process's, not the test's."""
        try:
            async with asyncio.timeout(20):
                await self.worker.handle(self.event())
        except Died:
            pass

    def event(self) -> TurnRequested:
        return TurnRequested(
            event_id=new_id(),
            tenant_id=OWNER.tenant_id,
            user_id=OWNER.user_id,
            session_id=self.memory.session_id,
            turn_id=self.memory.turn_id,
            seq=1,
            purge_generation=0,
            occurred_at=datetime.now(UTC),
            cause=Cause.LIVE,
            run=0,
        )


def said(memory: MemoryInProcess) -> list[LogEntry]:
    """The log's messages without the planner's, which stands in every turn."""
    return [entry for entry in memory.log if entry.kind is EntryKind.MESSAGE and not is_plan(entry)]


def messages(memory: MemoryInProcess) -> list[dict[str, Any]]:
    return [json.loads(entry.payload) for entry in said(memory)]


def roles(memory: MemoryInProcess) -> list[str]:
    return [message["role"] for message in messages(memory)]


def main_calls(memory: MemoryInProcess) -> list[ModelCall]:
    return [call for call in memory.model_calls if call.kind is ModelCallKind.MAIN]
