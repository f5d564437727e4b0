"""Erase: nothing of the user is left, nothing from before comes back, and what they say afterwards is kept."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest
from pydantic import SecretStr
from redis.asyncio import Redis
from tests.integration.memory.test_secrecy import CANARY, leave_words_everywhere
from tests.support.databases import database_from
from tests.support.memory_service import MemoryService, memory_settings, serving_memory
from tests.support.readable_rows import UNREADABLE, place_in, places_of, readable_rows

from common.memory_api import operations as op
from common.memory_api.base import OwnedRequest, Owner, TurnRequest
from common.memory_api.dispatch import CheckInvariants
from common.memory_api.facts import FactAction, ProposedFact, PutFact
from common.memory_api.operations import Service
from common.memory_api.personal_data import Erased, EraseUser, ExportData
from common.memory_api.replay import CancelReplay, ListReplays, ReplaySelection, ShowReplay, StartReplay
from common.memory_api.user_data import PutSettings, UserSettings
from common.problems import ProblemCode, ProblemError
from common.streams.names import progress_stream
from common.streams.progress import ProgressEvent, ProgressWriter
from devstack.database import DatabaseUrls
from memory.app import build_database
from memory.database.transactions import Database
from memory.encryption.cipher import UserCipher
from memory.encryption.keys import CannotDecrypt
from memory.encryption.sealed_columns import SEALED_COLUMNS
from memory.policy import Policy

NUTS = ProposedFact(key="nut_allergy", value="对坚果过敏", category="constraint", evidence="我对坚果过敏")
STAYS = {"users", "user_keys"}


@pytest.fixture(scope="module")
async def database(memory: MemoryService) -> AsyncIterator[Database]:
    """Another replica's view of the same database, with a key cache of its own."""
    made = build_database(memory.settings, Policy(), memory.clock)
    yield made
    await made.close()


async def erase(memory: MemoryService, owner: Owner, request_id: UUID | None = None) -> Erased:
    request = EraseUser(owner=owner, request_id=request_id or uuid4())
    receipt: Erased = await memory.call(Service.GATEWAY, op.ERASE_USER, request)
    return receipt


async def put(memory: MemoryService, owner: Owner, key: str, value: str) -> None:
    edit = PutFact(owner=owner, proposed=ProposedFact(key=key, value=value))
    await memory.call(Service.GATEWAY, op.PUT_FACT, edit)


async def exported(memory: MemoryService, owner: Owner) -> list[Any]:
    records: list[Any] = []
    cursor = None
    while True:
        page = await memory.call(Service.GATEWAY, op.EXPORT_DATA, ExportData(owner=owner, cursor=cursor))
        records += page.records
        cursor = page.next_cursor
        if cursor is None:
            return records


async def test_an_export_holds_what_the_user_has_said_and_done(memory: MemoryService, owner: Owner) -> None:
    await leave_words_everywhere(memory, owner)
    records = await exported(memory, owner)
    with_canary = {record.type for record in records if CANARY in record.model_dump_json()}
    assert with_canary == {"fact", "settings", "skill", "behaviour", "order", "turn"}
    assert {record.type for record in records} == with_canary | {"candidate", "session"}
    (edited,) = (record for record in records if record.type == "fact" and record.fact.key == "k")
    assert (edited.fact.value, [version.value for version in edited.versions]) == ("新的" + CANARY, ["旧的" + CANARY])


async def test_an_export_of_many_turns_holds_each_once(memory: MemoryService, owner: Owner) -> None:
    turns = [(await memory.complete(owner, f"第 {n} 轮")).turn_id for n in range(103)]
    records = await exported(memory, owner)
    assert [record.turn_id for record in records if record.type == "turn"] == turns
    assert len({record.session_id for record in records if record.type == "session"}) == len(turns)


async def test_what_is_no_cursor_of_an_export_is_told(memory: MemoryService, owner: Owner) -> None:
    for cursor in ("sessions:1", "turns:a-b", "other:1"):
        with pytest.raises(ProblemError) as caught:
            await memory.call(Service.GATEWAY, op.EXPORT_DATA, ExportData(owner=owner, cursor=cursor))
        assert caught.value.code is ProblemCode.INVALID_REQUEST


async def test_nothing_is_left_and_the_next_word_is_kept(
    memory: MemoryService, owner: Owner, database: Database, module_database: DatabaseUrls
) -> None:
    await leave_words_everywhere(memory, owner)
    running = await memory.accept(owner, "还在跑的一轮" + CANARY)
    head = (await memory.claim(running)).head
    before = await readable_rows(module_database.admin, database, owner)
    assert {place.partition(".")[0] for place in places_of(before, CANARY)} >= {"memory_facts", "turns", "session_log"}
    assert UNREADABLE not in {value for values in before.values() for value in values}

    receipt = await erase(memory, owner)
    assert receipt.rows["memory_facts"] == len(before["memory_facts.value"])
    assert receipt.rows["turns"] == 2
    left = await readable_rows(module_database.admin, database, owner)
    assert {place.partition(".")[0] for place in left} == STAYS
    assert places_of(left, CANARY) == []

    for work in (memory.append(running, head, '{"role":"user"}'), memory.finish(running, head), memory.claim(running)):
        with pytest.raises(ProblemError) as caught:
            await work
        assert caught.value.code is ProblemCode.NOT_FOUND
    turn = await memory.complete(owner, "我对坚果过敏")
    assert [each.action for each in await memory.curate(turn, NUTS)] == [FactAction.ADDED]
    assert set(await memory.facts(owner)) == {"nut_allergy"}
    report = await memory.call(Service.OPERATOR, op.CHECK_INVARIANTS, CheckInvariants())
    assert report.clean, report.violations


async def test_no_replay_names_the_user_any_more(memory: MemoryService, owner: Owner) -> None:
    other = Owner(tenant_id=owner.tenant_id, user_id=f"u-{uuid4()}")
    for each in (owner, other):
        await memory.curate(await memory.complete(each))
    chosen: list[dict[str, str]] = [{"user_id": each.user_id} for each in (owner, other)]
    jobs = []
    for one in [*chosen, {}]:
        selection = ReplaySelection.model_validate({"tenant_id": owner.tenant_id, **one})
        started = StartReplay(job_id=uuid4(), selection=selection)
        jobs.append((await memory.call(Service.OPERATOR, op.START_REPLAY, started)).job_id)
    await erase(memory, owner)
    listed = (await memory.call(Service.OPERATOR, op.LIST_REPLAYS, ListReplays(limit=500))).jobs
    assert [job_id in {job.job_id for job in listed} for job_id in jobs] == [False, True, True]
    report = await memory.call(Service.OPERATOR, op.SHOW_REPLAY, ShowReplay(job_id=jobs[2], turns=1_000))
    users = {turn.user_id for turn in report.turns}
    assert other.user_id in users
    assert owner.user_id not in users
    for job_id in jobs[1:]:
        await memory.call(Service.OPERATOR, op.CANCEL_REPLAY, CancelReplay(job_id=job_id))


async def test_counters_survive(memory: MemoryService, owner: Owner) -> None:
    turn = await memory.accept(owner)
    claimed = await memory.claim(turn)
    generation = (await erase(memory, owner)).purge_generation
    assert generation == claimed.purge_generation + 1
    again = await memory.claim(await memory.accept(owner))
    assert (again.purge_generation, again.seq > claimed.seq) == (generation, True)


async def test_a_copy_from_before_cannot_be_opened_any_more(
    memory: MemoryService, owner: Owner, database: Database, module_database: DatabaseUrls
) -> None:
    """What a backup of the rows holds; the key store has nothing left that opens it."""
    await leave_words_everywhere(memory, owner)
    connection = await asyncpg.connect(module_database.admin)
    backup = [
        (sealed, row)
        for sealed in SEALED_COLUMNS
        for row in await connection.fetch(f"SELECT * FROM {sealed.table.name} WHERE user_id = $1", owner.user_id)
        if row[sealed.column.name] is not None
    ]
    await connection.close()
    assert {sealed.table.name for sealed, _ in backup} >= {"memory_facts", "memory_fact_versions", "turns"}

    def opened() -> int:
        count = 0
        for sealed, row in backup:
            try:
                cipher.decrypt(row[sealed.column.name], place_in(sealed, row))
                count += 1
            except CannotDecrypt:
                pass
        return count

    cipher = UserCipher(owner, await database.keys.ring_of(owner))
    assert opened() == len(backup)
    await erase(memory, owner)
    database.keys.forget(owner)
    cipher = UserCipher(owner, await database.keys.ring_of(owner))
    assert opened() == 0


async def test_a_replica_with_the_old_key_in_its_cache_neither_writes_nor_reads_wrongly(
    memory: MemoryService, owner: Owner, module_database: DatabaseUrls, valkey: str, tmp_path: Path
) -> None:
    async with serving_memory(memory_settings(module_database, valkey, tmp_path)) as replica:
        session_id = await replica.new_session(owner)
        await put(replica, owner, "style", "简约")
        await erase(memory, owner)
        # Each of these is the first thing that the replica hears of the user after the erasure.
        await put(replica, owner, "style", "北欧")
        assert (await memory.facts(owner))["style"].value == "北欧"
        with pytest.raises(ProblemError) as caught:
            await replica.accept(owner, "还在吗", session_id)
        assert caught.value.code is ProblemCode.NOT_FOUND
        await erase(memory, owner)
        turn = await memory.accept(owner, "我对坚果过敏")  # this one's key the replica does not know
        claimed = await replica.claim(turn)
        assert claimed.text == "我对坚果过敏"
        await erase(memory, owner)
        later = await memory.accept(owner, "我对坚果过敏")
        await memory.claim(later)
        head = await replica.append(later, 0, '{"role":"user","content":"由另一个副本写"}')
        log = (await memory.claim(later)).log
        assert (head, [entry.payload for entry in log]) == (1, ['{"role":"user","content":"由另一个副本写"}'])
        await erase(memory, owner)
        settings = UserSettings(currency="EUR")
        await replica.call(Service.GATEWAY, op.PUT_SETTINGS, PutSettings(owner=owner, settings=settings))
        assert await memory.call(Service.GATEWAY, op.GET_SETTINGS, OwnedRequest(owner=owner)) == settings


async def test_a_repeated_erasure_erases_nothing_that_began_after_it(memory: MemoryService, owner: Owner) -> None:
    request_id = uuid4()
    first = await erase(memory, owner, request_id)
    await put(memory, owner, "style", "简约")
    again = await erase(memory, owner, request_id)
    assert (again.purge_generation, again.rows) == (first.purge_generation, {})
    assert set(await memory.facts(owner)) == {"style"}


async def test_erasures_and_writes_at_once_leave_one_readable_key(
    memory: MemoryService, owner: Owner, database: Database, module_database: DatabaseUrls
) -> None:
    for n in range(5):
        await asyncio.gather(
            erase(memory, owner),
            erase(memory, owner),
            put(memory, owner, "style", f"第{n}次"),
            memory.accept(owner),
            return_exceptions=True,
        )
    await put(memory, owner, "style", "最后")
    assert (await memory.facts(owner))["style"].value == "最后"
    database.keys.forget(owner)
    assert len(await database.keys.ring_of(owner)) == 1
    left = await readable_rows(module_database.admin, database, owner)
    assert UNREADABLE not in {value for values in left.values() for value in values}


@pytest.mark.parametrize("act", ["clear", "erase"])
async def test_what_a_turn_told_its_watchers_is_forgotten_and_not_written_again(
    memory: MemoryService, owner: Owner, valkey: str, act: str
) -> None:
    turn = await memory.accept(owner, CANARY)
    async with Redis.from_url(valkey) as redis:
        writer = ProgressWriter(redis, turn.turn_id, attempt=1)
        await writer.emit(ProgressEvent.TEXT_DELTA, {"text": CANARY})
        assert await redis.xlen(progress_stream(turn.turn_id)) == 1
        await (memory.clear(owner) if act == "clear" else erase(memory, owner))
        assert not await redis.exists(progress_stream(turn.turn_id))
        # The agent has not heard of it yet.
        await writer.emit(ProgressEvent.TEXT_DELTA, {"text": CANARY})
        assert not await redis.exists(progress_stream(turn.turn_id))
        assert 0 < await redis.ttl(progress_stream(turn.turn_id) + ":forgotten") <= 600


async def test_an_erased_turn_does_not_exist(memory: MemoryService, owner: Owner) -> None:
    turn = await memory.complete(owner)
    await erase(memory, owner)
    with pytest.raises(ProblemError) as caught:
        await memory.call(Service.GATEWAY, op.GET_TURN, TurnRequest(owner=owner, turn_id=turn.turn_id))
    assert caught.value.code is ProblemCode.NOT_FOUND
    token = uuid4()
    with pytest.raises(ProblemError) as caught:
        await memory.claim_curation(turn, token)
    assert caught.value.code is ProblemCode.NOT_FOUND


async def test_keys_may_lie_in_a_database_of_their_own(
    memory: MemoryService,
    owner: Owner,
    postgres: str,
    migrated_template: str,
    module_database: DatabaseUrls,
    valkey: str,
    tmp_path: Path,
) -> None:
    async with database_from(postgres, migrated_template) as key_database:
        apart = memory_settings(module_database, valkey, tmp_path, key_database_url=SecretStr(key_database.app))
        async with serving_memory(apart) as service:
            await leave_words_everywhere(service, owner)
            keys_there = await _count(key_database.admin, owner)
            keys_here = await _count(module_database.admin, owner)
            assert (keys_there, keys_here) == (1, 0)
            await erase(service, owner)
            await put(service, owner, "style", "简约")
            assert set(await service.facts(owner)) == {"style"}


async def _count(admin_url: str, owner: Owner) -> int:
    connection = await asyncpg.connect(admin_url)
    try:
        return int(await connection.fetchval("SELECT count(*) FROM user_keys WHERE user_id = $1", owner.user_id))
    finally:
        await connection.close()
