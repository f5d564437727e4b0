"""What every FastAPI service does at its edge: problem+json for all errors, and a limit on bodies.

Needs the extra `web`.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from common.logs import get_logger
from common.problems import PROBLEM_JSON, Problem, ProblemCode, ProblemError

_log = get_logger(__name__)

_CODES_BY_STATUS = {
    401: ProblemCode.UNAUTHENTICATED,
    403: ProblemCode.FORBIDDEN,
    404: ProblemCode.NOT_FOUND,
    405: ProblemCode.METHOD_NOT_ALLOWED,
    413: ProblemCode.BODY_TOO_LARGE,
    415: ProblemCode.UNSUPPORTED_MEDIA_TYPE,
    429: ProblemCode.TOO_MANY_REQUESTS,
    503: ProblemCode.UNAVAILABLE,
}


_LIMITS = frozenset({"pattern", "expected", "min_length", "max_length", "ge", "gt", "le", "lt"})
"""What pydantic says of a rule and not of the value."""


def problem_response(problem: Problem, retry_after: int | None = None) -> Response:
    headers = {"Retry-After": str(retry_after)} if retry_after is not None else None
    return Response(
        problem.model_dump_json(exclude_none=True),
        status_code=problem.status,
        media_type=PROBLEM_JSON,
        headers=headers,
    )


def install_problem_handlers(app: FastAPI) -> None:
    @app.exception_handler(ProblemError)
    async def on_problem(_: Request, error: ProblemError) -> Response:
        return problem_response(error.problem, error.retry_after)

    @app.exception_handler(RequestValidationError)
    async def on_invalid(_: Request, error: RequestValidationError) -> Response:
        return problem_response(Problem.of(ProblemCode.INVALID_REQUEST, errors=_without_input(error)))

    @app.exception_handler(HTTPException)
    async def on_http(_: Request, error: HTTPException) -> Response:
        code = _CODES_BY_STATUS.get(error.status_code, ProblemCode.INVALID_REQUEST)
        problem = Problem.of(code)
        return problem_response(problem.model_copy(update={"status": error.status_code}))

    app.add_middleware(_BugAnswer)


def _without_input(error: RequestValidationError) -> list[dict[str, Any]]:
    """Where and why, with the limit; never what: the rejected value may be exactly what must not spread."""
    return [
        {
            "at": [str(part) for part in item["loc"]],
            "why": item["type"],
            **{name: limit for name, limit in item.get("ctx", {}).items() if name in _LIMITS},
        }
        for item in error.errors()
    ]


class _BugAnswer:
    """The edge: a bug becomes a clear answer and a log line.

    An answer that its application began and left (an event stream whose client does not read) is ended here, when
    everything that the application held has been let go of.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = ended = False

        async def noted(message: Message) -> None:
            nonlocal begun, ended
            begun = True
            ended = message["type"] == "http.response.body" and not message.get("more_body", False)
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except Exception as error:
            _log.error("http.bug", route=getattr(scope.get("route"), "path", None), method=scope["method"], error=error)
            if begun:
                raise  # half an answer is out: the connection is cut, so that nobody takes it for a whole one
            await problem_response(Problem.of(ProblemCode.INTERNAL))(scope, receive, send)
            return
        if begun and not ended:
            await send({"type": "http.response.body", "body": b"", "more_body": False})


class CutOffAnswer:
    """Around the problem handlers: a request that is cancelled (only a shutdown does that) is answered with 503, so
    that whoever asked asks another replica. Uvicorn would call it a bug of ours."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def noted(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except asyncio.CancelledError:
            if begun or scope["type"] != "http":
                raise
            await problem_response(Problem.of(ProblemCode.UNAVAILABLE), retry_after=1)(scope, receive, send)


class BodyLimit:
    """Refuses request bodies over `limit` bytes (of all requests, or told for each), declared or streamed, before they
    are held in memory."""

    def __init__(self, app: ASGIApp, limit: int | Callable[[Scope], int]) -> None:
        self._app = app
        self._limit_of = limit if callable(limit) else lambda _: limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = self._limit_of(scope)
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if declared.isdigit() and int(declared) > limit:
            problem = Problem.of(ProblemCode.BODY_TOO_LARGE, f"at most {limit} bytes")
            await problem_response(problem)(scope, receive, send)
            return
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > limit:
                # FastAPI answers 400 to anything else that is raised while it reads a body.
                raise HTTPException(413)
            return message

        await self._app(scope, counted, send)
