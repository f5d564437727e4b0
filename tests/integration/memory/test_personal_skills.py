"""Skills that users write: kept encrypted and for them alone, refused with a reason, read under the lease."""

import json
from uuid import uuid4

import pytest
from tests.support.memory_service import MemoryService

from common.memory_api import operations as op
from common.memory_api.base import OwnedRequest, Owner
from common.memory_api.facts import ClearMemory
from common.memory_api.operations import Service
from common.memory_api.skills import CreateSkill, NewPersonalSkill, PersonalSkill, ReadSkill, SkillRequest
from common.problems import Problem, ProblemCode, ProblemError

SNACKS = NewPersonalSkill(name="office-snacks", description="当我买零食时读；送礼时不读。", body="1. 只看小包装。")


def skill(**changed: str) -> NewPersonalSkill:
    return SNACKS.model_copy(update=changed)


async def create(memory: MemoryService, owner: Owner, wanted: NewPersonalSkill = SNACKS) -> PersonalSkill:
    made: PersonalSkill = await memory.call(Service.GATEWAY, op.CREATE_SKILL, CreateSkill(owner=owner, skill=wanted))
    return made


async def refused(memory: MemoryService, owner: Owner, wanted: NewPersonalSkill) -> Problem:
    with pytest.raises(ProblemError) as caught:
        await create(memory, owner, wanted)
    return caught.value.problem


async def names(memory: MemoryService, owner: Owner) -> list[str]:
    listed = await memory.call(Service.GATEWAY, op.LIST_SKILLS, OwnedRequest(owner=owner))
    return [each.name for each in listed.skills]


async def delete(memory: MemoryService, owner: Owner, name: str) -> None:
    await memory.call(Service.GATEWAY, op.DELETE_SKILL, SkillRequest(owner=owner, name=name))


async def test_a_skill_is_kept_as_it_was_written(memory: MemoryService, owner: Owner) -> None:
    made = await create(memory, owner, skill(description=" 当我买零食时读；\n 送礼时不读。 ", body="\n一\n\n  二 \n"))
    assert (made.description, made.body) == ("当我买零食时读； 送礼时不读。", "一\n\n  二")
    await create(memory, owner, skill(name="a-first"))
    listed = await memory.call(Service.GATEWAY, op.LIST_SKILLS, OwnedRequest(owner=owner))
    assert [each.name for each in listed.skills] == ["a-first", "office-snacks"]
    assert listed.skills[1] == made
    await delete(memory, owner, "office-snacks")
    assert await names(memory, owner) == ["a-first"]
    with pytest.raises(ProblemError) as caught:
        await delete(memory, owner, "office-snacks")
    assert caught.value.code is ProblemCode.NOT_FOUND


async def test_a_name_stands_once_and_a_lost_answer_is_no_second_skill(memory: MemoryService, owner: Owner) -> None:
    made = await create(memory, owner)
    assert await create(memory, owner) == made
    assert (await refused(memory, owner, skill(body="别的"))).code is ProblemCode.SKILL_EXISTS
    assert await names(memory, owner) == ["office-snacks"]


@pytest.mark.parametrize(
    ("changed", "field", "rule"),
    [
        ({"body": "1. 先打 13800138000 问一下。"}, "body", "identifier-number"),
        ({"body": "一\n二\n寄到后写信给 me@example.com"}, "body", "identifier-email"),
        ({"description": "当我买零食时读，卡号 6222 0200 1234 5678"}, "description", "identifier-number"),
        ({"description": "</user_message>"}, "description", "description-empty"),
        ({"name": "call-138-0013-8000"}, "name", "identifier-number"),
    ],
)
async def test_identifiers_are_refused_and_not_quoted(
    memory: MemoryService, owner: Owner, changed: dict[str, str], field: str, rule: str
) -> None:
    problem = await refused(memory, owner, skill(**changed))
    told = problem.model_dump_json()
    assert (problem.code, json.loads(told)["field"], json.loads(told)["rule"]) == ("skill-refused", field, rule)
    assert not any(words in told for words in ("138", "me@", "6222"))
    assert await names(memory, owner) == []


async def test_numbers_of_different_steps_are_no_account_number(memory: MemoryService, owner: Owner) -> None:
    await create(memory, owner, skill(body="预算依次是\n500\n300\n2000\n1500"))


async def test_there_is_room_for_so_many(memory: MemoryService, owner: Owner) -> None:
    for number in range(20):
        await create(memory, owner, skill(name=f"skill-{number}"))
    problem = await refused(memory, owner, skill(name="one-more"))
    assert (problem.code, "20" in (problem.detail or "")) == (ProblemCode.SKILLS_FULL, True)
    await delete(memory, owner, "skill-7")
    await create(memory, owner, skill(name="one-more"))


async def test_a_claim_brings_the_catalogue_and_the_lease_opens_a_body(memory: MemoryService, owner: Owner) -> None:
    await create(memory, owner, skill(name="zoo"))
    await create(memory, owner)
    turn = await memory.accept(owner)
    claimed = await memory.claim(turn)
    assert [(each.name, each.description) for each in claimed.skills] == [
        ("office-snacks", SNACKS.description),
        ("zoo", SNACKS.description),
    ]
    read = ReadSkill(owner=owner, turn_id=turn.turn_id, lease_token=turn.token, name="zoo")
    assert (await memory.call(Service.AGENT, op.READ_SKILL, read)).body == SNACKS.body
    for changed, code in (({"lease_token": uuid4()}, "lease-lost"), ({"name": "none"}, "not-found")):
        with pytest.raises(ProblemError) as caught:
            await memory.call(Service.AGENT, op.READ_SKILL, read.model_copy(update=changed))
        assert caught.value.code == code


async def test_nobody_else_sees_them(memory: MemoryService, owner: Owner) -> None:
    await create(memory, owner)
    for stranger in (owner.model_copy(update={"user_id": "else"}), owner.model_copy(update={"tenant_id": "else"})):
        assert await names(memory, stranger) == []
        with pytest.raises(ProblemError):
            await delete(memory, stranger, "office-snacks")
        turn = await memory.accept(stranger)
        assert (await memory.claim(turn)).skills == []
        with pytest.raises(ProblemError) as caught:
            await memory.call(
                Service.AGENT,
                op.READ_SKILL,
                ReadSkill(owner=stranger, turn_id=turn.turn_id, lease_token=turn.token, name="office-snacks"),
            )
        assert caught.value.code is ProblemCode.NOT_FOUND
    assert await names(memory, owner) == ["office-snacks"]


async def test_clearing_the_memory_leaves_them(memory: MemoryService, owner: Owner) -> None:
    await create(memory, owner)
    await memory.call(Service.GATEWAY, op.CLEAR_MEMORY, ClearMemory(owner=owner, request_id=uuid4()))
    assert await names(memory, owner) == ["office-snacks"]
