"""If-Match and If-None-Match: an edit applies only to the fact that its user has seen (RFC 9110 section 13).

Both are optional. An edit without them overwrites whatever stands there, and what it overwrote stays in the history.
"""

import re
from typing import Annotated

from fastapi import Depends, Header, Response

from common.memory_api.facts import Fact, Precondition
from common.problems import ProblemCode, ProblemError

_TAG = re.compile(r'"([0-9]{1,20}\.[0-9]{1,5}\.[0-9]{1,10})"')


async def precondition(
    if_match: Annotated[
        str | None, Header(description="The ETag that you have seen, or `*` for any", examples=['"12.2.0"'])
    ] = None,
    if_none_match: Annotated[str | None, Header(description="`*`: only where there is no such fact yet")] = None,
) -> Precondition:
    """Raises ProblemError."""
    if if_none_match is not None and (if_none_match.strip() != "*" or if_match is not None):
        raise ProblemError(ProblemCode.INVALID_REQUEST, "If-None-Match must be * and stand alone")
    return Precondition(revision=_revision(if_match), must_be_new=if_none_match is not None)


GivenPrecondition = Annotated[Precondition, Depends(precondition)]


def tag(response: Response, fact: Fact) -> Fact:
    """The fact, with its entity tag on the response."""
    response.headers["ETag"] = f'"{fact.revision}"'
    return fact


def _revision(if_match: str | None) -> str | None:
    if if_match is None or if_match.strip() == "*":
        return if_match and "*"
    found = _TAG.fullmatch(if_match.strip())
    if found is None:  # a weak tag, several, or none of ours: no fact stands at it
        raise ProblemError(ProblemCode.PRECONDITION_FAILED)
    return found[1]
