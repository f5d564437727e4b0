"""Problem details (RFC 9457): the one shape of an error over HTTP, inside and outside."""

from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict

PROBLEM_JSON = "application/problem+json"


class ProblemCode(StrEnum):
    INVALID_REQUEST = "invalid-request"
    IDEMPOTENCY_KEY_MISSING = "idempotency-key-missing"
    UNAUTHENTICATED = "unauthenticated"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not-found"
    METHOD_NOT_ALLOWED = "method-not-allowed"
    TURN_OPEN = "turn-open"
    SESSION_ENDED = "session-ended"
    LEASE_LOST = "lease-lost"
    LEASE_HELD = "lease-held"
    NOT_DUE = "not-due"
    GENERATION_CHANGED = "generation-changed"
    HEAD_MOVED = "head-moved"
    ALREADY_DONE = "already-done"
    BODY_TOO_LARGE = "body-too-large"
    UNSUPPORTED_MEDIA_TYPE = "unsupported-media-type"
    IDEMPOTENCY_CONFLICT = "idempotency-conflict"
    ORDER_SETTLED = "order-settled"
    FACT_REFUSED = "fact-refused"
    FACT_OUTDATED = "fact-outdated"
    MEMORY_FULL = "memory-full"
    MEMORY_DISABLED = "memory-disabled"
    NOTHING_TO_UNDO = "nothing-to-undo"
    SKILL_REFUSED = "skill-refused"
    SKILL_EXISTS = "skill-exists"
    SKILLS_FULL = "skills-full"
    PRECONDITION_FAILED = "precondition-failed"
    TOO_MANY_REQUESTS = "too-many-requests"
    TOKEN_BUDGET = "token-budget"
    OVERLOADED = "overloaded"
    INTERNAL = "internal"
    UNAVAILABLE = "unavailable"


_STATUS_AND_TITLE: dict[ProblemCode, tuple[int, str]] = {
    ProblemCode.INVALID_REQUEST: (422, "The request is not valid"),
    ProblemCode.IDEMPOTENCY_KEY_MISSING: (400, "The Idempotency-Key header is missing or not valid"),
    ProblemCode.UNAUTHENTICATED: (401, "A valid bearer token is needed"),
    ProblemCode.FORBIDDEN: (403, "This is not yours"),
    ProblemCode.NOT_FOUND: (404, "There is no such thing"),
    ProblemCode.METHOD_NOT_ALLOWED: (405, "This method is not supported here"),
    ProblemCode.TURN_OPEN: (409, "The session is still working on a turn"),
    ProblemCode.SESSION_ENDED: (409, "The session has ended"),
    ProblemCode.LEASE_LOST: (409, "The lease is no longer held"),
    ProblemCode.LEASE_HELD: (409, "Another worker holds the lease"),
    ProblemCode.NOT_DUE: (409, "The work is not due yet"),
    ProblemCode.GENERATION_CHANGED: (409, "The user has cleared their memory since"),
    ProblemCode.HEAD_MOVED: (409, "The session log has moved on"),
    ProblemCode.ALREADY_DONE: (409, "The work is already done"),
    ProblemCode.BODY_TOO_LARGE: (413, "The body is too large"),
    ProblemCode.UNSUPPORTED_MEDIA_TYPE: (415, "The body must be JSON"),
    ProblemCode.IDEMPOTENCY_CONFLICT: (422, "The Idempotency-Key was used with another request"),
    ProblemCode.ORDER_SETTLED: (409, "The order is no longer waiting for an answer"),
    ProblemCode.FACT_REFUSED: (422, "This cannot be kept as a long-term memory"),
    ProblemCode.FACT_OUTDATED: (409, "A newer word of the user stands against this"),
    ProblemCode.MEMORY_FULL: (409, "The long-term memory is full"),
    ProblemCode.MEMORY_DISABLED: (409, "The long-term memory is switched off"),
    ProblemCode.NOTHING_TO_UNDO: (409, "The fact has no earlier version"),
    ProblemCode.SKILL_REFUSED: (422, "A skill holds no account, document or contact data"),
    ProblemCode.SKILL_EXISTS: (409, "There is a skill of this name already"),
    ProblemCode.SKILLS_FULL: (409, "There is no room for another skill"),
    ProblemCode.PRECONDITION_FAILED: (412, "It has changed since you read it"),
    ProblemCode.TOO_MANY_REQUESTS: (429, "Too many requests"),
    ProblemCode.TOKEN_BUDGET: (429, "The tokens of the day are used up"),
    ProblemCode.OVERLOADED: (503, "Too much is waiting already"),
    ProblemCode.INTERNAL: (500, "Something went wrong on our side"),
    ProblemCode.UNAVAILABLE: (503, "The service is not available right now"),
}


class Problem(BaseModel):
    """The body of an error answer. `code` is stable and for programs, `detail` is for people."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    code: ProblemCode
    detail: str | None = None
    errors: list[dict[str, Any]] | None = None

    @classmethod
    def of(cls, code: ProblemCode, detail: str | None = None, **extra: Any) -> "Problem":
        status, title = _STATUS_AND_TITLE[code]
        return cls(type=f"urn:shoppingx:problem:{code}", title=title, status=status, code=code, detail=detail, **extra)


class ProblemError(Exception):
    """Raised where a request cannot be answered; the edge turns it into a problem+json answer."""

    def __init__(
        self, code: ProblemCode, detail: str | None = None, retry_after: int | None = None, **extra: Any
    ) -> None:
        super().__init__(code)
        self.problem = Problem.of(code, detail, **extra)
        self.retry_after = retry_after

    @property
    def code(self) -> ProblemCode:
        return self.problem.code
