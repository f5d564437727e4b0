"""The preference page's side of memory: pages, sources, lost edits, undo, the cap, import, and memory switched off."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from tests.support.memory_service import MemoryService, memory_settings, serving_memory

from common.memory_api import operations as op
from common.memory_api.base import OwnedRequest, Owner
from common.memory_api.dispatch import WorkId, WorkKind, WorkState
from common.memory_api.facts import (
    CandidateRequest,
    Fact,
    FactAction,
    FactDetail,
    FactEditRequest,
    FactKeyRequest,
    FactPage,
    FactSource,
    ImportFacts,
    ListFacts,
    MemoryCategory,
    Precondition,
    ProposedFact,
    PutFact,
    ReadFacts,
    Recall,
    RestoreFact,
)
from common.memory_api.operations import Service
from common.memory_api.turns import Behaviour, FinishTurn
from common.memory_api.user_data import BehaviourKind
from common.problems import ProblemCode, ProblemError
from devstack.database import DatabaseUrls

NUTS = ProposedFact(key="nut_allergy", value="对坚果过敏", category="constraint", evidence="我对坚果过敏")


async def ask(memory: MemoryService, operation: op.Operation[Any, Any], request: Any) -> Any:
    return await memory.call(Service.GATEWAY, operation, request)


async def put(memory: MemoryService, owner: Owner, key: str, value: str, **precondition: Any) -> Fact:
    edit = PutFact(owner=owner, proposed=ProposedFact(key=key, value=value), precondition=Precondition(**precondition))
    fact: Fact = await ask(memory, op.PUT_FACT, edit)
    return fact


async def detail(memory: MemoryService, owner: Owner, key: str) -> FactDetail:
    found: FactDetail = await ask(memory, op.GET_FACT, FactKeyRequest(owner=owner, key=key))
    return found


async def refused(work: Any) -> ProblemCode:
    with pytest.raises(ProblemError) as caught:
        await work
    return caught.value.code


async def test_pages_hold_every_fact_once_whatever_is_written_meanwhile(memory: MemoryService, owner: Owner) -> None:
    words = "甲乙丙丁戊己庚辛壬癸"
    outcomes = (
        await ask(
            memory,
            op.IMPORT_FACTS,
            ImportFacts(owner=owner, proposed=[ProposedFact(key=f"k{n}", value=word) for n, word in enumerate(words)]),
        )
    ).outcomes
    assert {outcome.action for outcome in outcomes} == {FactAction.ADDED}
    seen: list[str] = []
    cursor = None
    while True:
        page: FactPage = await ask(memory, op.LIST_FACTS, ListFacts(owner=owner, limit=3, cursor=cursor))
        seen += [fact.key for fact in page.facts]
        cursor = page.next_cursor
        if cursor is None:
            break
        await put(memory, owner, f"newer{len(seen)}", "后写的")
    assert seen == [f"k{n}" for n in range(len(words))]


async def test_what_is_no_cursor_is_told(memory: MemoryService, owner: Owner) -> None:
    for cursor in ("x", "!!!", "MTI=", "ü", ""):
        assert await refused(ask(memory, op.LIST_FACTS, ListFacts(owner=owner, cursor=cursor))) in (
            ProblemCode.INVALID_REQUEST,
        ), cursor


async def test_facts_are_filtered_by_category_source_and_text(memory: MemoryService, owner: Owner) -> None:
    await memory.curate(await memory.complete(owner), NUTS)
    await put(memory, owner, "shoe_size", "42 码")
    await put(memory, owner, "snack_choice", "无坚果的零食")

    async def keys(**chosen: Any) -> list[str]:
        page = await ask(memory, op.LIST_FACTS, ListFacts(owner=owner, **chosen))
        return [fact.key for fact in page.facts]

    assert await keys() == ["snack_choice", "shoe_size", "nut_allergy"]
    assert await keys(text="坚果") == ["snack_choice", "nut_allergy"]
    assert await keys(text="坚果", source=FactSource.USER) == ["snack_choice"]
    assert await keys(category=MemoryCategory.CONSTRAINT) == ["nut_allergy"]
    assert await keys(text="shoe_size") == await keys(text="Shoe Size") == ["shoe_size"]


async def test_a_fact_tells_where_it_comes_from_and_what_it_said(memory: MemoryService, owner: Owner) -> None:
    first = await memory.complete(owner)
    await memory.curate(first, NUTS)
    second = await memory.complete(owner)
    await memory.curate(second, NUTS)
    known = await detail(memory, owner, "Nut Allergy")
    assert (known.fact.turn_id, known.fact.session_id) == (first.turn_id, first.session_id)
    assert [each.turn_id for each in known.evidence] == [second.turn_id, first.turn_id]
    assert known.expires_at is None, "a constraint expires only by its user's word"
    assert known.fact.confidence > 0.7
    await put(memory, owner, "nut_allergy", "只对花生过敏")
    (version,) = (await detail(memory, owner, "nut_allergy")).versions
    assert (version.value, version.turn_id, version.source) == ("对坚果过敏", first.turn_id, FactSource.CURATOR)


async def test_of_two_edits_at_once_one_is_told_that_it_came_late(memory: MemoryService, owner: Owner) -> None:
    seen = (await put(memory, owner, "style", "简约")).revision
    answers = await asyncio.gather(
        *(put(memory, owner, "style", value, revision=seen) for value in ("北欧", "复古")), return_exceptions=True
    )
    (late,) = (answer for answer in answers if isinstance(answer, ProblemError))
    assert late.code is ProblemCode.PRECONDITION_FAILED
    (version,) = (await detail(memory, owner, "style")).versions
    assert version.value == "简约"


async def test_a_curation_makes_an_edit_come_late_too(memory: MemoryService, owner: Owner) -> None:
    await memory.curate(await memory.complete(owner), NUTS)
    seen = (await detail(memory, owner, "nut_allergy")).fact.revision
    await memory.curate(await memory.complete(owner), NUTS)
    for late in (
        put(memory, owner, "nut_allergy", "无", revision=seen),
        ask(
            memory,
            op.DELETE_FACT,
            FactEditRequest(owner=owner, key="nut_allergy", precondition=Precondition(revision=seen)),
        ),
    ):
        assert await refused(late) is ProblemCode.PRECONDITION_FAILED


async def test_a_repeated_edit_whose_answer_was_lost_is_not_late(memory: MemoryService, owner: Owner) -> None:
    seen = (await put(memory, owner, "style", "简约", must_be_new=True)).revision
    assert (await put(memory, owner, "style", "简约", must_be_new=True)).revision == seen
    changed = await put(memory, owner, "style", "北欧", revision=seen)
    assert (await put(memory, owner, "style", "北欧", revision=seen)) == changed
    version_id = (await detail(memory, owner, "style")).versions[0].version_id
    restore = RestoreFact(owner=owner, version_id=version_id, precondition=Precondition(revision=changed.revision))
    assert (await ask(memory, op.RESTORE_FACT, restore)) == (await ask(memory, op.RESTORE_FACT, restore))
    assert len((await detail(memory, owner, "style")).versions) == 2
    assert await refused(put(memory, owner, "style", "复古", must_be_new=True)) is ProblemCode.PRECONDITION_FAILED
    assert await refused(put(memory, owner, "new", "x", revision="*")) is ProblemCode.PRECONDITION_FAILED


async def test_an_import_passes_the_gate_and_is_the_users_newest_word(memory: MemoryService, owner: Owner) -> None:
    older = await memory.complete(owner)
    await put(memory, owner, "style", "简约")
    lines = [
        ProposedFact(key="style", value="北欧"),
        ProposedFact(key="contact", value="13800138000"),
        ProposedFact(key="nut_allergy", value="没有坚果过敏", category="constraint"),
        ProposedFact(key="style", value="复古"),
        ProposedFact(key="style", value="复古"),
    ]
    outcomes = (await ask(memory, op.IMPORT_FACTS, ImportFacts(owner=owner, proposed=lines))).outcomes
    assert [(each.action, each.rule) for each in outcomes] == [
        (FactAction.UPDATED, None),
        (FactAction.REFUSED, "identifier-number"),
        (FactAction.ADDED, None),
        (FactAction.UPDATED, None),
        (FactAction.SUPPORTED, None),
    ]
    assert [each.action for each in await memory.curate(older, NUTS)] == [FactAction.OUTDATED]
    facts = await memory.facts(owner)
    assert {key: (fact.value, fact.source) for key, fact in facts.items()} == {
        "style": ("复古", "import"),
        "nut_allergy": ("没有坚果过敏", "import"),
    }


@pytest.fixture(scope="module")
async def small(
    module_database: DatabaseUrls, valkey: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[MemoryService]:
    """A memory of two facts and two candidates."""
    settings = memory_settings(
        module_database, valkey, tmp_path_factory.mktemp("memory"), memory_max_facts=2, memory_max_candidates=2
    )
    async with serving_memory(settings) as service:
        yield service


async def test_a_full_memory_says_so_to_everybody_who_writes(small: MemoryService, owner: Owner) -> None:
    await put(small, owner, "style", "简约")
    await put(small, owner, "shoe_size", "42")
    assert await refused(put(small, owner, "colour", "蓝")) is ProblemCode.MEMORY_FULL
    turn = await small.accept(owner, "记住我对坚果过敏")
    head = (await small.claim(turn)).head
    saved = await small.save(turn, "nut_allergy", "对坚果过敏")
    assert (saved.action, saved.rule) == (FactAction.REFUSED, "memory-full")
    await small.finish(turn, head)
    (outcome,) = await small.curate(turn, NUTS)
    assert (outcome.action, outcome.rule) == (FactAction.REFUSED, "memory-full")
    imported = ImportFacts(owner=owner, proposed=[ProposedFact(key="style", value="北欧"), NUTS])
    outcomes = (await ask(small, op.IMPORT_FACTS, imported)).outcomes
    assert [(each.action, each.rule) for each in outcomes] == [
        (FactAction.UPDATED, None),
        (FactAction.REFUSED, "memory-full"),
    ], "what is there can still be changed"
    await ask(small, op.DELETE_FACT, FactEditRequest(owner=owner, key="style"))
    assert (await put(small, owner, "colour", "蓝")).key == "colour"


async def test_candidates_that_nobody_looks_at_do_not_grow_for_ever(small: MemoryService, owner: Owner) -> None:
    ideas = {"tea_choice": "爱喝龙井和白茶", "reading": "睡前常看推理小说", "music": "偏好现场爵士乐队"}
    guesses = [ProposedFact(key=key, value=value) for key, value in ideas.items()]
    outcomes = await small.curate(await small.complete(owner), *guesses)
    assert [(each.action, each.rule) for each in outcomes] == [
        (FactAction.CANDIDATE, None),
        (FactAction.CANDIDATE, None),
        (FactAction.REFUSED, "candidates-full"),
    ]
    waiting = (await ask(small, op.LIST_CANDIDATES, OwnedRequest(owner=owner))).candidates
    await ask(small, op.REFUSE_CANDIDATE, CandidateRequest(owner=owner, candidate_id=waiting[0].candidate_id))
    outcomes = await small.curate(await small.complete(owner), guesses[2])
    assert [each.action for each in outcomes] == [FactAction.CANDIDATE], "whoever decides makes room"


@pytest.fixture(scope="module")
async def switched_off(
    module_database: DatabaseUrls, valkey: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[MemoryService]:
    """The same database with ENABLE_MEMORY=false."""
    settings = memory_settings(module_database, valkey, tmp_path_factory.mktemp("memory"), enable_memory=False)
    async with serving_memory(settings) as service:
        yield service


async def test_switched_off_memory_is_neither_used_nor_added_to_and_says_so(
    memory: MemoryService, switched_off: MemoryService, owner: Owner
) -> None:
    await put(memory, owner, "style", "简约")
    waiting = await memory.complete(owner)  # its curation is still to come when memory is switched off
    guess = ProposedFact(key="guess", value="完全没有说过的事情")
    await memory.curate(await memory.complete(owner), guess)

    turn = await switched_off.accept(owner, "记住我对坚果过敏")
    head = (await switched_off.claim(turn)).head
    read = ReadFacts(owner=owner, turn_id=turn.turn_id)
    assert (await switched_off.call(Service.AGENT, op.READ_FACTS, read)).facts == []
    recalled = await switched_off.call(Service.AGENT, op.RECALL, Recall(owner=owner, topic=""))
    assert (recalled.facts, recalled.memory_enabled) == ([], False)
    saved = await switched_off.save(turn, "nut_allergy", "对坚果过敏")
    assert (saved.action, saved.rule) == (FactAction.REFUSED, "memory-disabled")
    await switched_off.finish(turn, head)
    assert await refused(switched_off.claim_curation(turn, uuid4())) is ProblemCode.NOT_FOUND, "no record was made"
    assert await refused(switched_off.claim_curation(waiting, uuid4())) is ProblemCode.ALREADY_DONE

    page = await ask(switched_off, op.LIST_FACTS, ListFacts(owner=owner))
    assert ([fact.key for fact in page.facts], page.memory_enabled) == (["style"], False)
    (candidate,) = (await ask(switched_off, op.LIST_CANDIDATES, OwnedRequest(owner=owner))).candidates
    accept = CandidateRequest(owner=owner, candidate_id=candidate.candidate_id)
    for write in (
        put(switched_off, owner, "style", "北欧"),
        ask(switched_off, op.IMPORT_FACTS, ImportFacts(owner=owner, proposed=[NUTS])),
        ask(switched_off, op.ACCEPT_CANDIDATE, accept),
    ):
        assert await refused(write) is ProblemCode.MEMORY_DISABLED
    # What is theirs stays theirs.
    assert (await detail(switched_off, owner, "style")).fact.value == "简约"
    await ask(switched_off, op.REFUSE_CANDIDATE, accept)
    await ask(switched_off, op.DELETE_FACT, FactEditRequest(owner=owner, key="style"))
    assert (await switched_off.clear(owner)).facts == 0
    work = await memory.call(Service.OPERATOR, op.SHOW_WORK, work_of(waiting.turn_id))
    assert (work.state, work.error_code) == (WorkState.DONE, "memory-disabled")


def work_of(turn_id: UUID) -> WorkId:
    return WorkId(kind=WorkKind.CURATE_TURN, subject_id=turn_id)


async def test_recall_looks_far_back_and_tells_twenty(memory: MemoryService, owner: Owner) -> None:
    turn = await memory.accept(owner)
    head = (await memory.claim(turn)).head
    searches = [Behaviour(kind=BehaviourKind.SEARCH, text=f"帐篷 {n}") for n in range(25)]
    searches += [Behaviour(kind=BehaviourKind.SEARCH, text=f"雨伞 {n}") for n in range(30)]
    await memory.call(
        Service.AGENT,
        op.FINISH_TURN,
        FinishTurn(
            owner=owner,
            turn_id=turn.turn_id,
            lease_token=turn.token,
            expected_head=head,
            reply="好",
            behaviour=searches,
        ),
    )
    found = await memory.call(Service.AGENT, op.RECALL, Recall(owner=owner, topic="帐篷"))
    assert found.behaviour == [f"search: 帐篷 {n}" for n in range(24, 4, -1)]
