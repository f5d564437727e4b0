"""The memory service as one claimed curation sees it."""

from collections.abc import Sequence
from typing import Protocol, TypeVar
from uuid import UUID

from common.memory_api import operations
from common.memory_api.base import Message, Owner
from common.memory_api.curation import ClaimCuration, CurationInput, FailCuration, Ingest
from common.memory_api.facts import FactOutcome, ProposedFact
from common.memory_api.operations import Operation
from common.memory_api.turns import ModelCall

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)


class MemoryCaller(Protocol):
    """The port: `common.memory_api.client.MemoryClient` over HTTP, or memory in the same process."""

    async def call(
        self, operation: Operation[Request, Response], request: Request, *, retry_for: float | None = None
    ) -> Response:
        """Raises ProblemError for a clear no, MemoryUnavailable when there was no answer."""


class ClaimedCuration:
    def __init__(self, memory: MemoryCaller, owner: Owner, turn_id: UUID, run: int, lease_token: UUID) -> None:
        self._memory = memory
        self._owner = owner
        self._turn_id = turn_id
        self._run = run
        self._lease_token = lease_token

    async def claim(self) -> CurationInput:
        request = ClaimCuration(owner=self._owner, turn_id=self._turn_id, lease_token=self._lease_token, run=self._run)
        return await self._memory.call(operations.CLAIM_CURATION, request)

    async def ingest(self, proposed: Sequence[ProposedFact], model_calls: Sequence[ModelCall]) -> list[FactOutcome]:
        *earlier, last = model_calls
        request = Ingest(
            owner=self._owner,
            turn_id=self._turn_id,
            lease_token=self._lease_token,
            run=self._run,
            proposed=list(proposed),
            earlier_calls=earlier,
            model_call=last,
        )
        return (await self._memory.call(operations.INGEST, request)).outcomes

    async def fail(self, error_code: str, *, spend_attempt: bool, model_calls: Sequence[ModelCall] = ()) -> None:
        request = FailCuration(
            owner=self._owner,
            turn_id=self._turn_id,
            lease_token=self._lease_token,
            run=self._run,
            error_code=error_code,
            spend_attempt=spend_attempt,
            model_calls=list(model_calls),
        )
        await self._memory.call(operations.FAIL_CURATION, request, retry_for=2.0)
