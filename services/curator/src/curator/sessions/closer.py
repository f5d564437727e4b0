"""Handles `session.closed`: the place where what is kept per session will be written.

Nothing is yet, so the work is done as soon as it is seen. Where memory does not answer, nothing is recorded and the
event is published again.
"""

import structlog

from common.events import SessionClosed
from common.logs import get_logger
from common.memory_api import operations
from common.memory_api.base import Owner
from common.memory_api.client import MemoryUnavailable
from common.memory_api.sessions import FinishClosing
from common.problems import ProblemCode, ProblemError
from common.streams.consumer import AnyEvent
from curator.curation.claimed_curation import MemoryCaller

_log = get_logger(__name__)


class SessionCloser:
    def __init__(self, memory: MemoryCaller) -> None:
        self._memory = memory

    async def handle(self, event: AnyEvent) -> None:
        assert isinstance(event, SessionClosed)
        owner = Owner(tenant_id=event.tenant_id, user_id=event.user_id)
        with structlog.contextvars.bound_contextvars(session_id=str(event.session_id)):
            try:
                await self._memory.call(
                    operations.FINISH_CLOSING, FinishClosing(owner=owner, session_id=event.session_id)
                )
            except MemoryUnavailable:
                _log.warning("closing.given_up", reason="memory unavailable")
            except ProblemError as problem:
                if problem.code is not ProblemCode.NOT_FOUND:  # erased meanwhile
                    raise
                _log.info("closing.given_up", reason=problem.code)
