"""Read your writes: an unstored save holds for its session; a turn waits for a curation unless it has failed."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest
from tests.support.memory_service import ATurn, MemoryService

from common.clock import SystemClock
from common.memory_api import operations as op
from common.memory_api.base import Owner
from common.memory_api.curation import FailCuration
from common.memory_api.facts import FactEditRequest, ProposedFact, PutFact, ReadFacts, TurnFacts, UnsavedFact
from common.memory_api.operations import Service
from memory.app import build_database
from memory.facts.reading import read_facts_for_turn
from memory.policy import Policy

NUTS = ProposedFact(key="nut_allergy", value="对坚果过敏", category="constraint")


class StandingClock(SystemClock):
    """Whoever waits is found out."""

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("waited")


async def read(memory: MemoryService, turn: ATurn, *unsaved: UnsavedFact) -> TurnFacts:
    request = ReadFacts(owner=turn.owner, turn_id=turn.turn_id, unsaved=list(unsaved))
    answer: TurnFacts = await memory.call(Service.AGENT, op.READ_FACTS, request)
    return answer


async def a_lost_save(memory: MemoryService, owner: Owner, text: str = "记住我对坚果过敏") -> tuple[ATurn, ATurn]:
    """The turn whose save got no answer, and the next one of its session."""
    turn = await memory.complete(owner, text)
    await memory.curate(turn)
    return turn, await memory.accept(owner, "推荐零食", turn.session_id)


def held(facts: TurnFacts) -> list[tuple[str, str]]:
    return [(fact.key, fact.value) for fact in facts.session_facts]


def unsaved(turn: ATurn, proposed: ProposedFact = NUTS) -> UnsavedFact:
    return UnsavedFact(turn_id=turn.turn_id, proposed=proposed)


async def test_it_holds_for_its_session_and_is_stored_nowhere(memory: MemoryService, owner: Owner) -> None:
    turn, following = await a_lost_save(memory, owner)
    facts = await read(memory, following, unsaved(turn, NUTS.model_copy(update={"key": "Nut Allergy"})))
    assert held(facts) == [("nut_allergy", "对坚果过敏")]
    assert facts.facts == []
    assert await memory.facts(owner) == {}


@pytest.mark.parametrize(
    "proposed",
    [
        ProposedFact(key="contact", value="13800138000"),
        ProposedFact(key="style", value="偏爱极简北欧风格"),
        ProposedFact(key="nut_allergy", value=""),
    ],
)
async def test_what_would_not_have_been_stored_does_not_hold(
    memory: MemoryService, owner: Owner, proposed: ProposedFact
) -> None:
    """An identifier, what the user never said, what is no fact."""
    turn, following = await a_lost_save(memory, owner, "记住我的电话 13800138000，我对坚果过敏")
    assert held(await read(memory, following, unsaved(turn, proposed))) == []


async def test_the_last_word_of_a_key_holds(memory: MemoryService, owner: Owner) -> None:
    first, _ = await a_lost_save(memory, owner, "记住，都寄德国")
    later, following = await a_lost_save(memory, owner, "记住，都寄法国")
    german, french = (ProposedFact(key="ship_to", value=value) for value in ("都寄德国", "都寄法国"))
    facts = await read(memory, following, unsaved(first, german), unsaved(first, NUTS), unsaved(later, french))
    assert held(facts) == [("ship_to", "都寄法国")]


@pytest.mark.parametrize("word", ["put", "delete", "clear", "curated"])
async def test_a_newer_word_ends_it(memory: MemoryService, owner: Owner, word: str) -> None:
    older = ProposedFact(key="nut_allergy", value="吃坚果没问题")
    await memory.call(Service.GATEWAY, op.PUT_FACT, PutFact(owner=owner, proposed=older))
    turn = await memory.complete(owner, "记住我对坚果过敏")
    await memory.curate(turn, *([NUTS] if word == "curated" else []))
    newer: dict[str, tuple[Any, Any]] = {
        "put": (op.PUT_FACT, PutFact(owner=owner, proposed=ProposedFact(key="nut_allergy", value="其实没有过敏"))),
        "delete": (op.DELETE_FACT, FactEditRequest(owner=owner, key="nut_allergy")),
    }
    following = await memory.accept(owner, "推荐零食", turn.session_id)
    if word in newer:
        assert held(await read(memory, following, unsaved(turn))) == [("nut_allergy", "对坚果过敏")]
        await memory.call(Service.GATEWAY, *newer[word])
    elif word == "clear":
        await memory.clear(owner)
        following = await memory.accept(owner, "推荐零食")
    assert held(await read(memory, following, unsaved(turn))) == []


async def test_nobody_elses_turn_holds_anything(memory: MemoryService, owner: Owner) -> None:
    theirs, _ = await a_lost_save(memory, Owner(tenant_id="t1", user_id=f"u-{uuid4()}"))
    turn = await memory.accept(owner)
    assert held(await read(memory, turn, unsaved(theirs))) == []


async def test_a_turn_does_not_wait_for_a_curation_that_has_failed_once(memory: MemoryService, owner: Owner) -> None:
    before = await memory.complete(owner)
    following = await memory.accept(owner, "推荐零食")
    database = build_database(memory.settings, Policy(), memory.clock)
    request = ReadFacts(owner=owner, turn_id=following.turn_id)
    with pytest.raises(AssertionError, match="waited"):
        await read_facts_for_turn(database, StandingClock(), request)
    token = uuid4()
    await memory.claim_curation(before, token)
    reading = asyncio.create_task(read(memory, following))
    failed = FailCuration(owner=owner, turn_id=before.turn_id, lease_token=token, run=0, error_code="model-unavailable")
    await memory.call(Service.CURATOR, op.FAIL_CURATION, failed)
    assert (await reading).facts == []
    assert (await read_facts_for_turn(database, StandingClock(), request)).facts == []
    await database.close()
