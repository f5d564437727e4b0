"""What a client sends about remembered facts, and what became of the lines of an import."""

from enum import StrEnum
from typing import Annotated
from uuid import UUID

from fastapi import Path, Query
from pydantic import ConfigDict, Field, StringConstraints

from common.memory_api.base import Message
from common.memory_api.facts import PAGE_MAX_FACTS, FactAction, FactSource, MemoryCategory
from common.text import StorableText

# Wider than a fact may be, so that the one gate of the memory service says what is wrong with it.
FactKey = Annotated[
    StorableText,
    StringConstraints(min_length=1, max_length=1_000),
    Path(description="What the fact is about", examples=["nut_allergy"]),
]


class FactEdit(Message):
    model_config = ConfigDict(json_schema_extra={"examples": [{"value": "对坚果过敏", "category": "constraint"}]})

    value: Annotated[StorableText, StringConstraints(max_length=10_000)]
    category: MemoryCategory | None = None


class VersionToRestore(Message):
    version_id: UUID


class FactFilter(Message):
    """What of the facts to list, and how much of it at once."""

    category: MemoryCategory | None = None
    source: FactSource | None = None
    text: Annotated[StorableText, StringConstraints(max_length=200)] | None = Field(
        default=None, description="Part of a key or a value"
    )
    cursor: Annotated[StorableText, StringConstraints(max_length=400)] | None = Field(
        default=None, description="`next_cursor` of the page before"
    )
    limit: int = Field(default=100, ge=1, le=PAGE_MAX_FACTS)


GivenFilter = Annotated[FactFilter, Query()]


class LineResult(StrEnum):
    """What became of a line: what memory says of a fact, or why it never got that far."""

    ADDED = FactAction.ADDED
    UPDATED = FactAction.UPDATED
    SUPPORTED = FactAction.SUPPORTED
    REFUSED = FactAction.REFUSED
    NOT_A_FACT = "not_a_fact"
    """A record of another type, from an export: left alone."""
    INVALID = "invalid"


class LineOutcome(Message):
    line: int = Field(ge=1)
    result: LineResult
    key: str | None = Field(description="As it is stored; null where the key itself was the identifier")
    rule: str | None = Field(default=None, description="Id of the rule that refused it, or what is wrong with the line")


class ImportOutcome(Message):
    """One outcome for every line that is not blank, in order."""

    lines: list[LineOutcome]
