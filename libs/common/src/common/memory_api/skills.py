"""Skills, by the public SKILL.md specification (agentskills.io), and those that users write for themselves."""

from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, Field, StringConstraints

from common.memory_api.base import LeasedRequest, Message, OwnedRequest
from common.text import storable

NAME_MAX = 64
DESCRIPTION_MAX = 1_024
BODY_MAX = 8_000
"""Characters, which the specification leaves open: a body stays in the conversation once it is read."""
BODY_MAX_LINES = 500

SkillName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=NAME_MAX)]
"""Lower-case letters, digits and single hyphens between them."""

SkillDescription = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=DESCRIPTION_MAX),
    AfterValidator(storable),
]
"""When to read the skill, and when not."""


def _few_lines(body: str) -> str:
    if len(body.splitlines()) > BODY_MAX_LINES:
        raise ValueError(f"should have at most {BODY_MAX_LINES} lines")
    return body


SkillBody = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=BODY_MAX),
    AfterValidator(storable),
    AfterValidator(_few_lines),
]
"""What to do, step by step, in Markdown."""


class PersonalSkillEntry(Message):
    """A line of the user's own catalogue. The model knows the skill as `my/<name>`."""

    name: SkillName
    description: SkillDescription


class NewPersonalSkill(PersonalSkillEntry):
    body: SkillBody


class PersonalSkill(NewPersonalSkill):
    created_at: AwareDatetime


class PersonalSkills(Message):
    skills: list[PersonalSkill] = Field(description="By name")


class CreateSkill(OwnedRequest):
    """Answered with `skill-exists` where one of that name stands: there is no overwriting by accident. The same skill
    once more is the same creation (a lost answer)."""

    skill: NewPersonalSkill


class SkillRequest(OwnedRequest):
    name: SkillName


class ReadSkill(LeasedRequest):
    """The body of one of the user's skills, for the turn that holds the lease."""

    name: SkillName
