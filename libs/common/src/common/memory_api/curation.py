"""Curation: what the curator is given, and what it hands back."""

from uuid import UUID

from pydantic import Field

from common.memory_api.base import LeasedRequest, Message
from common.memory_api.facts import Fact, FactOutcome, ProposedFact
from common.memory_api.turns import ModelCall


class ClaimCuration(LeasedRequest):
    run: int = Field(ge=0)


class CurationInput(Message):
    """The user's words, the final reply and the known facts; nothing else: no tool results, no P_t."""

    turn_id: UUID
    session_id: UUID
    seq: int
    purge_generation: int
    attempt: int
    lease_seconds: float
    user_text: str
    reply: str
    facts: list[Fact]


class Ingest(LeasedRequest):
    """Candidates of one run; gate, evidence, dedupe, order, upsert and the record's end are one transaction."""

    run: int = Field(ge=0)
    proposed: list[ProposedFact]
    model_call: ModelCall | None = None
    earlier_calls: list[ModelCall] = Field(default=[], description="Calls before it whose answers could not be used")


class Ingested(Message):
    outcomes: list[FactOutcome]


class FailCuration(LeasedRequest):
    run: int = Field(ge=0)
    error_code: str = Field(max_length=64)
    spend_attempt: bool = Field(default=True, description="False where a dependency was down")
    model_calls: list[ModelCall] = Field(default=[], description="What the failed curation has cost")
