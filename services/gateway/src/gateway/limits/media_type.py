"""Bodies are JSON and say so. A form or plain-text post, which a foreign page could send, is refused."""

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from common.problems import Problem, ProblemCode
from common.web import problem_response

JSON = "application/json"


class JsonBodies:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not _acceptable(Headers(scope=scope)):
            await problem_response(Problem.of(ProblemCode.UNSUPPORTED_MEDIA_TYPE))(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _acceptable(headers: Headers) -> bool:
    has_body = "transfer-encoding" in headers or headers.get("content-length", "0") != "0"
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    return media_type == JSON or not has_body
