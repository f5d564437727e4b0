"""The typed client of the memory service.

Every operation may be repeated (accept by its key, claims and writes by their token, tools by their call id), so
the client retries what never reached the service or was cut off, with the same bytes, for a bounded time.
"""

import random
from collections.abc import Callable
from typing import TypeVar

import httpx2
from opentelemetry.trace import SpanKind
from pydantic import SecretStr, ValidationError

from common.clock import Clock
from common.memory_api.base import Message
from common.memory_api.operations import Operation
from common.problems import Problem, ProblemCode, ProblemError
from common.telemetry.traces import span, trace_headers

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)

_RETRIED_STATUS = frozenset({502, 503, 504})
_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 1.0


class MemoryUnavailable(Exception):
    """The memory service did not answer within the time allowed. Nothing is known about the outcome."""


class MemoryClient:
    """`retry_for` is the time in seconds after which a service that does not answer is given up."""

    def __init__(
        self,
        base_url: str,
        token: SecretStr,
        clock: Clock,
        *,
        retry_for: float = 10.0,
        timeout: float = 5.0,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._clock = clock
        self._retry_for = retry_for
        self._jitter = jitter
        self._http = httpx2.AsyncClient(
            base_url=base_url,
            timeout=timeout,
            limits=httpx2.Limits(max_connections=200, max_keepalive_connections=50),
            headers={"Authorization": f"Bearer {token.get_secret_value()}", "Content-Type": "application/json"},
            trust_env=False,
        )

    async def close(self) -> None:
        await self._http.aclose()

    async def call(
        self, operation: Operation[Request, Response], request: Request, *, retry_for: float | None = None
    ) -> Response:
        """Ask for `operation`. Raises ProblemError for a clear no, MemoryUnavailable when there was no answer."""
        with span(f"memory {operation.path}", SpanKind.CLIENT):
            return await self._call(operation, request, self._retry_for if retry_for is None else retry_for)

    async def _call(self, operation: Operation[Request, Response], request: Request, retry_for: float) -> Response:
        body = request.model_dump_json().encode()
        give_up_at = self._clock.monotonic() + retry_for
        pause = _FIRST_PAUSE
        while True:
            answer = await self._post(operation.url_path, body)
            if answer is not None and answer.status_code not in _RETRIED_STATUS:
                return _decode(operation, answer)
            if self._clock.monotonic() + pause >= give_up_at:
                raise MemoryUnavailable(operation.path)
            await self._clock.sleep(pause * (0.5 + self._jitter() / 2))
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def ready(self) -> bool:
        try:
            return (await self._http.get("/readyz", timeout=2.0)).status_code == 200
        except httpx2.HTTPError:
            return False

    async def _post(self, path: str, body: bytes) -> httpx2.Response | None:
        try:
            return await self._http.post(path, content=body, headers=trace_headers())
        except httpx2.TransportError:
            return None


def _decode(operation: Operation[Request, Response], answer: httpx2.Response) -> Response:
    if answer.status_code == 200:
        return operation.response.model_validate_json(answer.content)
    try:
        problem = Problem.model_validate_json(answer.content)
    except ValidationError:
        raise ProblemError(ProblemCode.INTERNAL, f"memory answered {answer.status_code}") from None
    error = ProblemError(problem.code, problem.detail, _retry_after(answer))
    error.problem = problem
    raise error


def _retry_after(answer: httpx2.Response) -> int | None:
    value = answer.headers.get("Retry-After", "")
    return int(value) if value.isdecimal() else None
