"""What a client sends about one remembered fact."""

from typing import Annotated
from uuid import UUID

from fastapi import Path
from pydantic import ConfigDict, StringConstraints

from common.memory_api.base import Message
from common.memory_api.facts import MemoryCategory
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
