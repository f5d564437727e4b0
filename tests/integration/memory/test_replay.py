"""Replay: yesterday's turns through today's curator and rules, in order, counted once, and never past a user's no."""

from collections.abc import AsyncIterator
from uuid import UUID, uuid4

import asyncpg
import pytest
from faststream.redis import RedisBroker
from pydantic import ValidationError
from redis.asyncio import Redis
from tests.support.memory_service import ATurn, MemoryService
from tests.support.replays import Replaying

from common.events import Cause, TurnCompleted
from common.memory_api import operations as op
from common.memory_api.base import OwnedRequest, Owner, TurnRequest
from common.memory_api.curation import FailCuration
from common.memory_api.dispatch import CheckInvariants, WorkId, WorkKind, WorkState
from common.memory_api.facts import CandidateRequest, FactAction, FactKeyRequest, ProposedFact, PutFact
from common.memory_api.operations import Service
from common.memory_api.replay import (
    CancelReplay,
    ListReplays,
    ReplayCounts,
    ReplaySelection,
    ReplayState,
    ReplayTurnState,
    StartReplay,
)
from common.memory_api.turns import CurationState
from common.problems import ProblemCode, ProblemError
from devstack.database import DatabaseUrls

NUTS = ProposedFact(key="nut_allergy", value="对坚果过敏", category="constraint")
FISH = ProposedFact(key="fish_allergy", value="对鱼过敏", category="constraint")
GERMANY = ProposedFact(key="default_ship_to", value="德国", category="preference")

_MEMORY_TABLES = ("memory_facts", "memory_fact_versions", "memory_fact_evidence", "memory_candidates")


@pytest.fixture
async def replaying(memory: MemoryService, redis_url: str) -> AsyncIterator[Replaying]:
    async with Redis.from_url(redis_url) as redis, RedisBroker(redis_url) as broker:
        running = Replaying(memory, redis, broker)
        yield running
        for job in (await memory.call(Service.OPERATOR, op.LIST_REPLAYS, ListReplays(limit=500))).jobs:
            await memory.call(Service.OPERATOR, op.CANCEL_REPLAY, CancelReplay(job_id=job.job_id))
        await running.beat()
        await running.database.close()


async def stored(database: DatabaseUrls, owner: Owner, *, without_runs: bool = False) -> dict[str, list[str]]:
    """Every row of the user's memory, ciphertexts and all."""
    connection = await asyncpg.connect(database.admin)
    try:
        found = {}
        for table in _MEMORY_TABLES:
            row = "to_jsonb(t) - 'run'" if without_runs else "to_jsonb(t)"
            query = f"SELECT ({row})::text FROM {table} t WHERE tenant_id = $1 AND user_id = $2 ORDER BY 1"
            found[table] = [each[0] for each in await connection.fetch(query, owner.tenant_id, owner.user_id)]
        return found
    finally:
        await connection.close()


async def replay_of(
    replaying: Replaying, job_id: UUID, proposals: dict[UUID, list[ProposedFact]]
) -> list[TurnCompleted]:
    """Curate what the job publishes, to its end; returns the events in their order."""
    events: list[TurnCompleted] = []
    for _ in range(20):
        if (await replaying.report(job_id)).job.state is not ReplayState.RUNNING:
            return events
        for event in await replaying.beat():
            events.append(event)
            await replaying.curate(event, *proposals.get(event.turn_id, []))
    raise AssertionError("the replay does not come to its end")


async def test_a_replay_goes_through_a_users_turns_in_order_one_at_a_time(
    memory: MemoryService, replaying: Replaying, owner: Owner
) -> None:
    turns = [await memory.complete(owner, text) for text in ("我对坚果过敏", "寄到德国", "对鱼过敏")]
    for turn in turns:
        await memory.curate(turn)
    job_id = await replaying.start(owner)
    for number, turn in enumerate(turns):
        (event,) = await replaying.beat()
        assert (event.turn_id, event.cause, event.run) == (turn.turn_id, Cause.REPLAY, 1)
        assert await replaying.beat() == [], "the next turn waits until this one has ended"
        await replaying.curate(event, *([NUTS] if number == 0 else []))
    await replaying.beat()
    report = await replaying.report(job_id)
    assert (report.job.state, report.job.total, report.job.ended) == (ReplayState.FINISHED, 3, 3)
    assert report.job.counts == ReplayCounts(added=1)
    assert [turn.counts.added for turn in report.turns] == [1, 0, 0]
    assert set(await memory.facts(owner)) == {"nut_allergy"}
    invariants = await memory.call(Service.OPERATOR, op.CHECK_INVARIANTS, CheckInvariants())
    assert invariants.clean, invariants.violations


async def test_a_dry_run_tells_everything_and_writes_nothing(
    memory: MemoryService, replaying: Replaying, owner: Owner, module_database: DatabaseUrls
) -> None:
    turn = await memory.complete(owner, "我对坚果过敏，也对鱼过敏，寄到德国，电话 13812345678")
    await memory.curate(turn, NUTS, GERMANY)
    before = await stored(module_database, owner)
    job_id = await replaying.start(owner, dry_run=True)
    (event,) = await replaying.beat()
    outcomes = await replaying.curate(
        event,
        NUTS.model_copy(update={"value": "对坚果和鱼过敏"}),
        FISH,
        ProposedFact(key="phone", value="13812345678"),
    )
    assert outcomes == [], "nobody may say that anything was remembered"
    await replaying.beat()
    (row,) = (await replaying.report(job_id)).turns
    assert row.state is ReplayTurnState.DONE
    assert row.counts == ReplayCounts(added=1, changed=1, removed=1, refused=1)
    assert await stored(module_database, owner) == before

    job_id = await replaying.start(owner, dry_run=True)
    (event,) = await replaying.beat()
    await replaying.curate(event, NUTS, GERMANY, ProposedFact(key="colour", value="喜欢蓝色"))
    await replaying.beat()
    assert (await replaying.report(job_id)).job.counts == ReplayCounts(skipped=2, candidates=1)
    assert await stored(module_database, owner) == before


async def test_what_a_replay_does_not_support_any_more_is_reported_and_left_standing(
    memory: MemoryService, replaying: Replaying, owner: Owner, module_database: DatabaseUrls
) -> None:
    turn = await memory.complete(owner, "我对坚果过敏")
    await memory.curate(turn, NUTS)
    before = await stored(module_database, owner)
    job_id = await replaying.start(owner)
    await replay_of(replaying, job_id, {})
    assert (await replaying.report(job_id)).job.counts == ReplayCounts(removed=1)
    assert await stored(module_database, owner) == before


async def test_a_fact_said_again_under_another_key_is_still_supported(
    memory: MemoryService, replaying: Replaying, owner: Owner
) -> None:
    turn = await memory.complete(owner, "我对坚果过敏")
    await memory.curate(turn, NUTS)
    job_id = await replaying.start(owner, dry_run=True)
    await replay_of(replaying, job_id, {turn.turn_id: [NUTS.model_copy(update={"key": "food_allergy"})]})
    assert (await replaying.report(job_id)).job.counts == ReplayCounts(skipped=1)


async def test_a_replay_of_a_replay_changes_nothing(
    memory: MemoryService, replaying: Replaying, owner: Owner, module_database: DatabaseUrls
) -> None:
    first = await memory.complete(owner, "我对坚果过敏，喜欢的话题是旅行")
    second = await memory.complete(owner, "我对坚果过敏，寄到德国")
    guess = ProposedFact(key="colour", value="喜欢蓝色")
    again = NUTS.model_copy(update={"key": "food_allergy"})  # the same, under another key
    proposals = {first.turn_id: [NUTS, guess], second.turn_id: [again, GERMANY]}
    for turn in (first, second):
        await memory.curate(turn)
    await replay_of(replaying, await replaying.start(owner), proposals)
    assert (await memory.facts(owner))["nut_allergy"].evidence == 2
    # Only which run wrote last may differ: it orders the runs of one turn.
    before = await stored(module_database, owner, without_runs=True)
    job_id = await replaying.start(owner)
    events = await replay_of(replaying, job_id, proposals)
    assert [event.run for event in events] == [2, 2]
    assert await stored(module_database, owner, without_runs=True) == before
    counts = (await replaying.report(job_id)).job.counts
    assert (counts.added, counts.changed, counts.removed, counts.refused) == (0, 0, 0, 0)


async def test_an_older_turn_does_not_overwrite_what_a_newer_one_said(
    memory: MemoryService, replaying: Replaying, owner: Owner
) -> None:
    france = GERMANY.model_copy(update={"value": "法国"})
    old = await memory.complete(owner, "寄到德国")
    new = await memory.complete(owner, "寄到法国")
    await memory.curate(old, GERMANY)
    await memory.curate(new, france)
    job_id = await replaying.start(owner, {"session_id": old.session_id})
    events = await replay_of(replaying, job_id, {old.turn_id: [GERMANY]})
    assert [event.turn_id for event in events] == [old.turn_id]
    assert (await memory.facts(owner))["default_ship_to"].value == "法国"
    assert (await replaying.report(job_id)).job.counts == ReplayCounts(skipped=1)


async def test_what_the_user_deleted_refused_or_corrected_stays_so(
    memory: MemoryService, replaying: Replaying, owner: Owner
) -> None:
    turn = await memory.complete(owner, "我对坚果过敏，寄到德国")
    guess = ProposedFact(key="colour", value="喜欢蓝色")
    await memory.curate(turn, NUTS, GERMANY, guess)
    await memory.call(Service.GATEWAY, op.DELETE_FACT, FactKeyRequest(owner=owner, key="nut_allergy"))
    france = GERMANY.model_copy(update={"value": "法国"})
    await memory.call(Service.GATEWAY, op.PUT_FACT, PutFact(owner=owner, proposed=france))
    (candidate,) = (await memory.call(Service.GATEWAY, op.LIST_CANDIDATES, OwnedRequest(owner=owner))).candidates
    refused = CandidateRequest(owner=owner, candidate_id=candidate.candidate_id)
    await memory.call(Service.GATEWAY, op.REFUSE_CANDIDATE, refused)
    job_id = await replaying.start(owner)
    # The same value under another key is the same value.
    renamed = NUTS.model_copy(update={"key": "allergy"})
    (event,) = await replaying.beat()
    outcomes = await replaying.curate(event, renamed, GERMANY, guess)
    assert [outcome.action for outcome in outcomes] == [
        FactAction.DELETED_BY_USER,
        FactAction.OUTDATED,
        FactAction.DELETED_BY_USER,
    ]
    await replaying.beat()
    assert {key: fact.value for key, fact in (await memory.facts(owner)).items()} == {"default_ship_to": "法国"}
    assert (await replaying.report(job_id)).job.counts == ReplayCounts(skipped=3)


async def test_what_was_cleared_does_not_come_back(memory: MemoryService, replaying: Replaying, owner: Owner) -> None:
    turns = [await memory.complete(owner, "我对坚果过敏") for _ in range(2)]
    for turn in turns:
        await memory.curate(turn, NUTS)
    job_id = await replaying.start(owner)
    (event,) = await replaying.beat()
    token = uuid4()
    await memory.claim_curation(replaying.turn_of(event), token, event.run)
    await memory.clear(owner)
    with pytest.raises(ProblemError) as caught:
        await memory.ingest(replaying.turn_of(event), token, NUTS, run=event.run)
    assert caught.value.code is ProblemCode.GENERATION_CHANGED
    assert await replaying.beat() == [], "of the next turn no model is asked any more"
    await replaying.beat()
    report = await replaying.report(job_id)
    assert report.job.state is ReplayState.FINISHED
    assert [turn.state for turn in report.turns] == [ReplayTurnState.GONE, ReplayTurnState.GONE]
    assert await memory.facts(owner) == {}


async def test_what_the_curator_failed_on_is_made_good(
    memory: MemoryService, replaying: Replaying, owner: Owner
) -> None:
    good, bad = [await memory.complete(owner, "我对坚果过敏") for _ in range(2)]
    await memory.curate(good)
    for _ in range(memory.settings.max_attempts):
        token = uuid4()
        await memory.claim_curation(bad, token)
        failed = FailCuration(owner=owner, turn_id=bad.turn_id, lease_token=token, run=0, error_code="model-misbehaved")
        await memory.call(Service.CURATOR, op.FAIL_CURATION, failed)
        memory.clock.advance(120)
    connection = await asyncpg.connect(memory.settings.memory_dispatch_database_url.get_secret_value())
    await connection.execute(
        "UPDATE dispatch SET state = 'dead' WHERE kind = 'curate_turn' AND subject_id = $1 AND run = 0", bad.turn_id
    )  # as the sweeper does
    await connection.close()

    job_id = await replaying.start(owner, {"failed_only": True}, dry_run=True)
    (event,) = await replay_of(replaying, job_id, {bad.turn_id: [NUTS]})
    assert event.turn_id == bad.turn_id
    assert await memory.facts(owner) == {}

    job_id = await replaying.start(owner, {"failed_only": True})
    (event,) = await replay_of(replaying, job_id, {bad.turn_id: [NUTS]})
    assert (event.turn_id, event.run) == (bad.turn_id, 2), "the dry run has made nothing good"
    view = await memory.call(Service.GATEWAY, op.GET_TURN, TurnRequest(owner=owner, turn_id=bad.turn_id))
    assert view.curation is CurationState.DONE
    assert (await replaying.report(await replaying.start(owner, {"failed_only": True}))).job.total == 0


async def test_turns_are_chosen_by_time_and_a_selection_must_select(
    memory: MemoryService, replaying: Replaying, owner: Owner
) -> None:
    early = await memory.complete(owner, "甲")
    await memory.curate(early)
    between = memory.clock.now()
    memory.clock.advance(10)
    late = await memory.complete(owner, "乙")
    await memory.curate(late)
    await memory.accept(owner, "丙")  # has not ended
    chosen_by: list[tuple[dict[str, object], ATurn]] = [({"since": between}, late), ({"until": between}, early)]
    for chosen, expected in chosen_by:
        report = await replaying.report(await replaying.start(owner, chosen))
        assert [turn.turn_id for turn in report.turns] == [expected.turn_id]
    with pytest.raises(ValidationError):
        ReplaySelection()
    with pytest.raises(ValidationError):
        ReplaySelection(user_id="u")


async def test_a_replay_is_not_faster_than_it_was_told(memory: MemoryService, replaying: Replaying) -> None:
    tenant = f"t-{uuid4()}"
    for number in range(12):
        await memory.curate(await memory.complete(Owner(tenant_id=tenant, user_id=f"u{number}")))
    selection = ReplaySelection(tenant_id=tenant)
    request = StartReplay(job_id=uuid4(), selection=selection, turns_per_second=2.0)
    await memory.call(Service.OPERATOR, op.START_REPLAY, request)
    assert (await memory.call(Service.OPERATOR, op.START_REPLAY, request)).total == 12, "the same id is the same job"
    memory.clock.advance(60)  # is not saved up
    assert [len(await replaying.beat()) for _ in range(4)] == [2, 2, 2, 2]
    replaying.restart()
    assert len(await replaying.beat()) == 2
    jobs = (await memory.call(Service.OPERATOR, op.LIST_REPLAYS, ListReplays())).jobs
    assert jobs[0].job_id == request.job_id
    assert jobs[0].turns[ReplayTurnState.RUNNING] == 10
    await memory.call(Service.OPERATOR, op.CANCEL_REPLAY, CancelReplay(job_id=request.job_id))
    await replaying.beat()


async def test_a_killed_replay_goes_on_where_it_was(memory: MemoryService, replaying: Replaying, owner: Owner) -> None:
    turns = [await memory.complete(owner, "我对坚果过敏") for _ in range(3)]
    for turn in turns:
        await memory.curate(turn)
    job_id = await replaying.start(owner)
    (event,) = await replaying.beat()
    replaying.restart()  # with a turn under way, its event read by nobody
    assert await replaying.beat() == []
    await replaying.curate(event, NUTS)
    replaying.restart()  # with a turn ended that nobody has seen yet
    events = [event, *await replay_of(replaying, job_id, {})]
    assert [each.turn_id for each in events] == [turn.turn_id for turn in turns]
    assert (await replaying.report(job_id)).job.turns[ReplayTurnState.DONE] == 3


async def test_two_jobs_and_two_replicas_do_not_get_in_each_others_way(
    memory: MemoryService, replaying: Replaying, owner: Owner
) -> None:
    turns = [await memory.complete(owner, "我对坚果过敏") for _ in range(2)]
    for turn in turns:
        await memory.curate(turn)
    jobs = [await replaying.start(owner), await replaying.start(owner)]
    other = Replaying(memory, replaying._redis, replaying._broker)
    events: list[TurnCompleted] = []
    for _ in range(20):
        begun = [*await replaying.beat(), *await other.beat()]
        assert len(begun) <= 1, "of one user one turn at a time, whatever the job"
        for event in begun:
            await replaying.curate(event)
            events.append(event)
    await other.database.close()
    assert len(events) == 4
    assert len({(event.turn_id, event.run) for event in events}) == 4
    for job_id in jobs:
        assert (await replaying.report(job_id)).job.state is ReplayState.FINISHED


async def test_a_cancelled_replay_begins_nothing_more_and_takes_back_what_is_under_way(
    memory: MemoryService, replaying: Replaying, owner: Owner
) -> None:
    turns = [await memory.complete(owner, "我对坚果过敏") for _ in range(2)]
    for turn in turns:
        await memory.curate(turn)
    job_id = await replaying.start(owner)
    (event,) = await replaying.beat()
    token = uuid4()
    await memory.claim_curation(replaying.turn_of(event), token, event.run)
    await memory.call(Service.OPERATOR, op.CANCEL_REPLAY, CancelReplay(job_id=job_id))
    assert await replaying.beat() == []
    with pytest.raises(ProblemError) as caught:
        await memory.ingest(replaying.turn_of(event), token, NUTS, run=event.run)
    assert caught.value.code is ProblemCode.LEASE_LOST
    report = await replaying.report(job_id)
    assert report.job.state is ReplayState.CANCELLED
    assert [turn.state for turn in report.turns] == [ReplayTurnState.FAILED, ReplayTurnState.WAITING]
    (event,) = await replay_of(replaying, await replaying.start(owner, {"session_id": turns[1].session_id}), {})
    assert event.turn_id == turns[1].turn_id


async def test_a_dead_run_stops_nobody(memory: MemoryService, replaying: Replaying, owner: Owner) -> None:
    turns = [await memory.complete(owner, "我对坚果过敏") for _ in range(2)]
    for turn in turns:
        await memory.curate(turn)
    job_id = await replaying.start(owner)
    (event,) = await replaying.beat()
    work = WorkId(kind=WorkKind.CURATE_TURN, subject_id=event.turn_id, run=event.run)
    assert (await memory.call(Service.OPERATOR, op.DISCARD_WORK, work)).state is WorkState.DISCARDED
    (event,) = await replaying.beat()
    assert event.turn_id == turns[1].turn_id
    await replaying.curate(event)
    await replaying.beat()
    states = [turn.state for turn in (await replaying.report(job_id)).turns]
    assert states == [ReplayTurnState.FAILED, ReplayTurnState.DONE]


async def test_a_replay_is_the_operators(memory: MemoryService, owner: Owner) -> None:
    request = StartReplay(job_id=uuid4(), selection=ReplaySelection(tenant_id=owner.tenant_id))
    for service in (Service.GATEWAY, Service.AGENT, Service.CURATOR):
        with pytest.raises(ProblemError) as caught:
            await memory.call(service, op.START_REPLAY, request)
        assert caught.value.code is ProblemCode.FORBIDDEN
    with pytest.raises(ProblemError) as caught:
        await memory.call(Service.OPERATOR, op.CANCEL_REPLAY, CancelReplay(job_id=uuid4()))
    assert caught.value.code is ProblemCode.NOT_FOUND
