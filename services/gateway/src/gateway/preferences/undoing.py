"""Undo: what a fact said before is restored, unless the fact has changed since it was looked at.

Two operations of memory, each of which may be repeated. One that turned back "the last change" could not: a repeat,
after a lost answer, would turn back the turning back.
"""

from common.memory_api.base import Owner
from common.memory_api.facts import Fact, FactKeyRequest, Precondition, RestoreFact
from common.memory_api.operations import GET_FACT, RESTORE_FACT
from common.problems import ProblemCode, ProblemError
from gateway.memory_service import MemoryService


async def undo_last_change(memory: MemoryService, owner: Owner, key: str, given: Precondition) -> Fact:
    """Raises ProblemError."""
    seen = await memory.ask(GET_FACT, FactKeyRequest(owner=owner, key=key))
    if not seen.versions:
        raise ProblemError(ProblemCode.NOTHING_TO_UNDO)
    stands_at = Precondition(revision=seen.fact.revision)
    if given.must_be_new or given.revision not in (None, "*", seen.fact.revision):
        raise ProblemError(ProblemCode.PRECONDITION_FAILED)
    version_id = seen.versions[0].version_id
    return await memory.ask(RESTORE_FACT, RestoreFact(owner=owner, version_id=version_id, precondition=stands_at))
