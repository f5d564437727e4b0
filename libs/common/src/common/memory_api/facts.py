"""Long-term memory: facts, what became of proposed ones, and the user's own edits."""

from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import AwareDatetime, Field, StringConstraints

from common.memory_api.base import CallId, LeasedRequest, Message, OwnedRequest
from common.text import StorableText

KEY_MAX = 64
VALUE_MAX = 200
MAX_NEW_FACTS = 3
TIER_ONE_CAP = 8
RECALL_MAX_ENTRIES = 20
IMPORT_MAX_FACTS = 1_000
PAGE_MAX_FACTS = 500

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
    revision: str = Field(default="", description="Changes with every write; the entity tag of the preference API")
    confidence: float = Field(default=1.0, ge=0.0, le=1.0, description="How well the user's words carry it")
    importance: float = Field(default=1.0, ge=0.0, le=1.0, description="What a miss costs, by category")
    last_used_at: AwareDatetime | None = Field(default=None, description="When a turn was last shown it")


class FactVersion(Message):
    """A value that was overwritten; the user can see it and bring it back."""

    version_id: UUID
    key: str
    value: str
    category: MemoryCategory
    source: FactSource
    seq: int
    replaced_at: AwareDatetime
    subject: str = "self"
    session_id: UUID | None = Field(default=None, description="Where it was said; gone once that session has expired")
    turn_id: UUID | None = None
    written_at: AwareDatetime | None = None


class FactEvidence(Message):
    """A turn whose words support a fact."""

    turn_id: UUID
    session_id: UUID
    source: FactSource
    created_at: AwareDatetime


class FactDetail(Message):
    """A fact with where it comes from: the turns it rests on, and what it said before."""

    fact: Fact
    versions: list[FactVersion] = Field(description="Newest first")
    evidence: list[FactEvidence] = Field(description="Newest first")
    expires_at: AwareDatetime | None = Field(description="When it will be forgotten unless it is said or used again")


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


class SessionFact(Message):
    """What `save_memory` could not store because memory did not answer: it holds for its session alone."""

    turn_id: UUID = Field(description="The turn in which it was said")
    key: str
    value: str
    category: MemoryCategory


class UnsavedFact(Message):
    """A `save_memory` call of an earlier turn of the session that got no answer."""

    turn_id: UUID
    proposed: ProposedFact


class ReadFacts(OwnedRequest):
    """The facts a turn works with. Waits up to 1.5 s for the curation of the user's turn before this one.

    `unsaved` is what the session still holds to; memory answers which of it would have been stored and has not been
    overtaken by a newer word.
    """

    turn_id: UUID | None = None
    unsaved: list[UnsavedFact] = Field(default_factory=list, max_length=50)


class Facts(Message):
    facts: list[Fact]


class TurnFacts(Facts):
    session_facts: list[SessionFact] = Field(default_factory=list, description="In the order in which they were said")


class FactPage(Facts):
    """Newest first, ties by key. `next_cursor` is None on the last page."""

    next_cursor: str | None = None
    memory_enabled: bool = Field(default=True, description="False where ENABLE_MEMORY is off: nothing is used or added")


class SaveFact(LeasedRequest):
    """`save_memory`: keyed by (turn, call id), so that a second attempt has one effect."""

    call_id: CallId
    proposed: ProposedFact


class Recall(OwnedRequest):
    topic: StorableText


class Recalled(Message):
    """At most RECALL_MAX_ENTRIES of each, newest first."""

    facts: list[Fact]
    behaviour: list[str]
    memory_enabled: bool = True


class ListFacts(OwnedRequest):
    """`text` is a part of a key or value; `cursor` is the `next_cursor` of the page before."""

    category: MemoryCategory | None = None
    source: FactSource | None = None
    text: Annotated[StorableText, StringConstraints(max_length=200)] | None = None
    cursor: Annotated[StorableText, StringConstraints(max_length=400)] | None = None
    limit: int = Field(default=100, ge=1, le=PAGE_MAX_FACTS)


Revision = Annotated[str, StringConstraints(pattern=r"^(\*|[0-9]{1,20}\.[0-9]{1,5}\.[0-9]{1,10})$")]
"""A fact's `revision`, or `*` for any."""


class Precondition(Message):
    """What must hold for an edit to apply; else it is refused with `precondition-failed` and nothing changes."""

    revision: Revision | None = Field(default=None, description="The fact stands at this revision (`*`: at any)")
    must_be_new: bool = Field(default=False, description="There is no fact of this key")


class ConditionalRequest(OwnedRequest):
    precondition: Precondition = Precondition()


class PutFact(ConditionalRequest):
    """An edit by the user: takes the next seq and overwrites whatever older turns wrote."""

    proposed: ProposedFact


class FactKeyRequest(OwnedRequest):
    key: _WireKey


class FactEditRequest(FactKeyRequest, ConditionalRequest):
    """Delete a fact."""


class History(Message):
    versions: list[FactVersion]


class RestoreFact(ConditionalRequest):
    version_id: UUID


class ImportFacts(OwnedRequest):
    """Facts that the user brings along. They pass the gate like any other write, as the user's newest word."""

    proposed: list[ProposedFact] = Field(max_length=IMPORT_MAX_FACTS)


class Imported(Message):
    """What became of each, in the order of the request."""

    outcomes: list[FactOutcome]


class Candidate(Message):
    """A value the user's words did not support on their own; it waits for the user's word."""

    candidate_id: UUID
    key: str
    value: str
    category: MemoryCategory
    turn_id: UUID
    created_at: AwareDatetime
    session_id: UUID | None = None


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
