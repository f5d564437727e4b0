"""Your own skills: how you want a certain kind of shopping done. The assistant knows them as `my/<name>`."""

from typing import Annotated

from fastapi import APIRouter, Body, Path

from common.memory_api.base import OwnedRequest
from common.memory_api.operations import CREATE_SKILL, DELETE_SKILL, LIST_SKILLS
from common.memory_api.skills import (
    CreateSkill,
    NewPersonalSkill,
    PersonalSkill,
    PersonalSkills,
    SkillName,
    SkillRequest,
)
from common.problems import ProblemCode
from gateway.authentication.caller import CurrentOwner
from gateway.dependencies import Memory
from gateway.openapi import WITH_BODY, problems

router = APIRouter(prefix="/api/skills", tags=["skills"])

_EXAMPLE = {
    "name": "office-snacks",
    "description": "当我要买办公室零食时读；给别人挑礼物时不读。",
    "body": "1. 只看独立小包装。\n2. 先看配料里有没有坚果，再看价格。\n3. 给三件，标出每百克的价钱。",
}
_CREATE = (ProblemCode.SKILL_REFUSED, ProblemCode.SKILL_EXISTS, ProblemCode.SKILLS_FULL, *WITH_BODY)


@router.get("", summary="Your own skills")
async def list_skills(owner: CurrentOwner, memory: Memory) -> PersonalSkills:
    return await memory.ask(LIST_SKILLS, OwnedRequest(owner=owner))


@router.post("", status_code=201, summary="Write a skill", responses=problems(*_CREATE))
async def create_skill(
    skill: Annotated[NewPersonalSkill, Body(examples=[_EXAMPLE])], owner: CurrentOwner, memory: Memory
) -> PersonalSkill:
    """By the public SKILL.md specification: the description says when to read it and when not. The assistant follows
    it in your conversations as your wish, within the rules it has. In force from the next turn on."""
    return await memory.ask(CREATE_SKILL, CreateSkill(owner=owner, skill=skill))


@router.delete(
    "/{name}",
    status_code=204,
    summary="Delete a skill",
    responses=problems(ProblemCode.NOT_FOUND, ProblemCode.INVALID_REQUEST),
)
async def delete_skill(name: Annotated[SkillName, Path()], owner: CurrentOwner, memory: Memory) -> None:
    await memory.ask(DELETE_SKILL, SkillRequest(owner=owner, name=name))
