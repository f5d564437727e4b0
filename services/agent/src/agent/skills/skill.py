"""One skill: a SKILL.md file by the public specification (agentskills.io)."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from agent.context.markdown import InvalidMarkdown, read_document

FILE_NAME = "SKILL.md"
BODY_MAX_LINES = 500

_Text = StringConstraints(strip_whitespace=True, min_length=1)


class _Frontmatter(BaseModel):
    """The specification's fields and no others."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)]
    description: Annotated[str, _Text, StringConstraints(max_length=1_024)]
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
    try:
        fields = _Frontmatter.model_validate(document.fields)
    except ValidationError as error:
        where = {str(found["loc"][0]): found["msg"] for found in error.errors(include_input=False)}
        raise InvalidMarkdown("; ".join(f"{name}: {message}" for name, message in where.items())) from None
    if fields.name != folder:
        raise InvalidMarkdown(f"its name is not that of its folder, {folder}")
    if not document.body:
        raise InvalidMarkdown("it has no body")
    if len(document.body.splitlines()) > BODY_MAX_LINES:
        raise InvalidMarkdown(f"its body has more than {BODY_MAX_LINES} lines")
    return Skill(name=fields.name, description=" ".join(fields.description.split()), body=document.body)
