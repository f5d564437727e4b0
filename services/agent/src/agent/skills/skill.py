"""One skill: a SKILL.md file by the public specification (agentskills.io)."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from agent.context.markdown import InvalidMarkdown, read_document
from common.memory_api.skills import SkillBody, SkillDescription, SkillName

FILE_NAME = "SKILL.md"


class _File(BaseModel):
    """The specification's frontmatter fields and no others, and the body that follows them."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: SkillName
    description: SkillDescription
    body: SkillBody
    license: str | None = None
    compatibility: Annotated[str, StringConstraints(max_length=500)] | None = None
    metadata: dict[str, str] = Field(default_factory=dict)
    allowed_tools: str | None = Field(default=None, alias="allowed-tools")


class Skill(BaseModel):
    """`description` is one line: when to read the skill and when not. `body` has no frontmatter."""

    model_config = ConfigDict(frozen=True)

    name: str
    description: str
    body: str


def read_skill(text: str, folder: str) -> Skill:
    """The skill in a file of the folder of that name. Raises InvalidMarkdown."""
    document = read_document(text)
    if "body" in document.fields:
        raise InvalidMarkdown("body: no field of the frontmatter")
    try:
        file = _File.model_validate({**document.fields, "body": document.body})
    except ValidationError as error:
        where = {str(found["loc"][0]): found["msg"] for found in error.errors(include_input=False)}
        raise InvalidMarkdown("; ".join(f"{name}: {message}" for name, message in where.items())) from None
    if file.name != folder:
        raise InvalidMarkdown(f"name: not that of its folder, {folder}")
    return Skill(name=file.name, description=" ".join(file.description.split()), body=file.body)
