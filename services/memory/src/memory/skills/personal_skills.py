"""Skills that users write for themselves: the user creates, lists and deletes them, the model reads them.

They are settings rather than memory: nobody but the user writes them, so clearing the memory leaves them, and erasing
takes them.
"""

import json
from typing import Any

from sqlalchemy import Text, bindparam, delete, func, insert, select

from common.logs import get_logger
from common.memory_api.base import Done, OwnedRequest
from common.memory_api.dispatch import WorkKind
from common.memory_api.skills import (
    CreateSkill,
    NewPersonalSkill,
    PersonalSkill,
    PersonalSkillEntry,
    PersonalSkills,
    ReadSkill,
    SkillRequest,
)
from common.problems import ProblemCode, ProblemError
from memory.database.connection import Row
from memory.database.schema import personal_skills
from memory.database.statements import Statement
from memory.database.transactions import UserTransaction
from memory.dispatch.records import lock_work, must_hold_lease
from memory.encryption.cipher import Place
from memory.skills.gate import REFUSAL_MESSAGE, SkillRefusal, validate_skill
from memory.users import lock_user, own

_log = get_logger(__name__)

_DESCRIPTION = "personal_skills.description"
_BODY = "personal_skills.body"

_ALL = select(personal_skills).where(own(personal_skills))
_ONE = Statement(_ALL.where(personal_skills.c.name == bindparam("name")))

STORED_CATALOGUE = (
    select(
        func.jsonb_agg(
            func.jsonb_build_object(
                "skill_id",
                personal_skills.c.skill_id,
                "name",
                personal_skills.c.name,
                "description",
                func.encode(personal_skills.c.description, "hex"),
            )
        ).cast(Text)
    )
    .where(own(personal_skills))
    .scalar_subquery()
)
"""The user's catalogue as it is stored, as a value in another query; NULL where there are no skills."""


def open_catalogue(tx: UserTransaction, stored: str | None) -> list[PersonalSkillEntry]:
    """By name, so that the same skills give the same bytes whatever the database's collation."""
    entries = [_entry(tx, row) for row in json.loads(stored or "[]")]
    return sorted(entries, key=lambda entry: entry.name)


def _entry(tx: UserTransaction, row: dict[str, Any]) -> PersonalSkillEntry:
    description = tx.cipher.decrypt(bytes.fromhex(row["description"]), Place(_DESCRIPTION, row["skill_id"]))
    return PersonalSkillEntry(name=row["name"], description=description)


async def list_skills(tx: UserTransaction, _: OwnedRequest) -> PersonalSkills:
    found = [_skill(tx, row) for row in await tx.connection.execute(_ALL)]
    return PersonalSkills(skills=sorted(found, key=lambda skill: skill.name))


async def create_skill(tx: UserTransaction, request: CreateSkill) -> PersonalSkill:
    """Raises ProblemError."""
    checked = validate_skill(request.skill, tx.policy.identifier_rules)
    if isinstance(checked, SkillRefusal):
        _log.info("skill.refused", rule=checked.rule, field=checked.field)
        raise ProblemError(ProblemCode.SKILL_REFUSED, REFUSAL_MESSAGE, rule=checked.rule, field=checked.field)
    await lock_user(tx)
    known = await _find(tx, checked.name)
    if known is not None:
        return _same(known, checked)
    if await tx.connection.scalar(select(func.count()).where(own(personal_skills))) >= tx.policy.max_skills:
        raise ProblemError(ProblemCode.SKILLS_FULL, f"at most {tx.policy.max_skills} skills; delete one first")
    skill_id = tx.new_id()
    await tx.connection.execute(
        insert(personal_skills).values(
            **tx.key,
            skill_id=skill_id,
            name=checked.name,
            description=tx.cipher.encrypt(checked.description, Place(_DESCRIPTION, skill_id)),
            body=tx.cipher.encrypt(checked.body, Place(_BODY, skill_id)),
            created_at=tx.now,
        )
    )
    return PersonalSkill(**checked.model_dump(), created_at=tx.now)


async def delete_skill(tx: UserTransaction, request: SkillRequest) -> Done:
    deleted = (
        delete(personal_skills)
        .where(own(personal_skills), personal_skills.c.name == request.name)
        .returning(personal_skills.c.skill_id)
    )
    if (await tx.connection.execute(deleted)).one_or_none() is None:
        raise ProblemError(ProblemCode.NOT_FOUND)
    return Done()


async def read_skill(tx: UserTransaction, request: ReadSkill) -> PersonalSkill:
    must_hold_lease(await lock_work(tx, WorkKind.TURN, request.turn_id), request.lease_token)
    skill = await _find(tx, request.name)
    if skill is None:
        raise ProblemError(ProblemCode.NOT_FOUND)
    return skill


async def _find(tx: UserTransaction, name: str) -> PersonalSkill | None:
    row = (await tx.connection.execute(_ONE, {"name": name})).one_or_none()
    return None if row is None else _skill(tx, row)


def _same(known: PersonalSkill, wanted: NewPersonalSkill) -> PersonalSkill:
    """The one that stands, where it is the one that is wanted. Raises ProblemError."""
    if known.model_dump(exclude={"created_at"}) != wanted.model_dump():
        raise ProblemError(ProblemCode.SKILL_EXISTS, "delete the skill of this name first")
    return known


def _skill(tx: UserTransaction, row: Row) -> PersonalSkill:
    return PersonalSkill(
        name=row.name,
        description=tx.cipher.decrypt(row.description, Place(_DESCRIPTION, row.skill_id)),
        body=tx.cipher.decrypt(row.body, Place(_BODY, row.skill_id)),
        created_at=row.created_at,
    )
