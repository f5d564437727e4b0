"""Authenticates before anything of a request is read, so that a stranger costs a signature check and no more.

The routes do not trust that this ran: each asks for its caller (`caller.py`) and refuses without one.
"""

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from common.logs import get_logger
from common.problems import Problem, ProblemCode
from common.web import problem_response
from gateway.authentication.token import TokenRefused, TokenVerifier

CALLER = "caller"
"""Where the caller lies in the request's state."""

PROTECTED_PREFIX = "/api/"

_log = get_logger(__name__)


class Authentication:
    def __init__(self, app: ASGIApp, verifier: TokenVerifier) -> None:
        self._app = app
        self._verifier = verifier

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(PROTECTED_PREFIX):
            await self._app(scope, receive, send)
            return
        try:
            caller = self._verifier.verify(bearer_token(scope["headers"]))
        except TokenRefused as refused:
            _log.info("token.refused", reason=refused.reason)
            await unauthenticated(refused.reason)(scope, receive, send)
            return
        scope.setdefault("state", {})[CALLER] = caller
        await self._app(scope, receive, send)


def bearer_token(headers: list[tuple[bytes, bytes]]) -> str:
    """The token of the one Authorization header. Raises TokenRefused."""
    values = [value for name, value in headers if name == b"authorization"]
    if not values:
        raise TokenRefused("the Authorization header is missing")
    scheme, _, token = values[0].partition(b" ")
    if len(values) > 1 or scheme.lower() != b"bearer" or not token.isascii():
        raise TokenRefused("the Authorization header must hold one bearer token")
    return token.strip().decode()


def unauthenticated(reason: str) -> Response:
    response = problem_response(Problem.of(ProblemCode.UNAUTHENTICATED, reason))
    response.headers["WWW-Authenticate"] = "Bearer"
    return response
