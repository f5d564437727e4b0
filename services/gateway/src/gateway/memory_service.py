"""The memory service as the gateway's routes use it: its clear answers go to the user, its troubles do not."""

from typing import TypeVar

from common.logs import get_logger
from common.memory_api.base import Message
from common.memory_api.client import MemoryClient, MemoryUnavailable
from common.memory_api.operations import Operation
from common.problems import ProblemCode, ProblemError

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)

TURN_OPEN_RETRY_SECONDS = 1
UNAVAILABLE_RETRY_SECONDS = 2

# What is about the user's request. Anything else is between the two services, such as a refused service token.
_FOR_THE_USER = frozenset(
    {
        ProblemCode.INVALID_REQUEST,
        ProblemCode.NOT_FOUND,
        ProblemCode.TURN_OPEN,
        ProblemCode.SESSION_ENDED,
        ProblemCode.IDEMPOTENCY_CONFLICT,
        ProblemCode.ORDER_SETTLED,
        ProblemCode.FACT_REFUSED,
        ProblemCode.FACT_OUTDATED,
        ProblemCode.MEMORY_FULL,
        ProblemCode.MEMORY_DISABLED,
        ProblemCode.NOTHING_TO_UNDO,
        ProblemCode.SKILL_REFUSED,
        ProblemCode.SKILL_EXISTS,
        ProblemCode.SKILLS_FULL,
        ProblemCode.PRECONDITION_FAILED,
        ProblemCode.ALREADY_DONE,
        ProblemCode.TOO_MANY_REQUESTS,
        ProblemCode.TOKEN_BUDGET,
    }
)

_log = get_logger(__name__)


class MemoryService:
    def __init__(self, client: MemoryClient) -> None:
        self._client = client

    async def ask(
        self, operation: Operation[Request, Response], request: Request, *, retry_for: float | None = None
    ) -> Response:
        """Ask for `operation`. Raises ProblemError, always one that may be shown to the user."""
        try:
            return await self._client.call(operation, request, retry_for=retry_for)
        except MemoryUnavailable as error:
            _log.warning("memory.unavailable", operation=operation.path)
            raise ProblemError(ProblemCode.UNAVAILABLE, retry_after=UNAVAILABLE_RETRY_SECONDS) from error
        except ProblemError as error:
            raise _for_the_user(error, operation.path) from error

    async def ready(self) -> bool:
        return await self._client.ready()


def _for_the_user(error: ProblemError, operation: str) -> ProblemError:
    if error.code not in _FOR_THE_USER:
        _log.error("memory.refused", operation=operation, code=error.code)
        return ProblemError(ProblemCode.INTERNAL)
    if error.code is ProblemCode.TURN_OPEN and error.retry_after is None:
        error.retry_after = TURN_OPEN_RETRY_SECONDS
    return error
