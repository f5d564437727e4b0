"""The sweeper: what has not moved is woken, what lost its worker is released, what keeps failing ends."""

import asyncio
from collections.abc import AsyncIterator
from uuid import uuid4

import asyncpg
import pytest
from faststream.redis import RedisBroker
from redis.asyncio import Redis
from tests.support.memory_service import ATurn, MemoryService
from tests.support.sweeping import Sweeping, sweeping_by_hand

from common.events import Cause
from common.memory_api import operations as op
from common.memory_api.base import Owner, TurnRequest
from common.memory_api.curation import ClaimCuration, FailCuration
from common.memory_api.dispatch import CheckInvariants, WorkId, WorkKind, WorkState
from common.memory_api.facts import FactAction, ProposedFact
from common.memory_api.operations import Service
from common.memory_api.turns import CurationState, FailureCode, RenewLease, TurnStatus, TurnView
from common.problems import ProblemCode, ProblemError
from common.streams.names import TURN_COMPLETED, TURN_REQUESTED
from devstack.database import DatabaseUrls


@pytest.fixture
async def sweeping(memory: MemoryService, redis_url: str) -> AsyncIterator[Sweeping]:
    async with (
        Redis.from_url(redis_url) as redis,
        RedisBroker(redis_url) as broker,
        sweeping_by_hand(memory, redis, broker) as running,
    ):
        yield running


async def view(memory: MemoryService, turn: ATurn) -> TurnView:
    answer: TurnView = await memory.call(
        Service.GATEWAY, op.GET_TURN, TurnRequest(owner=turn.owner, turn_id=turn.turn_id)
    )
    return answer


async def test_an_accepted_turn_whose_event_was_lost_is_published_again(
    memory: MemoryService, sweeping: Sweeping, owner: Owner
) -> None:
    turn = await memory.accept(owner)
    await sweeping.sweep()
    assert await sweeping.published(TURN_REQUESTED) == [], "the gateway's own publish has a moment first"
    memory.clock.advance(sweeping.policy.publish_grace.total_seconds() + 1)
    await sweeping.sweep()
    (event,) = await sweeping.published(TURN_REQUESTED)
    assert (event.turn_id, event.user_id, event.cause) == (turn.turn_id, owner.user_id, Cause.SWEEP)
    await sweeping.sweep()
    assert await sweeping.published(TURN_REQUESTED) == [], "at most once a minute"
    memory.clock.advance(sweeping.policy.republish.total_seconds() + 1)
    await sweeping.sweep()
    assert len(await sweeping.published(TURN_REQUESTED)) == 1
    await memory.claim(turn)
    await memory.finish(turn, 0)


async def test_nothing_is_published_again_while_the_group_lags(
    memory: MemoryService, sweeping: Sweeping, owner: Owner, redis_url: str
) -> None:
    turn = await memory.accept(owner)
    memory.clock.advance(100)
    async with Redis.from_url(redis_url) as redis:
        await redis.xadd(TURN_REQUESTED, {"unread": "1"})
        await sweeping.sweep()
        assert await redis.xlen(TURN_REQUESTED) == 1
        await redis.flushall()
    await sweeping.sweep()
    assert len(await sweeping.published(TURN_REQUESTED)) == 1, "a lost group does not lag"
    await memory.claim(turn)
    await memory.finish(turn, 0)


async def test_a_turn_of_a_killed_agent_is_released_and_taken_up_again(
    memory: MemoryService, sweeping: Sweeping, owner: Owner
) -> None:
    turn = await memory.accept(owner)
    await memory.claim(turn)
    await memory.append(turn, 0, '{"role":"user","content":"甲"}')
    memory.clock.advance(sweeping.policy.lease.total_seconds() + 1)
    await sweeping.sweep()
    (event,) = await sweeping.published(TURN_REQUESTED)
    assert event.turn_id == turn.turn_id
    successor = ATurn(owner, turn.session_id, turn.turn_id, uuid4())
    claimed = await memory.claim(successor)
    assert (claimed.attempt, claimed.head) == (2, 1)
    with pytest.raises(ProblemError) as caught:
        await memory.append(turn, 1, '{"role":"assistant","content":"zombie"}')
    assert caught.value.code is ProblemCode.LEASE_LOST
    await memory.finish(successor, 1)


async def test_a_turn_that_kills_every_agent_fails_with_an_answer_and_frees_its_session(
    memory: MemoryService, sweeping: Sweeping, owner: Owner
) -> None:
    turn = await memory.accept(owner)
    for _ in range(sweeping.policy.max_attempts):
        await memory.claim(ATurn(owner, turn.session_id, turn.turn_id, uuid4()))
        memory.clock.advance(sweeping.policy.lease.total_seconds() + 1)
        await sweeping.sweep()
        memory.clock.advance(10)  # past the pause between attempts
    await sweeping.sweep()
    ended = await view(memory, turn)
    assert ended.status is TurnStatus.FAILED
    assert ended.failure in (FailureCode.ATTEMPTS_EXHAUSTED, FailureCode.DEADLINE)
    assert ended.reply
    record = await memory.call(Service.OPERATOR, op.SHOW_WORK, WorkId(kind=WorkKind.TURN, subject_id=turn.turn_id))
    assert record.state is WorkState.DEAD
    await memory.complete(owner, "下一轮", turn.session_id)


async def test_a_turn_past_its_deadline_that_no_agent_holds_fails(
    memory: MemoryService, sweeping: Sweeping, owner: Owner
) -> None:
    turn = await memory.accept(owner)
    await memory.claim(turn)
    memory.clock.advance(sweeping.policy.deadline.total_seconds() + 1)
    await sweeping.sweep()
    ended = await view(memory, turn)
    assert (ended.status, ended.failure) == (TurnStatus.FAILED, FailureCode.DEADLINE)
    report = await memory.call(Service.OPERATOR, op.CHECK_INVARIANTS, CheckInvariants())
    assert report.clean, report.violations


async def test_a_curation_that_keeps_failing_is_parked_and_can_be_driven_again(
    memory: MemoryService, sweeping: Sweeping, owner: Owner
) -> None:
    turn = await memory.complete(owner)
    for _ in range(sweeping.policy.max_attempts):
        token = uuid4()
        await memory.claim_curation(turn, token)
        failed = FailCuration(
            owner=owner, turn_id=turn.turn_id, lease_token=token, run=0, error_code="model-misbehaved"
        )
        await memory.call(Service.CURATOR, op.FAIL_CURATION, failed)
        memory.clock.advance(120)
    await sweeping.sweep()
    assert (await view(memory, turn)).curation is CurationState.DEAD
    work = WorkId(kind=WorkKind.CURATE_TURN, subject_id=turn.turn_id)
    shown = await memory.call(Service.OPERATOR, op.SHOW_WORK, work)
    assert (shown.state, shown.error_code) == (WorkState.DEAD, "model-misbehaved")
    driven = await memory.call(Service.OPERATOR, op.REDRIVE_WORK, work)
    assert (driven.state, driven.attempts) == (WorkState.PENDING, 0)
    await sweeping.published(TURN_COMPLETED)
    await sweeping.sweep()
    assert len(await sweeping.published(TURN_COMPLETED)) == 1
    await memory.curate(turn)
    assert (await view(memory, turn)).curation is CurationState.DONE


async def test_a_dependency_that_is_down_spends_no_attempt(
    memory: MemoryService, sweeping: Sweeping, owner: Owner
) -> None:
    turn = await memory.complete(owner)
    for _ in range(2 * sweeping.policy.max_attempts):
        token = uuid4()
        claim = ClaimCuration(owner=owner, turn_id=turn.turn_id, lease_token=token, run=0)
        assert (await memory.call(Service.CURATOR, op.CLAIM_CURATION, claim)).attempt == 1
        down = FailCuration(
            owner=owner,
            turn_id=turn.turn_id,
            lease_token=token,
            run=0,
            error_code="model-unavailable",
            spend_attempt=False,
        )
        await memory.call(Service.CURATOR, op.FAIL_CURATION, down)
        with pytest.raises(ProblemError) as caught:
            await memory.claim_curation(turn, uuid4())
        assert caught.value.code is ProblemCode.NOT_DUE
        memory.clock.advance(120)
    await memory.curate(turn)


async def test_a_dead_turn_can_be_driven_again_while_it_is_its_sessions_last(
    memory: MemoryService, sweeping: Sweeping, owner: Owner
) -> None:
    turn = await memory.accept(owner)
    await memory.claim(turn)
    memory.clock.advance(sweeping.policy.deadline.total_seconds() + 1)
    await sweeping.sweep()
    work = WorkId(kind=WorkKind.TURN, subject_id=turn.turn_id)
    await memory.call(Service.OPERATOR, op.REDRIVE_WORK, work)
    again = ATurn(owner, turn.session_id, turn.turn_id, uuid4())
    claimed = await memory.claim(again)
    assert claimed.attempt == 2
    await memory.finish(again, claimed.head)
    assert (await view(memory, turn)).status is TurnStatus.COMPLETED
    report = await memory.call(Service.OPERATOR, op.CHECK_INVARIANTS, CheckInvariants())
    assert report.clean, report.violations
    with pytest.raises(ProblemError):
        await memory.call(Service.OPERATOR, op.REDRIVE_WORK, work)


async def test_discarded_work_is_over(memory: MemoryService, sweeping: Sweeping, owner: Owner) -> None:
    turn = await memory.accept(owner)
    work = WorkId(kind=WorkKind.TURN, subject_id=turn.turn_id)
    await memory.call(Service.OPERATOR, op.DISCARD_WORK, work)
    ended = await view(memory, turn)
    assert (ended.status, ended.failure) == (TurnStatus.FAILED, FailureCode.DISCARDED)
    memory.clock.advance(1_000)
    await sweeping.sweep()
    assert await sweeping.published(TURN_REQUESTED) == []


async def test_a_released_turn_is_woken_although_others_wait_in_the_queue(
    memory: MemoryService, sweeping: Sweeping, owner: Owner, redis_url: str
) -> None:
    turn = await memory.accept(owner)
    await memory.claim(turn)
    memory.clock.advance(sweeping.policy.lease.total_seconds() + 1)
    async with Redis.from_url(redis_url) as redis:
        await redis.xadd(TURN_REQUESTED, {"somebody-else": "1"})  # there is always one unread
        await sweeping.sweep()
        assert await redis.xlen(TURN_REQUESTED) == 2, "it has no event of its own in the queue"
        await sweeping.sweep()
        assert await redis.xlen(TURN_REQUESTED) == 2, "now it has"
        await redis.flushall()
    successor = ATurn(owner, turn.session_id, turn.turn_id, uuid4())
    await memory.finish(successor, (await memory.claim(successor)).head)


async def test_one_unreadable_turn_ends_and_stops_nobody_else(
    memory: MemoryService, sweeping: Sweeping, owner: Owner, module_database: DatabaseUrls
) -> None:
    unreadable = await memory.accept(owner)
    await memory.claim(unreadable)
    connection = await asyncpg.connect(module_database.admin)
    damage = "UPDATE turns SET user_text = user_text || 'x'::bytea WHERE turn_id = $1"
    await connection.execute(damage, unreadable.turn_id)
    no_key = await memory.accept(Owner(tenant_id="t1", user_id=f"u-{uuid4()}"))
    await memory.claim(no_key)
    memory.clock.advance(sweeping.policy.deadline.total_seconds() + 1)
    waiting = await memory.accept(Owner(tenant_id="t1", user_id=f"u-{uuid4()}"))
    memory.clock.advance(sweeping.policy.publish_grace.total_seconds() + 1)
    await sweeping.sweep()
    assert waiting.turn_id in [event.turn_id for event in await sweeping.published(TURN_REQUESTED)]
    status = await connection.fetchval("SELECT status FROM turns WHERE turn_id = $1", unreadable.turn_id)
    assert status == "failed"
    await connection.execute(damage.replace("user_text || 'x'::bytea", "''::bytea"), unreadable.turn_id)
    await connection.execute("DELETE FROM turns WHERE turn_id = $1", unreadable.turn_id)
    await connection.execute("DELETE FROM dispatch WHERE subject_id = $1", unreadable.turn_id)
    await connection.close()


async def test_a_lease_that_was_renewed_in_the_last_moment_is_respected(
    memory: MemoryService, sweeping: Sweeping, owner: Owner
) -> None:
    turn = await memory.accept(owner)
    for attempt in range(sweeping.policy.max_attempts):
        await memory.claim(turn)
        if attempt < sweeping.policy.max_attempts - 1:
            memory.clock.advance(sweeping.policy.lease.total_seconds() + 1)
            await sweeping.sweep()
            memory.clock.advance(9)
            turn = ATurn(owner, turn.session_id, turn.turn_id, uuid4())
    memory.clock.advance(sweeping.policy.lease.total_seconds() + 1)
    found = await sweeping.hopeless(turn)
    await memory.call(
        Service.AGENT, op.RENEW_LEASE, RenewLease(owner=owner, turn_id=turn.turn_id, lease_token=turn.token)
    )
    await sweeping.end(found)
    assert (await view(memory, turn)).status is TurnStatus.RUNNING
    await memory.finish(turn, 0)


async def test_an_agent_that_only_renews_does_not_hold_its_session_for_ever(
    memory: MemoryService, sweeping: Sweeping, owner: Owner
) -> None:
    turn = await memory.accept(owner)
    await memory.claim(turn)
    renew = RenewLease(owner=owner, turn_id=turn.turn_id, lease_token=turn.token)
    memory.clock.advance(sweeping.policy.deadline.total_seconds())
    await memory.call(Service.AGENT, op.RENEW_LEASE, renew)
    memory.clock.advance(sweeping.policy.lease.total_seconds() + 1)
    with pytest.raises(ProblemError) as caught:
        await memory.call(Service.AGENT, op.RENEW_LEASE, renew)
    assert caught.value.code is ProblemCode.LEASE_LOST
    await sweeping.sweep()
    assert (await view(memory, turn)).failure is FailureCode.DEADLINE


async def test_a_redriven_turn_is_worked_on_and_curated_again(
    memory: MemoryService, sweeping: Sweeping, owner: Owner
) -> None:
    turn = await memory.accept(owner)
    await memory.claim(turn)
    await memory.append(turn, 0, '{"role":"user","content":"甲"}')
    memory.clock.advance(sweeping.policy.deadline.total_seconds() + 1)
    await sweeping.sweep()
    fact = ProposedFact(key="nut_allergy", value="对坚果过敏", category="constraint")
    assert [outcome.action for outcome in await memory.curate(turn, fact)] == [FactAction.ADDED]
    await memory.call(Service.OPERATOR, op.REDRIVE_WORK, WorkId(kind=WorkKind.TURN, subject_id=turn.turn_id))
    again = ATurn(owner, turn.session_id, turn.turn_id, uuid4())
    claimed = await memory.claim(again)
    assert "system_notice" in claimed.log[-1].payload, "the old failure is not the last word"
    await memory.finish(again, claimed.head)
    assert [outcome.action for outcome in await memory.curate(again, fact)] == [FactAction.SUPPORTED]
    assert (await memory.facts(owner))["nut_allergy"].evidence == 1, "one turn is one piece of evidence"
    report = await memory.call(Service.OPERATOR, op.CHECK_INVARIANTS, CheckInvariants())
    assert report.clean, report.violations


async def test_several_sweepers_publish_and_end_once(
    memory: MemoryService, sweeping: Sweeping, owner: Owner, redis_url: str
) -> None:
    users = [Owner(tenant_id="t1", user_id=f"u-{uuid4()}") for _ in range(6)]
    turns = [await memory.accept(user) for user in users]
    memory.clock.advance(sweeping.policy.publish_grace.total_seconds() + 1)
    await asyncio.gather(*(sweeping.sweep() for _ in range(4)))
    published = [event.turn_id for event in await sweeping.published(TURN_REQUESTED)]
    assert sorted(published) == sorted(turn.turn_id for turn in turns)
    for turn in turns:
        await memory.claim(turn)
    memory.clock.advance(sweeping.policy.deadline.total_seconds() + 1)
    await asyncio.gather(*(sweeping.sweep() for _ in range(4)))
    for turn in turns:
        assert (await view(memory, turn)).status is TurnStatus.FAILED
    report = await memory.call(Service.OPERATOR, op.CHECK_INVARIANTS, CheckInvariants())
    assert report.clean, report.violations
