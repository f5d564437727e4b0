"""Reads a JSON body, bounded and well-formed."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from offline_model.errors import InvalidRequest, Refusal

BODY_LIMIT = 8 * 1024 * 1024

_Model = TypeVar("_Model", bound=BaseModel)


@dataclass(frozen=True)
class Body:
    data: dict[str, Any]
    digest: str
    """Equal for equal requests."""


async def read_body(request: Request) -> Body:
    """
    Raises:
        Refusal: 413 over the limit, 400 for anything but a JSON object of well-formed text.
    """
    received = bytearray()
    async for chunk in request.stream():
        received += chunk
        if len(received) > BODY_LIMIT:
            raise Refusal(413, f"the body is larger than {BODY_LIMIT} bytes", "body_too_large")
    try:
        data = json.loads(received)
        # A lone surrogate passes JSON's escapes, but no text with one can be sent back.
        canonical = json.dumps(data, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise InvalidRequest("the body is not valid JSON in UTF-8", "invalid_json") from None
    if not isinstance(data, dict):
        raise InvalidRequest("the body must be a JSON object", "invalid_json")
    return Body(data, hashlib.sha256(canonical).hexdigest())


def parsed(model: type[_Model], body: Body) -> _Model:
    """
    Raises:
        InvalidRequest: says where and why, never what: bodies hold users' words.
    """
    try:
        return model.model_validate(body.data)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "body"
        raise InvalidRequest(f"{place}: {first['msg']}", "invalid_request") from None
