"""The typed client of the memory service.

Every operation may be repeated (accept by its key, claims and writes by their token, tools by their call id), so
the client retries what never reached the service or was cut off, with the same bytes, for a bounded time.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from aiohttp import ClientError, ClientSession, ClientTimeout, DummyCookieJar, TCPConnector
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

_CONNECTIONS = 200
_KEEP_SECONDS = 4.0
"""Less than the five seconds that the service keeps an idle connection: it should not be closed while we send."""

_READY_SECONDS = 2.0


class MemoryUnavailable(Exception):
    """The memory service did not answer within the time allowed. Nothing is known about the outcome."""


@dataclass(frozen=True)
class _Answer:
    status: int
    body: bytes
    retry_after: int | None


class MemoryClient:
    """`timeout` is for one request, from connecting to the last byte. `retry_for` is the time after which a service
    that does not answer is given up. Both in seconds."""

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
        self._base_url = base_url
        self._timeout = ClientTimeout(timeout)
        self._headers = {"Authorization": f"Bearer {token.get_secret_value()}", "Content-Type": "application/json"}
        self._http: ClientSession | None = None

    async def close(self) -> None:
        if self._http is not None:
            await self._http.close()

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
            if answer is not None and answer.status not in _RETRIED_STATUS:
                return _decode(operation, answer)
            if self._clock.monotonic() + pause >= give_up_at:
                raise MemoryUnavailable(operation.path)
            await self._clock.sleep(pause * (0.5 + self._jitter() / 2))
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def ready(self) -> bool:
        try:
            async with self._session().get("/readyz", timeout=ClientTimeout(_READY_SECONDS)) as answer:
                return answer.status == 200
        except (ClientError, TimeoutError):
            return False

    async def _post(self, path: str, body: bytes) -> _Answer | None:
        try:
            async with self._session().post(path, data=body, headers=trace_headers()) as answer:
                return _Answer(answer.status, await answer.read(), _seconds(answer.headers.get("Retry-After", "")))
        except (ClientError, TimeoutError):
            return None

    def _session(self) -> ClientSession:
        """Made with the first request, because it belongs to the loop that runs then."""
        if self._http is None:
            # Names are looked up for each new connection: replicas come and go.
            connector = TCPConnector(limit=_CONNECTIONS, use_dns_cache=False, keepalive_timeout=_KEEP_SECONDS)
            self._http = ClientSession(
                self._base_url,
                connector=connector,
                headers=self._headers,
                timeout=self._timeout,
                cookie_jar=DummyCookieJar(),
            )
        return self._http


def _decode(operation: Operation[Request, Response], answer: _Answer) -> Response:
    if answer.status == 200:
        # A newer memory may say more: in a rolling restart it answers older clients.
        return operation.response.model_validate_json(answer.body, extra="ignore")
    try:
        problem = Problem.model_validate_json(answer.body)
    except ValidationError:
        raise ProblemError(ProblemCode.INTERNAL, f"memory answered {answer.status}") from None
    error = ProblemError(problem.code, problem.detail, answer.retry_after)
    error.problem = problem
    raise error


def _seconds(header: str) -> int | None:
    return int(header) if header.isdecimal() else None
