"""Evidence, candidates and contradictions in memory's own ingest and `save_memory`."""

import pytest
from tests.support.memory_service import ATurn, MemoryService

from common.memory_api import operations as op
from common.memory_api.base import OwnedRequest, Owner
from common.memory_api.facts import (
    Candidate,
    CandidateRequest,
    FactAction,
    FactKeyRequest,
    FactOutcome,
    MemoryCategory,
    ProposedFact,
    PutFact,
)
from common.memory_api.operations import Service

NO_PLASTIC = ProposedFact(key="material_avoid", value="不要塑料", category="constraint")


async def curate(memory: MemoryService, owner: Owner, words: str, *proposed: ProposedFact) -> list[FactOutcome]:
    return await memory.curate(await memory.complete(owner, words), *proposed)


async def actions(memory: MemoryService, owner: Owner, words: str, *proposed: ProposedFact) -> list[FactAction]:
    return [outcome.action for outcome in await curate(memory, owner, words, *proposed)]


async def candidates(memory: MemoryService, owner: Owner) -> list[Candidate]:
    answer = await memory.call(Service.GATEWAY, op.LIST_CANDIDATES, OwnedRequest(owner=owner))
    return list(answer.candidates)


async def values(memory: MemoryService, owner: Owner) -> dict[str, str]:
    return {key: fact.value for key, fact in (await memory.facts(owner)).items()}


async def put(memory: MemoryService, owner: Owner, key: str, value: str) -> None:
    edit = PutFact(owner=owner, proposed=ProposedFact(key=key, value=value, category="constraint"))
    await memory.call(Service.GATEWAY, op.PUT_FACT, edit)


async def test_what_is_only_shown_waits_for_a_second_turn(memory: MemoryService, owner: Owner) -> None:
    assert await actions(memory, owner, "不要塑料的水杯", NO_PLASTIC) == [FactAction.CANDIDATE]
    assert await values(memory, owner) == {}
    assert [candidate.value for candidate in await candidates(memory, owner)] == ["不要塑料"]
    under_another_key = NO_PLASTIC.model_copy(update={"key": "plastic_avoid"})
    assert await actions(memory, owner, "饭盒也不要塑料", under_another_key) == [FactAction.ADDED]
    assert (await memory.facts(owner))["plastic_avoid"].evidence == 2, "both turns support it"
    assert await candidates(memory, owner) == []


async def test_the_same_turn_again_is_no_second_turn(memory: MemoryService, owner: Owner) -> None:
    twice = [NO_PLASTIC, NO_PLASTIC.model_copy(update={"key": "plastic_avoid"})]
    assert await actions(memory, owner, "不要塑料的水杯", *twice) == [FactAction.CANDIDATE] * 2
    assert await values(memory, owner) == {}
    assert len(await candidates(memory, owner)) == 1


async def test_what_the_words_do_not_hold_waits_for_the_user_however_often(memory: MemoryService, owner: Owner) -> None:
    guess = ProposedFact(key="style", value="偏爱极简北欧风格")
    asked = set()
    for _ in range(3):
        assert await actions(memory, owner, "推荐一盏台灯", guess) == [FactAction.CANDIDATE]
        asked |= {candidate.candidate_id for candidate in await candidates(memory, owner)}
    assert len(asked) == 1, "the same question, which the user may be answering just now"
    assert await values(memory, owner) == {}


async def test_a_guess_is_no_first_turn(memory: MemoryService, owner: Owner) -> None:
    assert await actions(memory, owner, "推荐一个水杯", NO_PLASTIC) == [FactAction.CANDIDATE]
    assert await actions(memory, owner, "不要塑料的水杯", NO_PLASTIC) == [FactAction.CANDIDATE]
    assert await actions(memory, owner, "饭盒也不要塑料", NO_PLASTIC) == [FactAction.ADDED]


async def test_saying_it_answers_the_question(memory: MemoryService, owner: Owner) -> None:
    await curate(memory, owner, "推荐一个水杯", NO_PLASTIC)
    assert await actions(memory, owner, "我从来不要塑料的东西", NO_PLASTIC) == [FactAction.ADDED]
    assert await candidates(memory, owner) == []


@pytest.mark.parametrize("words", ["推荐一个水杯", "不要塑料的水杯"])
async def test_a_refused_guess_is_not_asked_again(memory: MemoryService, owner: Owner, words: str) -> None:
    await curate(memory, owner, "推荐一个水杯", NO_PLASTIC)
    (waiting,) = await candidates(memory, owner)
    refused = CandidateRequest(owner=owner, candidate_id=waiting.candidate_id)
    await memory.call(Service.GATEWAY, op.REFUSE_CANDIDATE, refused)
    again = await actions(memory, owner, words, NO_PLASTIC)
    if words == "推荐一个水杯":
        assert again == [FactAction.DELETED_BY_USER]
        assert await candidates(memory, owner) == []
    else:
        assert again == [FactAction.CANDIDATE], "the user's own newer words may bring it back"


async def test_a_refusal_names_its_rule_and_leaves_nothing(memory: MemoryService, owner: Owner) -> None:
    proposed = ProposedFact(key="peanut_allergy", value="对花生过敏", category="constraint", evidence="我妈对花生过敏")
    (outcome,) = await curate(memory, owner, "我妈对花生过敏，帮她找零食", proposed)
    assert (outcome.action, outcome.rule, outcome.value) == (FactAction.REFUSED, "evidence-other-person", None)
    assert await values(memory, owner) == {}
    assert await candidates(memory, owner) == []


async def test_another_persons_fact_is_kept_as_theirs(memory: MemoryService, owner: Owner) -> None:
    own = ProposedFact(key="peanut_allergy", value="对花生不过敏")
    await curate(memory, owner, "我对花生不过敏", own)
    mothers = ProposedFact(key="peanut_allergy", value="妈妈对花生过敏", category="constraint")
    assert await actions(memory, owner, "我妈妈对花生过敏", mothers) == [FactAction.ADDED]
    facts = await memory.facts(owner)
    assert {key: fact.subject for key, fact in facts.items()} == {
        "peanut_allergy": "self",
        "mother_peanut_allergy": "mother",
    }


async def test_a_key_carries_no_value(memory: MemoryService, owner: Owner) -> None:
    size = ProposedFact(key="shoe_size_42", value="42", category="context")
    colour = ProposedFact(key="likes_blue", value="喜欢蓝色")
    added, refused = await curate(memory, owner, "我平时穿 42 码的鞋，喜欢蓝色", size, colour)
    assert (added.action, added.key) == (FactAction.ADDED, "shoe_size")
    assert (refused.action, refused.rule) == (FactAction.REFUSED, "key-names-value")
    assert await values(memory, owner) == {"shoe_size": "42"}


async def test_a_contradiction_under_another_key_overwrites_the_old_state(memory: MemoryService, owner: Owner) -> None:
    await put(memory, owner, "material_avoid", "不要塑料")
    fine_now = ProposedFact(key="plastic_rule", value="塑料的也可以了")
    (outcome,) = await curate(memory, owner, "塑料的也可以了", fine_now)
    assert (outcome.action, outcome.key) == (FactAction.UPDATED, "material_avoid")
    assert await values(memory, owner) == {"material_avoid": "塑料的也可以了"}
    history = await memory.call(Service.GATEWAY, op.FACT_HISTORY, FactKeyRequest(owner=owner, key="material_avoid"))
    assert [version.value for version in history.versions] == ["不要塑料"]


async def test_an_older_turn_does_not_contradict_a_newer_word(memory: MemoryService, owner: Owner) -> None:
    older = await memory.complete(owner, "塑料的也可以了")
    await put(memory, owner, "material_avoid", "不要塑料")
    fine_now = ProposedFact(key="plastic_rule", value="塑料的也可以了")
    assert [each.action for each in await memory.curate(older, fine_now)] == [FactAction.OUTDATED]
    assert await values(memory, owner) == {"material_avoid": "不要塑料"}


async def test_no_contradiction_stays_beside_an_update_of_its_own_key(memory: MemoryService, owner: Owner) -> None:
    for key in ("material_avoid", "bottle_rule"):
        await put(memory, owner, key, "不要塑料")
    await curate(memory, owner, "塑料的也可以了", ProposedFact(key="bottle_rule", value="塑料的也可以了"))
    assert set((await values(memory, owner)).values()) == {"塑料的也可以了"}


async def test_an_extension_is_kept_and_not_taken_for_a_repetition(memory: MemoryService, owner: Owner) -> None:
    await curate(
        memory, owner, "I like running and cycling", ProposedFact(key="sport", value="likes running and cycling")
    )
    more = ProposedFact(key="sport_habit", value="likes running, cycling and yoga")
    assert await actions(memory, owner, "I like running, cycling and yoga", more) == [FactAction.ADDED]


async def test_an_empty_answer_deletes_nothing(memory: MemoryService, owner: Owner) -> None:
    await put(memory, owner, "nut_allergy", "对坚果过敏")
    assert await curate(memory, owner, "推荐零食") == []
    assert await values(memory, owner) == {"nut_allergy": "对坚果过敏"}


async def working_turn(memory: MemoryService, owner: Owner, words: str) -> ATurn:
    turn = await memory.accept(owner, words)
    await memory.claim(turn)
    return turn


@pytest.mark.parametrize(
    ("words", "action", "rule"),
    [
        ("记住我不吃坚果", FactAction.ADDED, None),
        ("推荐零食", FactAction.CANDIDATE, None),
        ("零食不要坚果", FactAction.CANDIDATE, None),
        ("这次不吃坚果", FactAction.REFUSED, "evidence-this-turn"),
        ("我朋友不吃坚果", FactAction.REFUSED, "evidence-other-person"),
        ("如果我不吃坚果，就换一款", FactAction.REFUSED, "evidence-supposed"),
    ],
)
async def test_save_memory_is_under_the_same_rule(
    memory: MemoryService, owner: Owner, words: str, action: FactAction, rule: str | None
) -> None:
    turn = await working_turn(memory, owner, words)
    saved = await memory.save(turn, "nut_avoid", "不吃坚果")
    assert (saved.action, saved.rule) == (action, rule)
    again = await memory.save(turn, "nut_avoid", "不吃坚果")
    assert (again.action, again.rule) == (action, rule), "the same call has the same answer"
    facts = await memory.facts(owner)
    assert [fact.category for fact in facts.values()] == ([MemoryCategory.CONSTRAINT] if action.remembered else [])
