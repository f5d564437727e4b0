"""Retention: what has expired cannot be read, goes at the next write and by the job, and not a day too early."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

import asyncpg
import pytest
from tests.support.memory_service import MemoryService, memory_settings, serving_memory
from tests.support.orders import an_order, propose, settle

from common.memory_api import operations as op
from common.memory_api.base import OwnedRequest, Owner, TurnRequest
from common.memory_api.dispatch import CheckInvariants
from common.memory_api.facts import (
    FactAction,
    FactEditRequest,
    FactKeyRequest,
    MemoryCategory,
    ProposedFact,
    PutFact,
    ReadFacts,
    Recall,
)
from common.memory_api.operations import Service
from common.memory_api.replay import CancelReplay, ListReplays, ReplaySelection, StartReplay
from common.memory_api.sessions import SessionRequest
from common.memory_api.turns import FinishTurn, MemoryUse
from common.memory_api.user_data import PutSettings, UserSettings
from common.problems import ProblemCode, ProblemError
from common.telemetry.metrics import Metrics
from common.telemetry.table import MEMORY
from devstack.database import DatabaseUrls
from memory.app import build_database
from memory.encryption.rotation import rotate_key
from memory.facts.lifetime import end_of_day
from memory.policy import Policy
from memory.retention.job import RetentionJob

NUTS = ProposedFact(key="nut_allergy", value="对坚果过敏", category="constraint", evidence="我对坚果过敏")
RETENTION, DECAY, SESSIONS, CANDIDATES, ORDERS, REPLAYS = 30, 10, 20, 15, 60, 8


@pytest.fixture(scope="module")
async def memory(
    module_database: DatabaseUrls, valkey: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[MemoryService]:
    settings = memory_settings(
        module_database,
        valkey,
        tmp_path_factory.mktemp("memory"),
        memory_retention_days=RETENTION,
        memory_decay_days=DECAY,
        session_retention_days=SESSIONS,
        memory_candidate_days=CANDIDATES,
        order_retention_days=ORDERS,
        replay_retention_days=REPLAYS,
        retention_interval_seconds=86_400.0,  # by hand here
    )
    async with serving_memory(settings) as service:
        yield service


@pytest.fixture
async def job(memory: MemoryService) -> AsyncIterator[RetentionJob]:
    database = build_database(memory.settings, Policy.of(memory.settings), memory.clock)
    yield RetentionJob(database, memory.clock, 1.0, Metrics(MEMORY))
    await database.close()


@pytest.fixture
async def as_admin(module_database: DatabaseUrls) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(module_database.admin)
    yield connection
    await connection.close()


async def put(memory: MemoryService, owner: Owner, key: str, value: str, category: str = "preference") -> Any:
    edit = PutFact(owner=owner, proposed=ProposedFact(key=key, value=value, category=category))
    return await memory.call(Service.GATEWAY, op.PUT_FACT, edit)


async def show(memory: MemoryService, owner: Owner, *keys: str) -> None:
    """A turn that is shown the facts."""
    facts = await memory.facts(owner)
    turn = await memory.accept(owner, "推荐零食")
    head = (await memory.claim(turn)).head
    uses = [MemoryUse(fact_id=facts[key].fact_id, how="injected") for key in keys]
    finish = FinishTurn(
        owner=owner, turn_id=turn.turn_id, lease_token=turn.token, expected_head=head, reply="好", memory_uses=uses
    )
    await memory.call(Service.AGENT, op.FINISH_TURN, finish)


def move_to(memory: MemoryService, moment: datetime) -> None:
    memory.clock.advance((moment - memory.clock.now()).total_seconds())


async def rows_of(connection: asyncpg.Connection, owner: Owner, table: str) -> int:
    return int(await connection.fetchval(f"SELECT count(*) FROM {table} WHERE user_id = $1", owner.user_id))


async def test_what_nobody_uses_is_unreadable_on_every_path_and_what_is_used_stays(
    memory: MemoryService, owner: Owner, as_admin: asyncpg.Connection
) -> None:
    for key, category in (("style", "preference"), ("plan", "context"), ("rule", "constraint"), ("used", "preference")):
        await put(memory, owner, key, f"简约的{key}", category)
    memory.clock.advance(timedelta(days=DECAY - 1).total_seconds())
    await show(memory, owner, "used")
    assert set(await memory.facts(owner)) == {"style", "plan", "rule", "used"}
    memory.clock.advance(timedelta(days=2).total_seconds())

    assert set(await memory.facts(owner)) == {"rule", "used"}
    read = await memory.call(Service.AGENT, op.READ_FACTS, ReadFacts(owner=owner))
    assert {fact.key for fact in read.facts} == {"rule", "used"}
    recalled = await memory.call(Service.AGENT, op.RECALL, Recall(owner=owner, topic="简约"))
    assert {fact.key for fact in recalled.facts} == {"rule", "used"}
    turn = await memory.complete(owner)
    given = (await memory.claim_curation(turn, uuid4())).facts
    assert {fact.key for fact in given} == {"rule", "used"}
    with pytest.raises(ProblemError) as caught:
        await memory.call(Service.GATEWAY, op.GET_FACT, FactKeyRequest(owner=owner, key="style"))
    assert caught.value.code is ProblemCode.NOT_FOUND

    assert await rows_of(as_admin, owner, "memory_facts") == 4, "only unreadable so far"
    await put(memory, owner, "other", "另一件事")
    assert await rows_of(as_admin, owner, "memory_facts") == 3, "gone with the next write"


async def test_a_fact_that_is_said_again_begins_anew(memory: MemoryService, owner: Owner) -> None:
    style = ProposedFact(key="style", value="喜欢简约风格", evidence="喜欢简约风格")
    await memory.curate(await memory.complete(owner, "喜欢简约风格"), style)
    for _ in range(5):
        memory.clock.advance(timedelta(days=DECAY - 1).total_seconds())
        (outcome,) = await memory.curate(await memory.complete(owner, "喜欢简约风格"), style)
        assert outcome.action is FactAction.SUPPORTED
    detail = await memory.call(Service.GATEWAY, op.GET_FACT, FactKeyRequest(owner=owner, key="style"))
    assert detail.fact.evidence == 6
    assert detail.expires_at == end_of_day(detail.fact.updated_at, DECAY, ZoneInfo("Asia/Shanghai"))


async def test_used_every_day_and_said_by_nobody_it_goes_after_the_retention(
    memory: MemoryService, owner: Owner
) -> None:
    await put(memory, owner, "style", "简约")
    for _ in range(RETENTION // 5):
        memory.clock.advance(timedelta(days=5).total_seconds())
        await show(memory, owner, "style")
    memory.clock.advance(timedelta(days=2).total_seconds())
    assert await memory.facts(owner) == {}


@pytest.mark.parametrize("zone", ["America/Los_Angeles", "Asia/Shanghai", "Pacific/Kiritimati"])
async def test_the_last_day_ends_where_the_user_lives(memory: MemoryService, owner: Owner, zone: str) -> None:
    settings = PutSettings(owner=owner, settings=UserSettings(time_zone=zone))
    await memory.call(Service.GATEWAY, op.PUT_SETTINGS, settings)
    fact = await put(memory, owner, "style", "简约")
    end = end_of_day(fact.updated_at, DECAY, ZoneInfo(zone))
    move_to(memory, end - timedelta(seconds=30))
    assert set(await memory.facts(owner)) == {"style"}
    move_to(memory, end + timedelta(seconds=30))
    assert await memory.facts(owner) == {}


@pytest.mark.parametrize("name", ["Mars/Base", "../etc/passwd", "", "Asia"])
async def test_a_time_zone_that_nobody_knows_is_refused(memory: MemoryService, owner: Owner, name: str) -> None:
    settings = PutSettings(owner=owner, settings=UserSettings(time_zone=name))
    with pytest.raises(ProblemError) as caught:
        await memory.call(Service.GATEWAY, op.PUT_SETTINGS, settings)
    assert caught.value.code is ProblemCode.INVALID_REQUEST


async def test_the_job_removes_what_expired_of_everybody(
    memory: MemoryService, job: RetentionJob, as_admin: asyncpg.Connection
) -> None:
    owners = [Owner(tenant_id=f"t{n % 2}", user_id=f"u-{uuid4()}") for n in range(3)]
    for owner in owners:
        await put(memory, owner, "style", "简约")
        await put(memory, owner, "style", "北欧")
        await memory.curate(await memory.complete(owner), ProposedFact(key="guess", value="完全没有说过的事情"))
    memory.clock.advance(timedelta(days=DECAY + 2).total_seconds())
    await job.run_round()
    for owner in owners:
        assert await rows_of(as_admin, owner, "memory_facts") == 0
        assert await rows_of(as_admin, owner, "memory_fact_versions") == 0
        assert await rows_of(as_admin, owner, "memory_candidates") == 1, "its days are not over"
    memory.clock.advance(timedelta(days=CANDIDATES).total_seconds())
    await job.run_round()
    for owner in owners:
        assert await rows_of(as_admin, owner, "memory_candidates") == 0


async def test_replays_go_with_their_reports_when_they_have_long_ended(
    memory: MemoryService, owner: Owner, job: RetentionJob, as_admin: asyncpg.Connection
) -> None:
    await memory.curate(await memory.complete(owner))
    ended, running = [await start_replay(memory, owner) for _ in range(2)]
    await memory.call(Service.OPERATOR, op.CANCEL_REPLAY, CancelReplay(job_id=ended))
    memory.clock.advance(timedelta(days=REPLAYS - 1).total_seconds())
    await job.run_round()
    assert {ended, running} <= await replays(memory)
    memory.clock.advance(timedelta(days=2).total_seconds())
    await job.run_round()
    left = await replays(memory)
    assert running in left
    assert ended not in left
    assert await rows_of(as_admin, owner, "replay_turns") == 1, "the running one's"
    await memory.call(Service.OPERATOR, op.CANCEL_REPLAY, CancelReplay(job_id=running))


async def start_replay(memory: MemoryService, owner: Owner) -> UUID:
    selection = ReplaySelection(tenant_id=owner.tenant_id, user_id=owner.user_id)
    job = await memory.call(Service.OPERATOR, op.START_REPLAY, StartReplay(job_id=uuid4(), selection=selection))
    return UUID(str(job.job_id))


async def replays(memory: MemoryService) -> set[UUID]:
    return {job.job_id for job in (await memory.call(Service.OPERATOR, op.LIST_REPLAYS, ListReplays(limit=500))).jobs}


async def test_sessions_go_with_all_that_hangs_on_them(
    memory: MemoryService, owner: Owner, job: RetentionJob, as_admin: asyncpg.Connection
) -> None:
    old = await memory.complete(owner, "很久以前说过，我对坚果过敏")
    await memory.curate(old, NUTS)
    memory.clock.advance(timedelta(days=SESSIONS - 1).total_seconds())
    recent = await memory.complete(owner)
    await memory.curate(recent)
    await job.run_round()
    assert await rows_of(as_admin, owner, "turns") == 2
    memory.clock.advance(timedelta(days=3).total_seconds())
    await job.run_round()
    for table in ("turns", "sessions", "dispatch", "session_log"):
        rows = await as_admin.fetch(f"SELECT session_id FROM {table} WHERE user_id = $1", owner.user_id)
        left = {row["session_id"] for row in rows}
        assert left == {recent.session_id}, table
    with pytest.raises(ProblemError) as caught:
        await memory.call(Service.GATEWAY, op.GET_TURN, TurnRequest(owner=owner, turn_id=old.turn_id))
    assert caught.value.code is ProblemCode.NOT_FOUND
    assert (await memory.facts(owner))["nut_allergy"].turn_id == old.turn_id, "the fact stays, its source has expired"
    report = await memory.call(Service.OPERATOR, op.CHECK_INVARIANTS, CheckInvariants())
    assert report.clean, report.violations


async def test_an_order_outlives_its_session_and_its_purchase_goes_with_it(
    memory: MemoryService, owner: Owner, job: RetentionJob, as_admin: asyncpg.Connection
) -> None:
    turn = await memory.accept(owner, "就买这个")
    head = (await memory.claim(turn)).head
    confirmed, _ = [await propose(memory, turn, an_order("背包", quantity=n), call_id=f"call_{n}") for n in (1, 2)]
    await settle(memory, owner, confirmed)
    await memory.finish(turn, head)
    await memory.curate(turn)
    memory.clock.advance(timedelta(days=SESSIONS - 1).total_seconds())
    await job.run_round()
    assert await rows_of(as_admin, owner, "orders") == 2
    memory.clock.advance(timedelta(days=3).total_seconds())
    await job.run_round()
    assert await rows_of(as_admin, owner, "sessions") == 0
    rows = await as_admin.fetch("SELECT order_id FROM orders WHERE user_id = $1", owner.user_id)
    assert [row["order_id"] for row in rows] == [confirmed.order_id]
    assert await rows_of(as_admin, owner, "behaviour") == 1
    memory.clock.advance(timedelta(days=ORDERS - SESSIONS).total_seconds())
    await job.run_round()
    assert await rows_of(as_admin, owner, "orders") == 0
    assert await rows_of(as_admin, owner, "behaviour") == 0


async def test_a_session_that_work_still_waits_for_stays(
    memory: MemoryService, owner: Owner, job: RetentionJob
) -> None:
    """Its curation has not run: later than any consumer may need it."""
    turn = await memory.complete(owner)
    open_turn = await memory.accept(owner)
    memory.clock.advance(timedelta(days=SESSIONS + 2).total_seconds())
    await job.run_round()
    assert [each.action for each in await memory.curate(turn, NUTS)] == [FactAction.ADDED]
    assert (await memory.claim(open_turn)).text
    session = SessionRequest(owner=owner, session_id=turn.session_id)
    memory.clock.advance(timedelta(days=2).total_seconds())
    await job.run_round()
    with pytest.raises(ProblemError):
        await memory.call(Service.GATEWAY, op.GET_SESSION, session)


async def test_a_mark_outlives_every_turn_it_may_have_to_stop(
    memory: MemoryService, owner: Owner, job: RetentionJob, as_admin: asyncpg.Connection
) -> None:
    older = await memory.complete(owner)  # still to be curated
    await put(memory, owner, "nut_allergy", "对坚果过敏", "constraint")
    await memory.call(Service.GATEWAY, op.DELETE_FACT, FactEditRequest(owner=owner, key="nut_allergy"))
    memory.clock.advance(timedelta(days=SESSIONS + 2).total_seconds())
    await job.run_round()
    assert await rows_of(as_admin, owner, "memory_tombstones") == 2
    assert [each.action for each in await memory.curate(older, NUTS)] == [FactAction.DELETED_BY_USER]
    memory.clock.advance(timedelta(days=2).total_seconds())
    await job.run_round()
    assert await rows_of(as_admin, owner, "memory_tombstones") == 0


async def test_one_user_who_cannot_be_read_does_not_stop_the_others(
    memory: MemoryService, job: RetentionJob, as_admin: asyncpg.Connection
) -> None:
    broken, fine = (Owner(tenant_id="t1", user_id=f"u-{uuid4()}") for _ in range(2))
    for owner in (broken, fine):
        settings = PutSettings(owner=owner, settings=UserSettings())
        await memory.call(Service.GATEWAY, op.PUT_SETTINGS, settings)
        await put(memory, owner, "style", "简约")
    await as_admin.execute("UPDATE user_settings SET settings = '\\x00' WHERE user_id = $1", broken.user_id)
    memory.clock.advance(timedelta(days=DECAY + 2).total_seconds())
    await job.run_round()
    assert await rows_of(as_admin, broken, "memory_facts") == 1
    assert await rows_of(as_admin, fine, "memory_facts") == 0
    await as_admin.execute("DELETE FROM user_settings WHERE user_id = $1", broken.user_id)
    await job.run_round()
    assert await rows_of(as_admin, broken, "memory_facts") == 0, "still due, and done in the next round"


async def test_a_user_is_looked_through_once_a_day(
    memory: MemoryService, owner: Owner, job: RetentionJob, as_admin: asyncpg.Connection
) -> None:
    async def looked_at() -> datetime:
        found: datetime = await as_admin.fetchval("SELECT retained_at FROM users WHERE user_id = $1", owner.user_id)
        return found

    await put(memory, owner, "style", "简约")
    await job.run_round()
    first = await looked_at()
    memory.clock.advance(3_600)
    await job.run_round()
    assert await looked_at() == first
    memory.clock.advance(timedelta(days=1).total_seconds())
    await job.run_round()
    assert await looked_at() > first


async def test_the_job_finishes_a_rotation(memory: MemoryService, owner: Owner, job: RetentionJob) -> None:
    await put(memory, owner, "style", "简约", MemoryCategory.CONSTRAINT)
    await rotate_key(job._database, owner)
    memory.clock.advance(timedelta(days=1).total_seconds())
    await job.run_round()
    assert len(await job._database.keys.ring_of(owner)) == 1
    assert set(await memory.facts(owner)) == {"style"}


async def test_a_row_that_expires_by_its_users_word_is_gone_too(
    memory: MemoryService, owner: Owner, as_admin: asyncpg.Connection
) -> None:
    await put(memory, owner, "rule", "只到年底", "constraint")
    await as_admin.execute(
        "UPDATE memory_facts SET expires_at = $2 WHERE user_id = $1", owner.user_id, memory.clock.now().astimezone(UTC)
    )
    assert await memory.facts(owner) == {}
    listed = await memory.call(Service.GATEWAY, op.LIST_CANDIDATES, OwnedRequest(owner=owner))
    assert listed.candidates == []
