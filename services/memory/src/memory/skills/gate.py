"""What a personal skill may hold: anything but identifiers, which the rules of the facts' gate look for."""

from collections.abc import Sequence
from dataclasses import dataclass

from common.memory_api.skills import NewPersonalSkill
from memory.facts.gate import IdentifierRule, find_identifier
from memory.facts.gate.line import one_line

REFUSAL_MESSAGE = "技能里只写做法，不写账号、卡号、证件或联系方式 · A skill says what to do and holds no identifiers"

DESCRIPTION_EMPTY = "description-empty"


@dataclass(frozen=True)
class SkillRefusal:
    """Which rule refuses which field; never the words."""

    field: str
    rule: str


def validate_skill(skill: NewPersonalSkill, rules: Sequence[IdentifierRule]) -> NewPersonalSkill | SkillRefusal:
    """The skill in its stored form (the description on one line and without marks), or why not.

    Bodies are looked at line by line: numbers that stand in different steps are no account number.
    """
    description = one_line(skill.description)
    if not description:
        return SkillRefusal("description", DESCRIPTION_EMPTY)
    lines = [("name", skill.name.replace("-", " ")), ("description", description)]
    lines += [("body", line) for line in skill.body.splitlines()]
    for field, line in lines:
        if (rule := find_identifier(line, rules)) is not None:
            return SkillRefusal(field, rule)
    return skill.model_copy(update={"description": description})
