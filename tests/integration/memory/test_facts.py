"""Facts: one row per key, versions, evidence counted once, candidates, dedupe, recall, read your writes."""

import asyncio
from uuid import uuid4

import pytest
from tests.support.memory_service import MemoryService

from common.memory_api import operations as op
from common.memory_api.base import OwnedRequest, Owner
from common.memory_api.dispatch import CheckInvariants
from common.memory_api.facts import (
    CandidateRequest,
    FactAction,
    FactEditRequest,
    FactKeyRequest,
    ProposedFact,
    PutFact,
    ReadFacts,
    Recall,
    RestoreFact,
    SaveFact,
)
from common.memory_api.operations import Service
from common.memory_api.turns import Behaviour, FinishTurn, MemoryUse
from common.memory_api.user_data import BehaviourKind
from common.problems import ProblemCode, ProblemError

NUTS = ProposedFact(key="nut_allergy", value="对坚果过敏", category="constraint", evidence="我对坚果过敏")


async def put(memory: MemoryService, owner: Owner, key: str, value: str) -> None:
    edit = PutFact(owner=owner, proposed=ProposedFact(key=key, value=value))
    await memory.call(Service.GATEWAY, op.PUT_FACT, edit)


async def candidates(memory: MemoryService, owner: Owner) -> list[str]:
    waiting = await memory.call(Service.GATEWAY, op.LIST_CANDIDATES, OwnedRequest(owner=owner))
    return [candidate.value for candidate in waiting.candidates]


async def test_a_turn_supports_a_fact_once_and_another_turn_again(memory: MemoryService, owner: Owner) -> None:
    assert [each.action for each in await memory.curate(await memory.complete(owner), NUTS, NUTS)] == [
        FactAction.ADDED,
        FactAction.SUPPORTED,
    ]
    assert (await memory.facts(owner))["nut_allergy"].evidence == 1
    assert [each.action for each in await memory.curate(await memory.complete(owner), NUTS)] == [FactAction.SUPPORTED]
    assert (await memory.facts(owner))["nut_allergy"].evidence == 2


async def test_a_repeated_ingest_has_one_effect_and_the_same_answer(memory: MemoryService, owner: Owner) -> None:
    turn = await memory.complete(owner)
    token = uuid4()
    await memory.claim_curation(turn, token)
    first = await memory.ingest(turn, token, NUTS)
    assert await memory.ingest(turn, token, NUTS) == first
    assert (await memory.facts(owner))["nut_allergy"].evidence == 1


async def test_at_most_three_facts_of_a_turn_are_taken(memory: MemoryService, owner: Owner) -> None:
    many = [
        ProposedFact(key=f"{name}_preference", value=f"喜欢{value}")
        for name, value in zip(
            ("music", "sport", "drink", "style"), ("爵士乐", "游泳", "乌龙茶", "北欧风"), strict=True
        )
    ]
    turn = await memory.complete(owner, "我喜欢爵士乐，喜欢游泳，喜欢乌龙茶，喜欢北欧风")
    assert len(await memory.curate(turn, *many)) == 3
    assert set(await memory.facts(owner)) == {"music_preference", "sport_preference", "drink_preference"}


async def test_the_same_value_under_another_key_is_evidence_and_not_a_second_fact(
    memory: MemoryService, owner: Owner
) -> None:
    await memory.curate(await memory.complete(owner), NUTS)
    twin = ProposedFact(key="allergy", value="对坚果过敏", evidence="我对坚果过敏")
    assert [each.action for each in await memory.curate(await memory.complete(owner), twin)] == [FactAction.DUPLICATE]
    facts = await memory.facts(owner)
    assert set(facts) == {"nut_allergy"}
    assert facts["nut_allergy"].evidence == 2


async def test_a_changed_value_overwrites_and_the_old_one_can_be_seen_and_restored(
    memory: MemoryService, owner: Owner
) -> None:
    await put(memory, owner, "material_avoid", "不要塑料")
    await put(memory, owner, "material_avoid", "塑料的也可以了")
    assert (await memory.facts(owner))["material_avoid"].value == "塑料的也可以了"
    key = FactKeyRequest(owner=owner, key="Material Avoid")
    (version,) = (await memory.call(Service.GATEWAY, op.FACT_HISTORY, key)).versions
    assert version.value == "不要塑料"
    restored = RestoreFact(owner=owner, version_id=version.version_id)
    assert (await memory.call(Service.GATEWAY, op.RESTORE_FACT, restored)).value == "不要塑料"
    assert len((await memory.call(Service.GATEWAY, op.FACT_HISTORY, key)).versions) == 2


async def test_an_accepted_candidate_is_the_users_own_word(memory: MemoryService, owner: Owner) -> None:
    guess = ProposedFact(key="style", value="偏爱极简北欧风格")
    assert [each.action for each in await memory.curate(await memory.complete(owner), guess)] == [FactAction.CANDIDATE]
    assert await memory.facts(owner) == {}
    (candidate,) = (await memory.call(Service.GATEWAY, op.LIST_CANDIDATES, OwnedRequest(owner=owner))).candidates
    accepted = CandidateRequest(owner=owner, candidate_id=candidate.candidate_id)
    fact = await memory.call(Service.GATEWAY, op.ACCEPT_CANDIDATE, accepted)
    assert (await memory.facts(owner))["style"].source == "user"
    again = await memory.call(Service.GATEWAY, op.ACCEPT_CANDIDATE, accepted)
    assert again == fact, "a lost answer, asked for again"
    later = ProposedFact(key="style", value="喜欢中式家具", category="preference")
    await memory.call(Service.GATEWAY, op.PUT_FACT, PutFact(owner=owner, proposed=later))
    with pytest.raises(ProblemError) as caught:  # the fact that it made is there no more
        await memory.call(Service.GATEWAY, op.ACCEPT_CANDIDATE, accepted)
    assert caught.value.code is ProblemCode.NOT_FOUND


async def test_an_identifier_is_refused_on_every_path(memory: MemoryService, owner: Owner) -> None:
    phone = ProposedFact(key="contact", value="13800138000", evidence="13800138000")
    with pytest.raises(ProblemError) as caught:
        await memory.call(Service.GATEWAY, op.PUT_FACT, PutFact(owner=owner, proposed=phone))
    assert caught.value.code is ProblemCode.FACT_REFUSED
    assert "13800138000" not in caught.value.problem.model_dump_json()
    turn = await memory.accept(owner, "我的电话是 13800138000")
    head = (await memory.claim(turn)).head
    saved = await memory.save(turn, "contact", "13800138000")
    assert (saved.action, saved.rule, saved.value) == (FactAction.REFUSED, "identifier-number", None)
    await memory.finish(turn, head)
    (outcome,) = await memory.curate(turn, phone)
    assert (outcome.action, outcome.value) == (FactAction.REFUSED, None)
    assert await memory.facts(owner) == {}


async def test_deleting_what_is_not_there_is_told(memory: MemoryService, owner: Owner) -> None:
    with pytest.raises(ProblemError) as caught:
        await memory.call(Service.GATEWAY, op.DELETE_FACT, FactKeyRequest(owner=owner, key="nothing"))
    assert caught.value.code is ProblemCode.NOT_FOUND


async def test_recall_finds_by_substring_in_keys_values_and_behaviour(memory: MemoryService, owner: Owner) -> None:
    await put(memory, owner, "nut_allergy", "对坚果过敏")
    await put(memory, owner, "shoe_size", "42 码")
    turn = await memory.accept(owner)
    head = (await memory.claim(turn)).head
    facts = await memory.facts(owner)
    await memory.call(
        Service.AGENT,
        op.FINISH_TURN,
        FinishTurn(
            owner=owner,
            turn_id=turn.turn_id,
            lease_token=turn.token,
            expected_head=head,
            reply="好",
            behaviour=[Behaviour(kind=BehaviourKind.SEARCH, text="无坚果零食")],
            memory_uses=[
                MemoryUse(fact_id=facts["shoe_size"].fact_id, how="injected"),
                MemoryUse(fact_id=uuid4(), how="recalled"),
            ],
        ),
    )
    found = await memory.call(Service.AGENT, op.RECALL, Recall(owner=owner, topic="坚果"))
    assert [fact.key for fact in found.facts] == ["nut_allergy"]
    assert found.behaviour == ["search: 无坚果零食"]
    by_key = await memory.call(Service.AGENT, op.RECALL, Recall(owner=owner, topic="shoe size"))
    assert [fact.key for fact in by_key.facts] == ["shoe_size"]
    following = await memory.accept(owner, "再来", turn.session_id)
    assert [entry.text for entry in (await memory.claim(following)).behaviour] == ["无坚果零食"]


async def test_a_turn_reads_what_the_turn_before_is_still_being_curated_to(memory: MemoryService, owner: Owner) -> None:
    before = await memory.complete(owner)
    following = await memory.accept(owner, "推荐零食")
    reading = asyncio.create_task(
        memory.call(Service.AGENT, op.READ_FACTS, ReadFacts(owner=owner, turn_id=following.turn_id))
    )
    await memory.curate(before, NUTS)
    assert [fact.key for fact in (await reading).facts] == ["nut_allergy"]


async def test_a_turn_does_not_wait_for_ever(memory: MemoryService, owner: Owner) -> None:
    await memory.complete(owner)
    following = await memory.accept(owner, "推荐零食")
    read = await memory.call(Service.AGENT, op.READ_FACTS, ReadFacts(owner=owner, turn_id=following.turn_id))
    assert read.facts == []


async def test_concurrent_writers_of_one_user_leave_a_clean_table(memory: MemoryService, owner: Owner) -> None:
    turns = [await memory.complete(owner, f"我喜欢第{number}种颜色") for number in range(4)]

    async def curate(number: int) -> None:
        fact = ProposedFact(key="colour", value=f"喜欢第{number}种颜色")
        await memory.curate(turns[number], fact)

    await asyncio.gather(*(curate(n) for n in range(4)), *(put(memory, owner, f"own_{n}", "v") for n in range(4)))
    facts = await memory.facts(owner)
    assert facts["colour"].value == "喜欢第3种颜色", "the newest turn, whoever came last"
    report = await memory.call(Service.OPERATOR, op.CHECK_INVARIANTS, CheckInvariants())
    assert report.clean, report.violations


async def test_a_repetition_takes_nothing_away(memory: MemoryService, owner: Owner) -> None:
    edit = PutFact(owner=owner, proposed=NUTS)
    await memory.call(Service.GATEWAY, op.PUT_FACT, edit)
    weaker = NUTS.model_copy(update={"category": "preference"})
    assert [each.action for each in await memory.curate(await memory.complete(owner), weaker)] == [FactAction.SUPPORTED]
    turn = await memory.accept(owner, "我对坚果过敏")
    head = (await memory.claim(turn)).head
    await memory.call(
        Service.AGENT,
        op.SAVE_FACT,
        SaveFact(owner=owner, turn_id=turn.turn_id, lease_token=turn.token, call_id="c", proposed=weaker),
    )
    await memory.finish(turn, head)
    assert (await memory.facts(owner))["nut_allergy"].category == "constraint"
    other_value = PutFact(owner=owner, proposed=ProposedFact(key="nut_allergy", value="对坚果和花生过敏"))
    assert (await memory.call(Service.GATEWAY, op.PUT_FACT, other_value)).category == "constraint", "not named, so kept"


async def test_the_curator_does_not_take_over_what_the_user_wrote(memory: MemoryService, owner: Owner) -> None:
    await memory.call(Service.GATEWAY, op.PUT_FACT, PutFact(owner=owner, proposed=NUTS))
    await memory.curate(await memory.complete(owner), NUTS)
    assert (await memory.facts(owner))["nut_allergy"].source == "user"


async def test_save_memory_needs_the_users_words_too(memory: MemoryService, owner: Owner) -> None:
    """The model still sees the old memory block in its session: a deleted fact must not come back from there."""
    first = await memory.complete(owner)
    await memory.curate(first, NUTS)
    deleted = FactKeyRequest(owner=owner, key="nut_allergy")
    await memory.call(Service.GATEWAY, op.DELETE_FACT, deleted)
    later = await memory.accept(owner, "推荐一把雨伞", first.session_id)
    await memory.claim(later)
    assert (await memory.save(later, "nut_allergy", "对坚果过敏")).action is FactAction.DELETED_BY_USER
    assert await memory.facts(owner) == {}
    assert await candidates(memory, owner) == [], "nor is the user asked about it again"


async def test_refusing_a_guess_leaves_the_fact_of_its_key_alone(memory: MemoryService, owner: Owner) -> None:
    await put(memory, owner, "style", "红色")
    guess = ProposedFact(key="style", value="偏爱极简北欧风格")
    await memory.curate(await memory.complete(owner), guess)
    (waiting,) = (await memory.call(Service.GATEWAY, op.LIST_CANDIDATES, OwnedRequest(owner=owner))).candidates
    refused = CandidateRequest(owner=owner, candidate_id=waiting.candidate_id)
    await memory.call(Service.GATEWAY, op.REFUSE_CANDIDATE, refused)
    assert (await memory.facts(owner))["style"].value == "红色"
    report = await memory.call(Service.OPERATOR, op.CHECK_INVARIANTS, CheckInvariants())
    assert report.clean, report.violations


async def test_deleting_twice_is_deleting_once(memory: MemoryService, owner: Owner) -> None:
    await put(memory, owner, "style", "红色")
    deleted = FactKeyRequest(owner=owner, key="style")
    for _ in range(2):
        await memory.call(Service.GATEWAY, op.DELETE_FACT, deleted)


async def test_a_turn_waits_for_the_curation_and_not_only_for_luck(memory: MemoryService, owner: Owner) -> None:
    """The read returns only after the curation, also where it was asked for long before."""
    before = await memory.complete(owner)
    following = await memory.accept(owner, "推荐零食")
    token = uuid4()
    await memory.claim_curation(before, token)
    reading = asyncio.create_task(
        memory.call(Service.AGENT, op.READ_FACTS, ReadFacts(owner=owner, turn_id=following.turn_id))
    )
    await memory.facts(owner)  # a whole round trip, in which the read would have been answered
    assert not reading.done()
    await memory.ingest(before, token, NUTS)
    assert [fact.key for fact in (await reading).facts] == ["nut_allergy"]


async def test_a_save_that_is_repeated_does_not_claim_what_the_user_has_deleted_since(
    memory: MemoryService, owner: Owner
) -> None:
    """The agent was killed after the save, and its later attempt makes the same call."""
    turn = await memory.accept(owner, "我对坚果过敏")
    await memory.claim(turn)
    saved = await memory.save(turn, "nut_allergy", "对坚果过敏")
    assert saved.action is FactAction.ADDED
    assert await memory.save(turn, "nut_allergy", "对坚果过敏") == saved
    await memory.call(Service.GATEWAY, op.DELETE_FACT, FactEditRequest(owner=owner, key="nut_allergy"))
    again = await memory.save(turn, "nut_allergy", "对坚果过敏")
    assert (again.action, again.value) == (FactAction.DELETED_BY_USER, None)
    assert await memory.facts(owner) == {}
