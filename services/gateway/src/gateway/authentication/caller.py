"""What routes ask for: the verified caller, and that a path names no one else."""

from typing import Annotated

from fastapi import Depends, Path, Request, Security
from fastapi.security import HTTPBearer

from common.memory_api.base import Owner
from common.problems import ProblemCode, ProblemError
from gateway.authentication.middleware import CALLER
from gateway.authentication.token import Caller

# Only for the API description: the middleware has checked the token long before.
_scheme = HTTPBearer(
    auto_error=False, bearerFormat="JWT", description="An access token, only in the Authorization header"
)


async def current_caller(request: Request, _: Annotated[object, Security(_scheme)]) -> Caller:
    caller = getattr(request.state, CALLER, None)
    if not isinstance(caller, Caller):
        raise ProblemError(ProblemCode.UNAUTHENTICATED)
    return caller


CurrentCaller = Annotated[Caller, Depends(current_caller)]


async def current_owner(caller: CurrentCaller) -> Owner:
    return caller.owner


CurrentOwner = Annotated[Owner, Depends(current_owner)]


async def owner_named_in_path(
    owner: CurrentOwner, user_id: Annotated[str, Path(description="The token's subject; anyone else is refused")]
) -> Owner:
    if user_id != owner.user_id:
        raise ProblemError(ProblemCode.FORBIDDEN)
    return owner


NamedOwner = Annotated[Owner, Depends(owner_named_in_path)]
