"""Candidates: what the assistant would remember if its user agreed."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Response

from common.memory_api.base import OwnedRequest
from common.memory_api.facts import CandidateRequest, Candidates, Fact
from common.memory_api.operations import ACCEPT_CANDIDATE, LIST_CANDIDATES, REFUSE_CANDIDATE
from common.problems import ProblemCode
from gateway.authentication.caller import NamedOwner
from gateway.dependencies import Memory
from gateway.openapi import problems
from gateway.preferences.preconditions import tag

router = APIRouter(prefix="/api/preferences/{user_id}/candidates", tags=["preferences"])

_BY_ID = problems(ProblemCode.FORBIDDEN, ProblemCode.NOT_FOUND, ProblemCode.INVALID_REQUEST)


async def _request(candidate_id: UUID, owner: NamedOwner) -> CandidateRequest:
    return CandidateRequest(owner=owner, candidate_id=candidate_id)


OneCandidate = Annotated[CandidateRequest, Depends(_request)]


@router.get("", summary="What waits for your word", responses=_BY_ID)
async def list_candidates(owner: NamedOwner, memory: Memory) -> Candidates:
    return await memory.ask(LIST_CANDIDATES, OwnedRequest(owner=owner))


@router.post(
    "/{candidate_id}/accept",
    summary="Remember it",
    responses={
        **_BY_ID,
        **problems(
            ProblemCode.FACT_OUTDATED, ProblemCode.ALREADY_DONE, ProblemCode.MEMORY_FULL, ProblemCode.MEMORY_DISABLED
        ),
    },
)
async def accept_candidate(candidate: OneCandidate, memory: Memory, response: Response) -> Fact:
    return tag(response, await memory.ask(ACCEPT_CANDIDATE, candidate))


@router.post(
    "/{candidate_id}/refuse", status_code=204, summary="Refuse it: nothing said before brings it back", responses=_BY_ID
)
async def refuse_candidate(candidate: OneCandidate, memory: Memory) -> None:
    await memory.ask(REFUSE_CANDIDATE, candidate)
