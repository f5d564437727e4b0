"""Promise 4: what the user cleared, deleted or refused never comes back, wherever an older turn happens to be.

Each test brings an older turn to a state, lets the user speak, then lets the older turn try everything it still can.
"""

import asyncio
from collections.abc import Awaitable, Callable
from decimal import Decimal
from uuid import uuid4

import asyncpg
import pytest
from sqlalchemy import select
from tests.support.memory_service import ATurn, MemoryService
from tests.support.waiting import wait_for

from common.memory_api import operations as op
from common.memory_api.base import OwnedRequest, Owner, TurnRequest
from common.memory_api.dispatch import CheckInvariants, WorkId, WorkKind, WorkState
from common.memory_api.facts import (
    CandidateRequest,
    ClearMemory,
    FactAction,
    FactKeyRequest,
    FactSource,
    ProposedFact,
    PutFact,
)
from common.memory_api.operations import Service
from common.memory_api.turns import Behaviour, FinishTurn, ItemCard
from common.memory_api.user_data import BehaviourKind
from common.problems import ProblemCode, ProblemError
from devstack.database import DatabaseUrls
from memory.app import build_database
from memory.database.schema import sessions
from memory.facts.candidates import refuse_candidate
from memory.policy import Policy
from memory.sessions.log import ERASED_PAYLOAD, read_log
from memory.users import own

KEY = "nut_allergy"
NUTS = ProposedFact(key=KEY, value="对坚果过敏", category="constraint", evidence="我对坚果过敏")
SAME_UNDER_ANOTHER_KEY = ProposedFact(
    key="food_rule", value="对坚果过敏", category="constraint", evidence="我对坚果过敏"
)
UNSUPPORTED = ProposedFact(key=KEY, value="喜欢深海捕捞的金枪鱼罐头", category="preference")

CLEAR_NOES = (
    ProblemCode.LEASE_LOST,
    ProblemCode.ALREADY_DONE,
    ProblemCode.GENERATION_CHANGED,
    ProblemCode.NOT_FOUND,
    ProblemCode.HEAD_MOVED,
)

STATES = ("accepted", "claimed", "stepping", "finished", "in_curation", "curated")


class OlderTurn:
    """A turn that said the same before the user spoke, and what it may still try."""

    def __init__(self, memory: MemoryService, turn: ATurn) -> None:
        self._memory = memory
        self._turn = turn
        self._head = 0
        self._curation = uuid4()
        self._proposed: tuple[ProposedFact, ...] = (NUTS, SAME_UNDER_ANOTHER_KEY)

    @classmethod
    async def at(
        cls, memory: MemoryService, owner: Owner, state: str, proposed: ProposedFact | None = None
    ) -> "OlderTurn":
        older = cls(memory, await memory.accept(owner, "我对坚果过敏"))
        if proposed is not None:
            older._proposed = (proposed,)
        steps = {
            "claimed": older._claim,
            "stepping": older._step,
            "finished": older._finish,
            "in_curation": older._claim_curation,
            "curated": older._ingest,
        }
        for name, step in steps.items():
            if STATES.index(name) <= STATES.index(state):
                await step()
        return older

    async def try_everything(self) -> list[FactAction]:
        """Save, finish, be published again and curated, whatever still works; returns what became of the facts."""
        actions: list[FactAction] = []
        for attempt in (self._claim, self._step, self._save, self._finish, self._claim_curation, self._ingest):
            try:
                actions += await attempt() or []
            except ProblemError as problem:
                if problem.code not in CLEAR_NOES:
                    raise
        return actions

    async def _claim(self) -> None:
        self._head = (await self._memory.claim(self._turn)).head

    async def _step(self) -> None:
        self._head = await self._memory.append(self._turn, self._head, '{"role":"user","content":"…"}')

    async def _save(self) -> list[FactAction]:
        return [(await self._memory.save(self._turn, each.key, each.value, each.key)).action for each in self._proposed]

    async def _finish(self) -> None:
        await self._memory.finish(self._turn, self._head)

    async def _claim_curation(self) -> None:
        await self._memory.claim_curation(self._turn, self._curation)

    async def _ingest(self) -> list[FactAction]:
        return [each.action for each in await self._memory.ingest(self._turn, self._curation, *self._proposed)]


async def nothing_is_there(memory: MemoryService, owner: Owner) -> None:
    assert await memory.facts(owner) == {}
    waiting = await memory.call(Service.GATEWAY, op.LIST_CANDIDATES, OwnedRequest(owner=owner))
    assert waiting.candidates == []
    report = await memory.call(Service.OPERATOR, op.CHECK_INVARIANTS, CheckInvariants())
    assert report.clean, report.violations


async def a_new_word_counts(memory: MemoryService, owner: Owner) -> None:
    """What the user says after that is remembered as usual."""
    turn = await memory.complete(owner, "我对坚果过敏")
    assert [each.action for each in await memory.curate(turn, NUTS)] == [FactAction.ADDED]


async def delete(memory: MemoryService, owner: Owner) -> None:
    await memory.call(Service.GATEWAY, op.DELETE_FACT, FactKeyRequest(owner=owner, key=KEY))


async def clear(memory: MemoryService, owner: Owner) -> None:
    await memory.clear(owner)


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("act", [delete, clear])
async def test_a_deleted_or_cleared_fact_stays_away(
    memory: MemoryService, owner: Owner, state: str, act: Callable[[MemoryService, Owner], Awaitable[None]]
) -> None:
    await memory.curate(await memory.complete(owner, "我对坚果过敏"), NUTS)
    assert KEY in await memory.facts(owner)
    older = await OlderTurn.at(memory, owner, state)
    await act(memory, owner)
    actions = await older.try_everything()
    assert not any(action.remembered for action in actions), actions
    await nothing_is_there(memory, owner)
    await a_new_word_counts(memory, owner)


@pytest.mark.parametrize("state", STATES)
async def test_a_refused_candidate_stays_away(memory: MemoryService, owner: Owner, state: str) -> None:
    first = await memory.complete(owner, "我对坚果过敏")
    assert [each.action for each in await memory.curate(first, UNSUPPORTED)] == [FactAction.CANDIDATE]
    older = await OlderTurn.at(memory, owner, state, UNSUPPORTED)
    waiting = await memory.call(Service.GATEWAY, op.LIST_CANDIDATES, OwnedRequest(owner=owner))
    refused = CandidateRequest(owner=owner, candidate_id=waiting.candidates[0].candidate_id)
    await memory.call(Service.GATEWAY, op.REFUSE_CANDIDATE, refused)
    actions = await older.try_everything()
    if state != "curated":  # a repeated ingest of a done record is answered as it was the first time
        assert not any(action.remembered or action is FactAction.CANDIDATE for action in actions), actions
    await nothing_is_there(memory, owner)
    await a_new_word_counts(memory, owner)


async def test_a_clear_ends_what_runs_and_overwrites_what_the_log_held(memory: MemoryService, owner: Owner) -> None:
    turn = await memory.accept(owner)
    await memory.claim(turn)
    await memory.append(turn, 0, '{"role":"user","content":"- [constraint] 坚果"}', bears_memory=True)
    cleared = await memory.clear(owner)
    assert (cleared.turns_ended, cleared.sessions_ended) == (1, 1)
    ended = await memory.call(Service.GATEWAY, op.GET_TURN, TurnRequest(owner=turn.owner, turn_id=turn.turn_id))
    assert ended.reply
    assert ended.failure == "memory-cleared"
    with pytest.raises(ProblemError) as caught:
        await memory.accept(owner, "还在吗", turn.session_id)
    assert caught.value.code is ProblemCode.SESSION_ENDED
    report = await memory.call(Service.OPERATOR, op.CHECK_INVARIANTS, CheckInvariants(settled=False))
    assert report.violations["log_with_gap"] == 0


async def test_a_clear_during_the_curators_model_call_drops_the_whole_batch(
    memory: MemoryService, owner: Owner
) -> None:
    turn = await memory.complete(owner)
    token = uuid4()
    await memory.claim_curation(turn, token)
    await memory.clear(owner)
    for _ in range(2):  # a repeated ingest gets the same answer
        with pytest.raises(ProblemError) as caught:
            await memory.ingest(turn, token, NUTS)
        assert caught.value.code is ProblemCode.GENERATION_CHANGED
    await nothing_is_there(memory, owner)


async def test_save_memory_outranks_the_curator_of_the_same_turn(memory: MemoryService, owner: Owner) -> None:
    turn = await memory.accept(owner, "记住我对坚果过敏，花生也是")
    head = (await memory.claim(turn)).head
    saved = await memory.save(turn, KEY, "对坚果和花生过敏")
    assert saved.action is FactAction.ADDED
    repeated = await memory.save(turn, KEY, "对坚果和花生过敏")
    assert repeated == saved, "a second attempt finds the first one's effect"
    await memory.finish(turn, head)
    outcomes = await memory.curate(turn, NUTS)
    assert [each.action for each in outcomes] == [FactAction.OUTDATED]
    fact = (await memory.facts(owner))[KEY]
    assert (fact.value, fact.source) == ("对坚果和花生过敏", FactSource.SAVE_MEMORY)


async def test_of_two_sessions_the_later_turn_wins_whoever_commits_last(memory: MemoryService, owner: Owner) -> None:
    earlier = await memory.accept(owner, "记住，都寄德国")
    later = await memory.accept(owner, "记住，都寄法国")
    await memory.claim(earlier)
    await memory.claim(later)
    assert (await memory.save(later, "default_ship_to", "法国")).action is FactAction.ADDED
    assert (await memory.save(earlier, "default_ship_to", "德国")).action is FactAction.OUTDATED
    assert (await memory.facts(owner))["default_ship_to"].value == "法国"


async def test_a_users_edit_stands_against_an_older_turn(memory: MemoryService, owner: Owner) -> None:
    turn = await memory.accept(owner, "记住，都寄德国")
    head = (await memory.claim(turn)).head
    edit = PutFact(owner=owner, proposed=ProposedFact(key="Default Ship To", value="日本", category="context"))
    assert (await memory.call(Service.GATEWAY, op.PUT_FACT, edit)).key == "default_ship_to"
    assert (await memory.save(turn, "default_ship_to", "德国")).action is FactAction.OUTDATED
    await memory.finish(turn, head)
    german = ProposedFact(key="default_ship_to", value="德国", evidence="都寄德国")
    assert [each.action for each in await memory.curate(turn, german)] == [FactAction.OUTDATED]
    fact = (await memory.facts(owner))["default_ship_to"]
    assert (fact.value, fact.source) == ("日本", FactSource.USER)


async def test_what_the_user_deleted_they_may_write_again(memory: MemoryService, owner: Owner) -> None:
    edit = PutFact(owner=owner, proposed=ProposedFact(key=KEY, value="对坚果过敏", category="constraint"))
    await memory.call(Service.GATEWAY, op.PUT_FACT, edit)
    await delete(memory, owner)
    await memory.call(Service.GATEWAY, op.PUT_FACT, edit)
    assert KEY in await memory.facts(owner)


async def test_counters_never_restart(memory: MemoryService, owner: Owner) -> None:
    generations = [(await memory.clear(owner)).purge_generation for _ in range(3)]
    assert generations == [1, 2, 3]
    turn = await memory.accept(owner)
    assert (await memory.claim(turn)).purge_generation == 3


async def test_a_cleared_memory_is_shown_to_nobody_again(memory: MemoryService, owner: Owner) -> None:
    """Neither to the model in its log and its history, nor to the user in old answers."""
    turn = await memory.accept(owner, "推荐零食")
    await memory.claim(turn)
    head = await memory.append(turn, 0, '{"role":"user","content":"推荐零食"}')
    head = await memory.append(turn, head, '{"role":"user","content":"- [constraint] 金丝雀"}', bears_memory=True)
    card = ItemCard(
        item_id="i",
        title="t",
        brand="b",
        price=Decimal(1),
        currency="CNY",
        platform="p",
        ships_from="CN",
        reason="没有金丝雀",
    )
    await memory.call(
        Service.AGENT,
        op.FINISH_TURN,
        FinishTurn(
            owner=owner,
            turn_id=turn.turn_id,
            lease_token=turn.token,
            expected_head=head,
            reply="你对金丝雀过敏，所以……",
            items=[card],
            behaviour=[Behaviour(kind=BehaviourKind.SEARCH, text="没有金丝雀的零食")],
            session_constraints={"exclude": ["金丝雀"]},
        ),
    )
    await memory.clear(owner)
    shown = await memory.call(Service.GATEWAY, op.GET_TURN, TurnRequest(owner=owner, turn_id=turn.turn_id))
    assert "金丝雀" not in shown.model_dump_json()
    claimed = await memory.claim(await memory.accept(owner, "你好"))
    assert "金丝雀" not in claimed.model_dump_json()
    database = build_database(memory.settings, Policy(), memory.clock)
    async with database.of_user(owner) as tx:
        log = await read_log(tx, turn.session_id)
        constraints = await tx.connection.execute(select(sessions.c.session_constraints).where(own(sessions)))
        assert set(constraints.scalars()) == {None}
    await database.close()
    assert [entry.payload for entry in log] == ['{"role":"user","content":"推荐零食"}', ERASED_PAYLOAD]
    report = await memory.call(Service.OPERATOR, op.CHECK_INVARIANTS, CheckInvariants())
    assert report.clean, report.violations


async def test_a_repeated_clear_ends_nothing_that_began_after_it(memory: MemoryService, owner: Owner) -> None:
    request = ClearMemory(owner=owner, request_id=uuid4())
    first = await memory.call(Service.GATEWAY, op.CLEAR_MEMORY, request)
    session_id = await memory.new_session(owner)
    repeated = await memory.call(Service.GATEWAY, op.CLEAR_MEMORY, request)
    assert repeated.purge_generation == first.purge_generation
    await memory.accept(owner, "还在吗", session_id)


async def test_claiming_a_curation_of_a_cleared_generation_ends_it(memory: MemoryService, owner: Owner) -> None:
    turn = await memory.complete(owner)
    await memory.clear(owner)
    with pytest.raises(ProblemError) as caught:
        await memory.claim_curation(turn, uuid4())
    assert caught.value.code is ProblemCode.GENERATION_CHANGED
    work = WorkId(kind=WorkKind.CURATE_TURN, subject_id=turn.turn_id)
    record = await memory.call(Service.OPERATOR, op.SHOW_WORK, work)
    assert record.state is WorkState.DONE, "said no and recorded it, in one"


@pytest.mark.parametrize("word", ["delete", "clear"])
async def test_the_users_word_and_an_ingest_at_once(memory: MemoryService, owner: Owner, word: str) -> None:
    """Whoever gets the lock first: in the end the fact is gone."""
    for _ in range(8):
        await memory.curate(await memory.complete(owner), NUTS)
        older = await memory.complete(owner)
        token = uuid4()
        await memory.claim_curation(older, token)
        acts = {"delete": delete, "clear": clear}
        await asyncio.gather(
            memory.ingest(older, token, NUTS, SAME_UNDER_ANOTHER_KEY), acts[word](memory, owner), return_exceptions=True
        )
        await nothing_is_there(memory, owner)


async def test_a_write_waits_for_a_word_that_is_just_being_said(
    memory: MemoryService, owner: Owner, module_database: DatabaseUrls
) -> None:
    """The user's lock is what makes them one after the other: no row of the two is the same."""
    await memory.curate(await memory.complete(owner, "推荐一把雨伞"), UNSUPPORTED)
    older = await memory.complete(owner, f"记住，{UNSUPPORTED.value}")
    token = uuid4()
    await memory.claim_curation(older, token)
    (waiting,) = (await memory.call(Service.GATEWAY, op.LIST_CANDIDATES, OwnedRequest(owner=owner))).candidates
    refusal = CandidateRequest(owner=owner, candidate_id=waiting.candidate_id)
    database = build_database(memory.settings, Policy(), memory.clock)
    as_admin = await asyncpg.connect(module_database.admin)

    async def held_up() -> bool:
        locks = await as_admin.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return bool(locks) or ingesting.done()

    try:
        async with database.of_user(owner) as tx:
            await refuse_candidate(tx, refusal)
            said_elsewhere = UNSUPPORTED.model_copy(update={"key": "fish"})
            ingesting = asyncio.create_task(memory.ingest(older, token, said_elsewhere))
            await wait_for(held_up, "the ingest waits")
    finally:
        await as_admin.close()
        await database.close()
    assert [each.action for each in await ingesting] == [FactAction.DELETED_BY_USER]
    await nothing_is_there(memory, owner)


async def test_what_words_only_show_stays_refused_too(memory: MemoryService, owner: Owner) -> None:
    """A candidate that a second turn would have made a fact, refused while that turn was on its way."""
    words, shown = "北欧风的看着不错", ProposedFact(key="style_preference", value="喜欢北欧风")
    await memory.curate(await memory.complete(owner, words), shown)
    older = await memory.complete(owner, words)
    (waiting,) = (await memory.call(Service.GATEWAY, op.LIST_CANDIDATES, OwnedRequest(owner=owner))).candidates
    refusal = CandidateRequest(owner=owner, candidate_id=waiting.candidate_id)
    await memory.call(Service.GATEWAY, op.REFUSE_CANDIDATE, refusal)
    assert [each.action for each in await memory.curate(older, shown)] == [FactAction.DELETED_BY_USER]
    await nothing_is_there(memory, owner)
