"""The Idempotency-Key header: a turn that is posted again under the same key is the same turn."""

from typing import Annotated

from fastapi import Depends, Header, Request
from pydantic import TypeAdapter, ValidationError

from common.memory_api.turns import IdempotencyKey
from common.problems import ProblemCode, ProblemError

HEADER = "Idempotency-Key"

_adapter: TypeAdapter[str] = TypeAdapter(IdempotencyKey)


async def idempotency_key(
    request: Request,
    _: Annotated[
        str | None,
        Header(
            alias=HEADER,
            description="1 to 128 visible ASCII characters; a new one for each new turn",
            examples=["0d3ee1ee-7a3b-4b6c-9d5b-1c6b2f1d2a34"],
        ),
    ] = None,
) -> str:
    values = request.headers.getlist(HEADER)
    if len(values) != 1:
        raise ProblemError(ProblemCode.IDEMPOTENCY_KEY_MISSING)
    try:
        return _adapter.validate_python(values[0])
    except ValidationError as error:
        raise ProblemError(ProblemCode.IDEMPOTENCY_KEY_MISSING) from error


GivenIdempotencyKey = Annotated[str, Depends(idempotency_key)]
