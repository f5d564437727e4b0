"""Handles `turn.completed`: claim, ask the model, ingest. The event is acked whatever happens; memory keeps the
record, and the sweeper wakes what has not moved.

| what happens | what is recorded |
|---|---|
| lease lost, already done, memory cleared | nothing: the curation is no longer ours |
| memory does not answer | nothing: the lease runs out, and the curation is woken again |
| the model is down (no connection, 5xx, 429), or a shutdown | handed back; that spends no attempt |
| the model takes the request and does not finish in time | handed back and has spent an attempt |
| the model refuses, or two of its answers cannot be read, or a bug | handed back and has spent an attempt |

What one input makes a model do at every try must spend attempts: it would be tried, and paid for, without end.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

import structlog

from common.clock import Clock
from common.crash_points import CrashPoint, CrashPoints
from common.events import TurnCompleted
from common.ids import IdFactory
from common.logs import get_logger
from common.memory_api.base import Owner
from common.memory_api.client import MemoryUnavailable
from common.memory_api.curation import CurationInput
from common.memory_api.facts import FactOutcome
from common.memory_api.turns import ModelCall, ModelCallKind
from common.problems import ProblemCode, ProblemError
from common.streams.consumer import AnyEvent
from common.streams.progress import ProgressEvent
from common.telemetry.traces import describe
from curator.curation.claimed_curation import ClaimedCuration, MemoryCaller
from curator.extraction.extractor import ChatModel, Extraction, Extractor, UnusableAnswers
from model_client.answers import ModelAnswer
from model_client.errors import ContextOverflow, ModelMisbehaved, ModelRefused, ModelUnavailable
from model_client.exact_json import label

_log = get_logger(__name__)

_NO_LONGER_OURS = frozenset(
    {
        ProblemCode.LEASE_LOST,
        ProblemCode.LEASE_HELD,
        ProblemCode.NOT_DUE,
        ProblemCode.ALREADY_DONE,
        ProblemCode.GENERATION_CHANGED,
        ProblemCode.NOT_FOUND,
    }
)


class ProgressSink(Protocol):
    async def emit(self, event: ProgressEvent, data: dict[str, Any]) -> None: ...


@dataclass(frozen=True)
class CurationTools:
    """What the worker makes a curation from."""

    memory: MemoryCaller
    model: ChatModel
    model_name: str
    progress_of: Callable[[UUID], ProgressSink]
    clock: Clock
    new_id: IdFactory
    crash_points: CrashPoints


class CurationWorker:
    def __init__(self, tools: CurationTools) -> None:
        self._tools = tools
        self._handing_back = asyncio.Event()

    def hand_back(self) -> None:
        """Hand back every curation at work, for a shutdown."""
        self._handing_back.set()

    async def handle(self, event: AnyEvent) -> None:
        """Curate the turn of a `turn.completed` event. Raises nothing but what is a bug in this method."""
        assert isinstance(event, TurnCompleted)
        with structlog.contextvars.bound_contextvars(turn_id=str(event.turn_id), run=event.run):
            owner = Owner(tenant_id=event.tenant_id, user_id=event.user_id)
            curation = ClaimedCuration(self._tools.memory, owner, event.turn_id, event.run, self._tools.new_id())
            try:
                await self._curate(curation)
            except ProblemError as problem:
                await self._stopped_by(problem, curation)
            except MemoryUnavailable:
                _log.warning("curation.given_up", reason="memory unavailable")
            except Exception as error:  # noqa: BLE001 - the edge: a bug must end in a record, not in silence
                _log.error("curation.bug", error=error)
                await self._fail(curation, "bug", spend_attempt=True)

    async def _curate(self, curation: ClaimedCuration) -> None:
        claimed = await curation.claim()
        _log.info("curation.claimed", attempt=claimed.attempt)
        describe(attempt=claimed.attempt)
        self._tools.crash_points.reach(CrashPoint.CURATOR_CLAIMED)
        extraction = await self._extract_until_shutdown(curation, claimed)
        if extraction is None:
            return
        self._tools.crash_points.reach(CrashPoint.CURATOR_MODEL_ANSWERED)
        outcomes = await curation.ingest(extraction.proposed, self._model_calls(claimed, extraction.answers))
        self._tools.crash_points.reach(CrashPoint.CURATOR_INGESTED)
        _log.info("curation.ingested", actions=[outcome.action.value for outcome in outcomes])
        await self._tell(claimed.turn_id, outcomes)

    async def _extract_until_shutdown(self, curation: ClaimedCuration, claimed: CurationInput) -> Extraction | None:
        """What the model proposes, or None where the curation was handed back."""
        extractor = Extractor(self._tools.model, self._tools.model_name, self._tools.clock)
        asking = asyncio.create_task(extractor.extract(claimed), name="curator-model")
        leaving = asyncio.create_task(self._handing_back.wait(), name="hand-back")
        try:
            await asyncio.wait((asking, leaving), return_when=asyncio.FIRST_COMPLETED)
            if not asking.done():
                _log.info("curation.handed_back")
                await self._fail(curation, "shutdown", spend_attempt=False)
                return None
            return asking.result()
        except ModelUnavailable as error:
            _log.warning("curation.model_unavailable", error=error, accepted=error.accepted)
            code = "model-unfinished" if error.accepted else "model-unavailable"
            await self._fail(curation, code, spend_attempt=error.accepted)
        except UnusableAnswers as error:
            _log.warning("curation.unreadable", reason=str(error))
            calls = self._model_calls(claimed, error.answers)
            await self._fail(curation, "model-misbehaved", spend_attempt=True, model_calls=calls)
        except (ModelRefused, ModelMisbehaved, ContextOverflow) as error:
            _log.warning("curation.model_failed", error=error)
            await self._fail(curation, "model-misbehaved", spend_attempt=True)
        finally:
            for task in (asking, leaving):
                task.cancel()
            await asyncio.gather(asking, leaving, return_exceptions=True)
        return None

    def _model_calls(self, claimed: CurationInput, answers: Sequence[ModelAnswer]) -> list[ModelCall]:
        return [self._model_call(claimed, answer) for answer in answers]

    def _model_call(self, claimed: CurationInput, answer: ModelAnswer) -> ModelCall:
        return ModelCall(
            call_number=1,
            kind=ModelCallKind.CURATOR,
            attempt=claimed.attempt,
            model=label(self._tools.model_name),
            prompt_tokens=answer.usage.prompt_tokens,
            cached_tokens=answer.usage.cached_tokens,
            cache_write_tokens=answer.usage.cache_write_tokens,
            completion_tokens=answer.usage.completion_tokens,
            reasoning_tokens=answer.usage.reasoning_tokens,
            time_to_first_token_ms=answer.time_to_first_token_ms,
            duration_ms=answer.duration_ms,
            finish_reason=label(answer.finish_reason),
        )

    async def _tell(self, turn_id: UUID, outcomes: Sequence[FactOutcome]) -> None:
        """「记住了 …」 for whoever still watches the turn; said only now that it is committed."""
        told = [outcome.model_dump(mode="json") for outcome in outcomes]
        await self._tools.progress_of(turn_id).emit(ProgressEvent.MEMORY_UPDATED, {"outcomes": told})

    async def _stopped_by(self, problem: ProblemError, curation: ClaimedCuration) -> None:
        if problem.code in _NO_LONGER_OURS:
            _log.info("curation.given_up", reason=problem.code)
            return
        _log.error("curation.bug", code=problem.code, error=problem)
        await self._fail(curation, problem.code, spend_attempt=True)

    async def _fail(
        self,
        curation: ClaimedCuration,
        error_code: str,
        *,
        spend_attempt: bool,
        model_calls: Sequence[ModelCall] = (),
    ) -> None:
        """Best effort: without it the lease runs out by itself."""
        try:
            await curation.fail(error_code, spend_attempt=spend_attempt, model_calls=model_calls)
        except (ProblemError, MemoryUnavailable) as error:
            _log.info("curation.not_handed_back", error=error)
