"""Long-term memory: facts, what became of proposed ones, and the user's own edits."""

from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import AwareDatetime, Field, StringConstraints

from common.memory_api.base import LeasedRequest, Message, OwnedRequest
from common.text import StorableText

KEY_MAX = 64
VALUE_MAX = 200
MAX_NEW_FACTS = 3
TIER_ONE_CAP = 8
RECALL_MAX_ENTRIES = 20

# The wire accepts more than the gate, so that the gate (and not the parser) says what is wrong with a fact.
_WireKey = Annotated[StorableText, StringConstraints(max_length=1_000)]
_WireValue = Annotated[StorableText, StringConstraints(max_length=10_000)]


class MemoryCategory(StrEnum):
    CONSTRAINT = "constraint"
    PREFERENCE = "preference"
    CONTEXT = "context"


class FactSource(StrEnum):
    SAVE_MEMORY = "save_memory"
    CURATOR = "curator"
    USER = "user"
    IMPORT = "import"


class Fact(Message):
    """One thing known about the user. `key` is its identity, (seq, rank, run) the order of its last writer."""

    fact_id: UUID
    key: str
    value: str
    category: MemoryCategory
    subject: str = "self"
    source: FactSource
    seq: int
    session_id: UUID | None
    turn_id: UUID | None
    evidence: int = Field(ge=0, description="Number of turns that support the fact")
    created_at: AwareDatetime
    updated_at: AwareDatetime


class FactVersion(Message):
    """A value that was overwritten; the user can see it and bring it back."""

    version_id: UUID
    key: str
    value: str
    category: MemoryCategory
    source: FactSource
    seq: int
    replaced_at: AwareDatetime


class FactAction(StrEnum):
    """What became of a proposed fact."""

    ADDED = "added"
    UPDATED = "updated"
    SUPPORTED = "supported"
    DUPLICATE = "duplicate"
    OUTDATED = "outdated"
    DELETED_BY_USER = "deleted_by_user"
    CANDIDATE = "candidate"
    REFUSED = "refused"

    @property
    def remembered(self) -> bool:
        """Whether the user may be told 「记住了」."""
        return self in (FactAction.ADDED, FactAction.UPDATED)


class FactOutcome(Message):
    key: str | None = Field(description="None where the key itself was the identifier")
    action: FactAction
    category: MemoryCategory | None = None
    value: str | None = Field(default=None, description="Only where it was remembered")
    rule: str | None = Field(default=None, description="Id of the rule that refused it")


class ProposedFact(Message):
    key: _WireKey
    value: _WireValue
    category: StorableText | None = Field(
        default=None, description="None keeps what the fact has; a new one is a preference"
    )
    evidence: StorableText | None = Field(default=None, description="The user's words it rests on")


class ReadFacts(OwnedRequest):
    """The facts a turn works with. Waits up to 1.5 s for the curation of the user's turn before this one."""

    turn_id: UUID | None = None


class Facts(Message):
    facts: list[Fact]


class SaveFact(LeasedRequest):
    """`save_memory`: keyed by (turn, call id), so that a second attempt has one effect."""

    call_id: Annotated[StorableText, StringConstraints(min_length=1, max_length=128)]
    proposed: ProposedFact


class Recall(OwnedRequest):
    topic: StorableText


class Recalled(Message):
    """At most RECALL_MAX_ENTRIES of each, newest first."""

    facts: list[Fact]
    behaviour: list[str]


class ListFacts(OwnedRequest):
    category: MemoryCategory | None = None


class PutFact(OwnedRequest):
    """An edit by the user: takes the next seq and overwrites whatever older turns wrote."""

    proposed: ProposedFact


class FactKeyRequest(OwnedRequest):
    key: _WireKey


class History(Message):
    versions: list[FactVersion]


class RestoreFact(OwnedRequest):
    version_id: UUID


class Candidate(Message):
    """A value the user's words did not support on their own; it waits for the user's word."""

    candidate_id: UUID
    key: str
    value: str
    category: MemoryCategory
    turn_id: UUID
    created_at: AwareDatetime


class Candidates(Message):
    candidates: list[Candidate]


class CandidateRequest(OwnedRequest):
    candidate_id: UUID


class ClearMemory(OwnedRequest):
    """`request_id` makes a repeated call (a lost answer) the same clear: it ends nothing that began after it."""

    request_id: UUID


class Cleared(Message):
    purge_generation: int
    facts: int = Field(description="Number of facts deleted")
    sessions_ended: int
    turns_ended: int
