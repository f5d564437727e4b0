"""Refusals, in the shape OpenAI-compatible clients expect: {"error": {"message", "type", "code"}}."""

from typing import Any

from starlette.responses import JSONResponse


class Refusal(Exception):
    """A request that is answered with an error status."""

    def __init__(self, status: int, message: str, code: str | None = None, kind: str = "invalid_request_error") -> None:
        super().__init__(code or kind)
        self.status = status
        self.message = message
        self.code = code
        self.kind = kind


class InvalidRequest(Refusal):
    def __init__(self, message: str, code: str | None = None) -> None:
        super().__init__(400, message, code)


_KINDS_BY_STATUS = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}


def requested_status(status: int) -> Refusal:
    """The refusal a directive asked for."""
    kind = _KINDS_BY_STATUS.get(status, "server_error" if status >= 500 else "invalid_request_error")
    return Refusal(status, f"status {status}, as the request asked for", "requested_by_directive", kind)


def refusal_response(refusal: Refusal) -> JSONResponse:
    body: dict[str, Any] = {
        "error": {"message": refusal.message, "type": refusal.kind, "param": None, "code": refusal.code}
    }
    headers = {"Retry-After": "1"} if refusal.status == 429 else None
    return JSONResponse(body, status_code=refusal.status, headers=headers)
