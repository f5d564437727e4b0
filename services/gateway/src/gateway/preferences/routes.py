"""Remembered facts as their user sees and edits them."""

from fastapi import APIRouter, Response

from common.ids import new_id
from common.memory_api.base import Owner
from common.memory_api.facts import (
    Cleared,
    ClearMemory,
    Fact,
    FactDetail,
    FactEditRequest,
    FactKeyRequest,
    FactPage,
    History,
    ListFacts,
    ProposedFact,
    PutFact,
    RestoreFact,
)
from common.memory_api.operations import (
    CLEAR_MEMORY,
    DELETE_FACT,
    FACT_HISTORY,
    GET_FACT,
    LIST_FACTS,
    PUT_FACT,
    RESTORE_FACT,
)
from common.problems import ProblemCode
from gateway.authentication.caller import CurrentOwner, NamedOwner
from gateway.dependencies import Memory
from gateway.openapi import WITH_BODY, problems
from gateway.preferences.preconditions import GivenPrecondition, tag
from gateway.preferences.schemas import FactEdit, FactFilter, FactKey, GivenFilter, VersionToRestore
from gateway.preferences.undoing import undo_last_change

router = APIRouter(prefix="/api/preferences", tags=["preferences"])

_OF_A_USER = problems(ProblemCode.FORBIDDEN, ProblemCode.NOT_FOUND, ProblemCode.INVALID_REQUEST)
_EDIT = (
    ProblemCode.FORBIDDEN,
    ProblemCode.PRECONDITION_FAILED,
    ProblemCode.FACT_REFUSED,
    ProblemCode.FACT_OUTDATED,
    ProblemCode.MEMORY_FULL,
    ProblemCode.MEMORY_DISABLED,
    ProblemCode.INVALID_REQUEST,
)


@router.get("", summary="What is remembered about you", responses=problems(ProblemCode.INVALID_REQUEST))
async def list_own_facts(owner: CurrentOwner, memory: Memory, chosen: GivenFilter) -> FactPage:
    return await memory.ask(LIST_FACTS, _listing(owner, chosen))


@router.get("/{user_id}", summary="What is remembered about a user", responses=_OF_A_USER)
async def list_facts(owner: NamedOwner, memory: Memory, chosen: GivenFilter) -> FactPage:
    return await memory.ask(LIST_FACTS, _listing(owner, chosen))


@router.get("/{user_id}/{key:path}/history", summary="What a fact said before", responses=_OF_A_USER)
async def get_history(key: FactKey, owner: NamedOwner, memory: Memory) -> History:
    return await memory.ask(FACT_HISTORY, FactKeyRequest(owner=owner, key=key))


@router.get(
    "/{user_id}/{key:path}", summary="A fact, where it comes from and what it said before", responses=_OF_A_USER
)
async def get_fact(key: FactKey, owner: NamedOwner, memory: Memory, response: Response) -> FactDetail:
    """The turns it rests on can be read at `/api/turns/{turn_id}` until their session expires."""
    detail = await memory.ask(GET_FACT, FactKeyRequest(owner=owner, key=key))
    tag(response, detail.fact)
    return detail


@router.put("/{user_id}/{key:path}", summary="Write a fact in your own words", responses=problems(*_EDIT, *WITH_BODY))
async def put_fact(
    key: FactKey, edit: FactEdit, owner: NamedOwner, memory: Memory, when: GivenPrecondition, response: Response
) -> Fact:
    """Without If-Match it overwrites; what it overwrote stays in the history."""
    proposed = ProposedFact(key=key, value=edit.value, category=edit.category)
    return tag(response, await memory.ask(PUT_FACT, PutFact(owner=owner, proposed=proposed, precondition=when)))


@router.delete(
    "/{user_id}/{key:path}",
    status_code=204,
    summary="Forget one fact",
    responses={**_OF_A_USER, **problems(ProblemCode.PRECONDITION_FAILED)},
)
async def delete_fact(key: FactKey, owner: NamedOwner, memory: Memory, when: GivenPrecondition) -> None:
    """Its earlier versions go with it, and nothing that was said before brings it back."""
    await memory.ask(DELETE_FACT, FactEditRequest(owner=owner, key=key, precondition=when))


@router.delete("/{user_id}", summary="Forget everything", responses=_OF_A_USER)
async def clear_memory(owner: NamedOwner, memory: Memory) -> Cleared:
    """Deletes all facts and their copies, and ends your open sessions; nothing brings them back."""
    return await memory.ask(CLEAR_MEMORY, ClearMemory(owner=owner, request_id=new_id()))


@router.post(
    "/{user_id}/restore",
    summary="Bring an earlier version back",
    responses=problems(ProblemCode.NOT_FOUND, *_EDIT, *WITH_BODY),
)
async def restore_fact(
    version: VersionToRestore, owner: NamedOwner, memory: Memory, when: GivenPrecondition, response: Response
) -> Fact:
    request = RestoreFact(owner=owner, version_id=version.version_id, precondition=when)
    return tag(response, await memory.ask(RESTORE_FACT, request))


@router.post(
    "/{user_id}/{key:path}/undo",
    summary="Take back the last change of a fact",
    responses=problems(ProblemCode.NOT_FOUND, ProblemCode.NOTHING_TO_UNDO, *_EDIT),
)
async def undo_fact(
    key: FactKey, owner: NamedOwner, memory: Memory, when: GivenPrecondition, response: Response
) -> Fact:
    """Brings back what it said before; undone twice, it says again what it says now."""
    return tag(response, await undo_last_change(memory, owner, key, when))


def _listing(owner: Owner, chosen: FactFilter) -> ListFacts:
    return ListFacts(owner=owner, **chosen.model_dump())
