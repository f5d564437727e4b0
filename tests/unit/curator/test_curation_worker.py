"""A curation from its event to its record, with a scripted model and memory in this process."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest

from common.clock import SystemClock
from common.crash_points import CrashPoints
from common.events import Cause, TurnCompleted
from common.ids import new_id
from common.memory_api import operations as op
from common.memory_api.base import Done
from common.memory_api.client import MemoryUnavailable
from common.memory_api.curation import CurationInput, FailCuration, Ingest, Ingested
from common.memory_api.facts import FactAction, FactOutcome
from common.problems import ProblemCode, ProblemError
from common.streams.progress import ProgressEvent
from curator.curation.worker import CurationTools, CurationWorker
from model_client.answers import ModelAnswer, ModelEvent, Restarted
from model_client.errors import (
    ModelError,
    ModelMisbehaved,
    ModelRefused,
    ModelStreamBroken,
    ModelTimedOut,
    ModelUnavailable,
)
from model_client.requests import ModelRequest
from model_client.usage import ModelUsage

GOOD = json.dumps(
    {"facts": [{"key": "nut_allergy", "value": "对坚果过敏", "category": "constraint", "evidence": "坚果"}]}
)

CUT_OFF = "cut off: "
"""Begins an answer that reached its length limit."""


class Memory:
    """Claim, ingest and fail of one curation."""

    def __init__(self, lease_seconds: float = 15.0) -> None:
        self.lease_seconds = lease_seconds
        self.ingested: list[Ingest] = []
        self.failed: list[FailCuration] = []
        self.problems: dict[str, ProblemCode] = {}
        self.down: set[str] = set()

    async def call(self, operation: op.Operation[Any, Any], request: Any, *, retry_for: float | None = None) -> Any:
        if operation.path in self.down:
            raise MemoryUnavailable(operation.path)
        if operation.path in self.problems:
            raise ProblemError(self.problems[operation.path])
        if operation is op.CLAIM_CURATION:
            return CurationInput(
                turn_id=request.turn_id,
                session_id=uuid4(),
                seq=1,
                purge_generation=0,
                attempt=1,
                lease_seconds=self.lease_seconds,
                user_text="我对坚果过敏",
                reply="好的",
                facts=[],
            )
        if operation is op.INGEST:
            self.ingested.append(request)
            return Ingested(
                outcomes=[
                    FactOutcome(key=each.key, action=FactAction.ADDED, value=each.value) for each in request.proposed
                ]
            )
        self.failed.append(request)
        return Done()


class Model:
    """Takes one step for each request: answers, raises or waits. The last step is repeated."""

    def __init__(
        self,
        *steps: str | Exception | Callable[[], Any],
        finish_reason: str = "stop",
        restarts: Sequence[Restarted] = (),
    ) -> None:
        self._steps = steps
        self._restarts = restarts
        self._finish_reason = finish_reason
        self.requests: list[ModelRequest] = []

    async def stream(self, request: ModelRequest, *, give_up_at: float | None = None) -> AsyncGenerator[ModelEvent]:
        step = self._steps[min(len(self.requests), len(self._steps) - 1)]
        self.requests.append(request)
        for restarted in self._restarts:
            yield restarted
        if isinstance(step, Exception):
            raise step
        if not isinstance(step, str):
            await step()
            return
        cut_off = step.startswith(CUT_OFF)
        text = step.removeprefix(CUT_OFF)
        yield ModelAnswer("{}", text, (), self._finish_reason, ModelUsage(7, None, 3), 1, 2, truncated=cut_off)


class Progress:
    def __init__(self) -> None:
        self.events: list[tuple[ProgressEvent, dict[str, Any]]] = []

    async def emit(self, event: ProgressEvent, data: dict[str, Any]) -> None:
        self.events.append((event, data))


def worker_of(memory: Memory, model: Model, progress: Progress | None = None) -> CurationWorker:
    kept = progress or Progress()

    def progress_of(_: UUID) -> Progress:
        return kept

    return CurationWorker(CurationTools(memory, model, "fast", progress_of, SystemClock(), new_id, CrashPoints()))


def completed() -> TurnCompleted:
    return TurnCompleted(
        event_id=new_id(),
        tenant_id="t",
        user_id="u",
        session_id=uuid4(),
        turn_id=uuid4(),
        seq=1,
        purge_generation=0,
        occurred_at=datetime.now(UTC),
        cause=Cause.LIVE,
        run=2,
    )


async def test_facts_are_ingested_and_the_watcher_is_told() -> None:
    memory, progress, event = Memory(), Progress(), completed()
    await worker_of(memory, Model(GOOD), progress).handle(event)
    [ingested] = memory.ingested
    assert (ingested.turn_id, ingested.run) == (event.turn_id, 2)
    assert [fact.key for fact in ingested.proposed] == ["nut_allergy"]
    assert ingested.model_call is not None
    assert (ingested.model_call.prompt_tokens, ingested.model_call.cached_tokens) == (7, None)
    [(told, data)] = progress.events
    assert told is ProgressEvent.MEMORY_UPDATED
    assert data["outcomes"][0]["value"] == "对坚果过敏"
    assert memory.failed == []


async def test_a_turn_without_facts_is_ingested_too() -> None:
    memory, progress = Memory(), Progress()
    await worker_of(memory, Model('{"facts":[]}'), progress).handle(completed())
    assert memory.ingested[0].proposed == []
    assert progress.events == [(ProgressEvent.MEMORY_UPDATED, {"outcomes": []})]


@pytest.mark.parametrize(
    ("error", "code", "spends"),
    [
        (ModelUnavailable("down"), "model-unavailable", False),
        (ModelTimedOut("silent"), "model-unfinished", True),
        (ModelStreamBroken("cut"), "model-unfinished", True),
        (ModelRefused(400), "model-misbehaved", True),
        (ModelMisbehaved("empty"), "model-misbehaved", True),
        (RuntimeError("a bug"), "bug", True),
    ],
)
async def test_a_failure_is_recorded(error: ModelError | RuntimeError, code: str, spends: bool) -> None:
    memory, progress = Memory(), Progress()
    await worker_of(memory, Model(error), progress).handle(completed())
    assert [(each.error_code, each.spend_attempt) for each in memory.failed] == [(code, spends)]
    assert memory.ingested == []
    assert progress.events == []


@pytest.mark.parametrize("answer", ["没有", GOOD[:-3], CUT_OFF + GOOD, CUT_OFF + '{"facts":[]}'])
async def test_what_cannot_be_used_twice_is_a_failure_and_not_no_facts(answer: str) -> None:
    memory, model = Memory(), Model(answer)
    await worker_of(memory, model).handle(completed())
    assert memory.ingested == []
    [failed] = memory.failed
    assert (failed.error_code, failed.spend_attempt) == ("model-misbehaved", True)
    assert len(model.requests) == len(failed.model_calls) == 2, "asked twice, and both were paid for"


async def test_an_answer_that_was_cut_off_gets_more_room_once() -> None:
    memory, model = Memory(), Model(CUT_OFF + GOOD[:20], GOOD)
    await worker_of(memory, model).handle(completed())
    first, second = (request.max_tokens or 0 for request in model.requests)
    assert second > first
    assert model.requests[0].messages == model.requests[1].messages
    [ingested] = memory.ingested
    assert [fact.key for fact in ingested.proposed] == ["nut_allergy"]
    assert len(ingested.earlier_calls) == 1


async def test_an_answer_that_cannot_be_read_is_told_so_once() -> None:
    memory, model = Memory(), Model("对坚果过敏", GOOD)
    await worker_of(memory, model).handle(completed())
    first, second = (request.messages for request in model.requests)
    assert second[: len(first)] == first, "the second request extends the first"
    assert "对坚果过敏" in second[-2]
    assert "<repair_request>" in second[-1]
    assert [fact.key for fact in memory.ingested[0].proposed] == ["nut_allergy"]
    assert memory.failed == []


@pytest.mark.parametrize(
    ("restarts", "code", "spends"),
    [
        pytest.param([], "model-unfinished", True, id="hangs on this input"),
        pytest.param([Restarted(accepted=True)], "model-unfinished", True, id="broke off on it before"),
        pytest.param([Restarted(accepted=False)], "model-unavailable", False, id="was down for a part of the time"),
    ],
)
async def test_a_model_that_hangs_is_given_up_within_the_lease(
    restarts: list[Restarted], code: str, spends: bool
) -> None:
    memory = Memory(lease_seconds=0.3)
    async with asyncio.timeout(2.0):
        await worker_of(memory, Model(asyncio.Event().wait, restarts=restarts)).handle(completed())
    assert [(each.error_code, each.spend_attempt) for each in memory.failed] == [(code, spends)]


async def test_what_the_provider_calls_things_is_stored_as_a_label() -> None:
    memory = Memory()
    await worker_of(memory, Model(GOOD, finish_reason="st\x00op\ud83d" + "!" * 100)).handle(completed())
    assert memory.ingested[0].model_call is not None
    assert memory.ingested[0].model_call.finish_reason == "stop" + "!" * 60


async def test_a_shutdown_hands_it_back_for_nothing() -> None:
    memory, asked = Memory(), asyncio.Event()

    async def hang() -> None:
        asked.set()
        await asyncio.Event().wait()

    worker = worker_of(memory, Model(hang))
    handling = asyncio.create_task(worker.handle(completed()))
    await asked.wait()
    worker.hand_back()
    await handling
    assert [(each.error_code, each.spend_attempt) for each in memory.failed] == [("shutdown", False)]


@pytest.mark.parametrize("path", [op.CLAIM_CURATION.path, op.INGEST.path])
@pytest.mark.parametrize("code", [ProblemCode.LEASE_LOST, ProblemCode.ALREADY_DONE, ProblemCode.GENERATION_CHANGED])
async def test_a_curation_that_is_no_longer_ours_is_left_alone(path: str, code: ProblemCode) -> None:
    memory, progress = Memory(), Progress()
    memory.problems[path] = code
    await worker_of(memory, Model(GOOD), progress).handle(completed())
    assert memory.failed == []
    assert progress.events == []


async def test_memory_that_does_not_answer_leaves_it_to_the_sweeper() -> None:
    memory = Memory()
    memory.down = {op.CLAIM_CURATION.path}
    model = Model(GOOD)
    await worker_of(memory, model).handle(completed())
    assert model.requests == []
    assert memory.failed == []
