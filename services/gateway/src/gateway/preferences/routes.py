"""Remembered facts as their user sees and edits them."""

from fastapi import APIRouter

from common.ids import new_id
from common.memory_api.facts import (
    Cleared,
    ClearMemory,
    Fact,
    FactKeyRequest,
    Facts,
    History,
    ListFacts,
    MemoryCategory,
    ProposedFact,
    PutFact,
    RestoreFact,
)
from common.memory_api.operations import (
    CLEAR_MEMORY,
    DELETE_FACT,
    FACT_HISTORY,
    LIST_FACTS,
    PUT_FACT,
    RESTORE_FACT,
)
from common.problems import ProblemCode
from gateway.authentication.caller import CurrentOwner, NamedOwner
from gateway.dependencies import Memory
from gateway.openapi import WITH_BODY, problems
from gateway.preferences.schemas import FactEdit, FactKey, VersionToRestore

router = APIRouter(prefix="/api/preferences", tags=["preferences"])

_OF_A_USER = problems(ProblemCode.FORBIDDEN, ProblemCode.NOT_FOUND, ProblemCode.INVALID_REQUEST)


@router.get("", summary="What is remembered about you", responses=problems(ProblemCode.INVALID_REQUEST))
async def list_own_facts(owner: CurrentOwner, memory: Memory, category: MemoryCategory | None = None) -> Facts:
    return await memory.ask(LIST_FACTS, ListFacts(owner=owner, category=category))


@router.get("/{user_id}", summary="What is remembered about a user", responses=_OF_A_USER)
async def list_facts(owner: NamedOwner, memory: Memory, category: MemoryCategory | None = None) -> Facts:
    return await memory.ask(LIST_FACTS, ListFacts(owner=owner, category=category))


@router.put(
    "/{user_id}/{key:path}",
    summary="Write a fact in your own words",
    responses=problems(ProblemCode.FORBIDDEN, ProblemCode.FACT_REFUSED, ProblemCode.FACT_OUTDATED, *WITH_BODY),
)
async def put_fact(key: FactKey, edit: FactEdit, owner: NamedOwner, memory: Memory) -> Fact:
    proposed = ProposedFact(key=key, value=edit.value, category=edit.category)
    return await memory.ask(PUT_FACT, PutFact(owner=owner, proposed=proposed))


@router.delete("/{user_id}/{key:path}", status_code=204, summary="Forget one fact", responses=_OF_A_USER)
async def delete_fact(key: FactKey, owner: NamedOwner, memory: Memory) -> None:
    await memory.ask(DELETE_FACT, FactKeyRequest(owner=owner, key=key))


@router.delete("/{user_id}", summary="Forget everything", responses=_OF_A_USER)
async def clear_memory(owner: NamedOwner, memory: Memory) -> Cleared:
    """Deletes all facts and their copies, and ends your open sessions; nothing brings them back."""
    return await memory.ask(CLEAR_MEMORY, ClearMemory(owner=owner, request_id=new_id()))


@router.get("/{user_id}/{key:path}/history", summary="What a fact said before", responses=_OF_A_USER)
async def get_history(key: FactKey, owner: NamedOwner, memory: Memory) -> History:
    return await memory.ask(FACT_HISTORY, FactKeyRequest(owner=owner, key=key))


@router.post(
    "/{user_id}/restore",
    summary="Bring an earlier version back",
    responses=problems(ProblemCode.FORBIDDEN, ProblemCode.NOT_FOUND, ProblemCode.FACT_REFUSED, *WITH_BODY),
)
async def restore_fact(version: VersionToRestore, owner: NamedOwner, memory: Memory) -> Fact:
    return await memory.ask(RESTORE_FACT, RestoreFact(owner=owner, version_id=version.version_id))
