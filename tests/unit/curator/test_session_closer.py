"""`session.closed` is answered, and where memory is silent it is left for the next publish."""

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from common.events import Cause, SessionClosed
from common.memory_api import operations
from common.memory_api.base import Done
from common.memory_api.client import MemoryUnavailable
from common.memory_api.sessions import FinishClosing
from common.problems import ProblemCode, ProblemError
from curator.sessions.closer import SessionCloser

EVENT = SessionClosed(
    event_id=uuid4(),
    tenant_id="t1",
    user_id="u1",
    session_id=uuid4(),
    seq=3,
    purge_generation=0,
    occurred_at=datetime(2026, 11, 30, tzinfo=UTC),
    cause=Cause.SWEEP,
    run=0,
)


class Memory:
    def __init__(self, answer: Exception | None = None) -> None:
        self.asked: list[tuple[Any, Any]] = []
        self._answer = answer

    async def call(self, operation: Any, request: Any, *, retry_for: float | None = None) -> Any:
        self.asked.append((operation, request))
        if self._answer is not None:
            raise self._answer
        return Done()


async def test_the_closing_is_finished() -> None:
    memory = Memory()
    await SessionCloser(memory).handle(EVENT)
    ((operation, request),) = memory.asked
    assert operation is operations.FINISH_CLOSING
    assert isinstance(request, FinishClosing)
    assert (request.owner.user_id, request.session_id) == ("u1", EVENT.session_id)


@pytest.mark.parametrize("answer", [MemoryUnavailable("closings/finish"), ProblemError(ProblemCode.NOT_FOUND)])
async def test_silence_and_an_erased_user_are_no_bug(answer: Exception) -> None:
    await SessionCloser(Memory(answer)).handle(EVENT)


async def test_another_no_is_a_bug() -> None:
    with pytest.raises(ProblemError):
        await SessionCloser(Memory(ProblemError(ProblemCode.INVALID_REQUEST))).handle(EVENT)
