"""Bodies are JSON and say so. A form or plain-text post, which a foreign page could send, is refused."""

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from common.problems import Problem, ProblemCode
from common.web import problem_response

JSON = "application/json"
JSON_LINES = ("application/x-ndjson", "application/jsonl")

_IMPORT = "/import"


class JsonBodies:
    """JSON everywhere; an import may also be JSON lines."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not _acceptable(scope):
            await problem_response(Problem.of(ProblemCode.UNSUPPORTED_MEDIA_TYPE))(scope, receive, send)
            return
        await self._app(scope, receive, send)


def is_import(scope: Scope) -> bool:
    path: str = scope["path"]
    return scope["method"] == "POST" and path.endswith(_IMPORT)


def _acceptable(scope: Scope) -> bool:
    headers = Headers(scope=scope)
    has_body = "transfer-encoding" in headers or headers.get("content-length", "0") != "0"
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    return not has_body or media_type == JSON or (media_type in JSON_LINES and is_import(scope))
