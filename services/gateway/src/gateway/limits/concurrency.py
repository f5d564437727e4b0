"""How much one user may have open at once in this process. Event streams are counted apart: they stay open."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.types import ASGIApp, Receive, Scope, Send

from common.memory_api.base import Owner
from common.problems import Problem, ProblemCode
from common.web import problem_response
from gateway.authentication.middleware import CALLER

RETRY_SECONDS = 1


class NoSlotLeft(Exception):
    """The user has as much open as is allowed."""


class Slots:
    def __init__(self, per_user: int) -> None:
        self._per_user = per_user
        self._taken: Counter[Owner] = Counter()

    @contextmanager
    def take(self, owner: Owner) -> Iterator[None]:
        """Hold one slot of `owner`. Raises NoSlotLeft."""
        if self._taken[owner] >= self._per_user:
            raise NoSlotLeft
        self._taken[owner] += 1
        try:
            yield
        finally:
            self._taken[owner] -= 1
            if not self._taken[owner]:
                del self._taken[owner]


class ConcurrencyLimit:
    """Holds a slot from the first byte of a request's body to the last of its answer."""

    def __init__(self, app: ASGIApp, requests: Slots, event_streams: Slots) -> None:
        self._app = app
        self._requests = requests
        self._event_streams = event_streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller = scope.get("state", {}).get(CALLER)
        if caller is None:
            await self._app(scope, receive, send)
            return
        slots = self._event_streams if _is_event_stream(scope) else self._requests
        try:
            with slots.take(caller.owner):
                await self._app(scope, receive, send)
        except NoSlotLeft:
            problem = Problem.of(ProblemCode.TOO_MANY_REQUESTS)
            await problem_response(problem, RETRY_SECONDS)(scope, receive, send)


def _is_event_stream(scope: Scope) -> bool:
    path: str = scope["path"]
    return scope["method"] == "GET" and path.startswith("/api/turns/") and path.endswith("/events")
