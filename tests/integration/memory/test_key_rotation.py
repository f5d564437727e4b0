"""Rotating keys: everything can be read at every moment, nothing of the older keys stays, and the marks still count."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from sqlalchemy import LargeBinary
from tests.integration.memory.test_secrecy import CANARY, leave_words_everywhere
from tests.support.memory_service import MemoryService, memory_settings, serving_memory
from tests.support.readable_rows import UNREADABLE, places_of, readable_rows

from common.memory_api import operations as op
from common.memory_api.base import Owner
from common.memory_api.facts import FactAction, FactKeyRequest, ProposedFact
from common.memory_api.operations import Service
from devstack.database import DatabaseUrls
from memory.app import build_database
from memory.database.schema import metadata
from memory.database.transactions import Database
from memory.encryption import rotation
from memory.encryption.rotation import rotate_key, settle_keys
from memory.encryption.sealed_columns import HASHES, SEALED_COLUMNS
from memory.policy import Policy

NUTS = ProposedFact(key="nut_allergy", value="对坚果过敏", category="constraint", evidence="我对坚果过敏")
SETTLING = timedelta(minutes=6).total_seconds()


@pytest.fixture
async def database(memory: MemoryService) -> AsyncIterator[Database]:
    """The operator's process, or another replica."""
    made = build_database(memory.settings, Policy(), memory.clock)
    yield made
    await made.close()


@pytest.fixture
async def as_admin(module_database: DatabaseUrls) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(module_database.admin)
    yield connection
    await connection.close()


async def everything(admin_url: str, database: Database, owner: Owner) -> dict[str, list[str]]:
    """Sealed columns alone: the rest (counters, key ids) may change."""
    found = await readable_rows(admin_url, database, owner)
    sealed = {each.name for each in SEALED_COLUMNS}
    return {place: sorted(values) for place, values in found.items() if place in sealed}


async def key_ids_in_use(connection: asyncpg.Connection, owner: Owner) -> set[bytes]:
    used: set[bytes] = set()
    for sealed in SEALED_COLUMNS:
        rows = await connection.fetch(
            f"SELECT substr({sealed.column.name}, 1, 17) FROM {sealed.table.name} "
            f"WHERE user_id = $1 AND {sealed.column.name} IS NOT NULL",
            owner.user_id,
        )
        used |= {row[0] for row in rows}
    return used


def test_every_binary_column_is_known_to_the_rotation() -> None:
    """One that is not would be sealed with a key that is destroyed."""
    sealed = {each.name for each in SEALED_COLUMNS}
    binary = {
        f"{table.name}.{column.name}"
        for table in metadata.sorted_tables
        for column in table.columns
        if isinstance(column.type, LargeBinary) and table.name != "user_keys"
    }
    assert binary == sealed | set(HASHES)
    assert not sealed & set(HASHES)


async def test_everything_is_sealed_anew_and_the_old_key_is_destroyed_later(
    memory: MemoryService,
    owner: Owner,
    database: Database,
    as_admin: asyncpg.Connection,
    module_database: DatabaseUrls,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rotation, "BATCH", 2)  # so that several batches are needed
    await leave_words_everywhere(memory, owner)
    known = set(await memory.facts(owner))
    before = await everything(module_database.admin, database, owner)
    (old,) = await key_ids_in_use(as_admin, owner)

    values = sum(len(each) for each in before.values())
    assert await rotate_key(database, owner) == values
    (new,) = await key_ids_in_use(as_admin, owner)
    assert new != old
    assert await everything(module_database.admin, database, owner) == before
    assert set(await memory.facts(owner)) == known, "a replica that has the old key in its cache"

    assert not await settle_keys(database, owner), "a transaction with the old key may still be at work"
    assert len(await database.keys.ring_of(owner)) == 2
    memory.clock.advance(SETTLING)
    assert await settle_keys(database, owner)
    assert len(await database.keys.ring_of(owner)) == 1
    assert await everything(module_database.admin, database, owner) == before
    assert CANARY in str(await memory.call(Service.GATEWAY, op.FACT_HISTORY, FactKeyRequest(owner=owner, key="k")))


async def test_what_was_sealed_late_is_found_before_the_old_key_is_destroyed(
    memory: MemoryService, owner: Owner, database: Database, as_admin: asyncpg.Connection
) -> None:
    turn = await memory.accept(owner, CANARY)
    late = await as_admin.fetchval("SELECT user_text FROM turns WHERE turn_id = $1", turn.turn_id)
    await rotate_key(database, owner)
    await as_admin.execute("UPDATE turns SET user_text = $2 WHERE turn_id = $1", turn.turn_id, late)
    memory.clock.advance(SETTLING)
    assert await settle_keys(database, owner)
    assert (await memory.claim(turn)).text == CANARY


async def test_a_rotation_that_begins_while_another_is_settled_loses_nothing(
    memory: MemoryService, owner: Owner, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn = await memory.accept(owner, CANARY)
    await rotate_key(database, owner)
    memory.clock.advance(SETTLING)
    sealing = rotation.seal_anew

    async def sealed_and_then_another_key_comes_into_force(*arguments: Any) -> int:
        monkeypatch.setattr(rotation, "seal_anew", nothing_sealed_yet)
        sealed = await sealing(*arguments)
        await rotate_key(database, owner)
        return sealed

    async def nothing_sealed_yet(*_: Any) -> int:
        return 0

    monkeypatch.setattr(rotation, "seal_anew", sealed_and_then_another_key_comes_into_force)
    assert not await settle_keys(database, owner)
    assert (await memory.claim(turn)).text == CANARY
    monkeypatch.undo()
    memory.clock.advance(SETTLING)
    assert await settle_keys(database, owner)
    assert (await memory.claim(turn)).text == CANARY


async def test_marks_and_repeated_requests_are_still_recognised(
    memory: MemoryService, owner: Owner, database: Database
) -> None:
    older = await memory.complete(owner)
    await memory.curate(await memory.complete(owner), NUTS)
    await memory.call(Service.GATEWAY, op.DELETE_FACT, FactKeyRequest(owner=owner, key="nut_allergy"))
    session_id = await memory.new_session(owner)
    first = await memory.accept(owner, "你好", session_id, key="k")
    await rotate_key(database, owner)
    same_under_another_key = NUTS.model_copy(update={"key": "food_rule"})
    actions = [each.action for each in await memory.curate(older, NUTS, same_under_another_key)]
    assert actions == [FactAction.DELETED_BY_USER] * 2
    assert (await memory.accept(owner, "你好", session_id, key="k")).turn_id == first.turn_id


async def test_writes_go_on_while_keys_are_rotated(
    memory: MemoryService, owner: Owner, database: Database, module_database: DatabaseUrls
) -> None:
    async def chat() -> None:
        for n in range(12):
            turn = await memory.accept(owner, f"第 {n} 轮")
            head = (await memory.claim(turn)).head
            head = await memory.append(turn, head, '{"role":"user","content":"…"}')
            await memory.finish(turn, head)

    async def rotate() -> None:
        for _ in range(4):
            await rotate_key(database, owner)

    await asyncio.gather(chat(), rotate())
    memory.clock.advance(SETTLING)
    assert await settle_keys(database, owner)
    left = await readable_rows(module_database.admin, database, owner)
    assert UNREADABLE not in {value for values in left.values() for value in values}
    assert len(places_of(left, "第 11 轮")) == 1


async def test_a_rotation_moves_everybody_to_a_new_master_key(
    memory: MemoryService, owner: Owner, module_database: DatabaseUrls, valkey: str, tmp_path: Path
) -> None:
    await leave_words_everywhere(memory, owner)
    known = await memory.facts(owner)
    (tmp_path / "master.key").write_text("ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICA=")
    both = {"memory_previous_master_key_files": (memory.settings.memory_master_key_file,)}
    changing = build_database(memory_settings(module_database, valkey, tmp_path, **both), Policy(), memory.clock)
    await rotate_key(changing, owner)
    memory.clock.advance(SETTLING)
    assert await settle_keys(changing, owner)
    await changing.close()
    async with serving_memory(memory_settings(module_database, valkey, tmp_path)) as with_the_new_one_alone:
        assert await with_the_new_one_alone.facts(owner) == known


async def test_a_user_from_before_keys_had_ids(
    memory: MemoryService, owner: Owner, database: Database, as_admin: asyncpg.Connection
) -> None:
    """Layout 1 everywhere, and no key named: what the first release left behind."""
    turn = await memory.accept(owner, CANARY)
    for sealed in SEALED_COLUMNS:
        await as_admin.execute(
            f"UPDATE {sealed.table.name} SET {sealed.column.name} = "
            f"'\\x01'::bytea || substr({sealed.column.name}, 18) WHERE user_id = $1",
            owner.user_id,
        )
    await as_admin.execute("UPDATE users SET key_id = NULL WHERE user_id = $1", owner.user_id)
    assert (await memory.claim(turn)).text == CANARY
    await memory.append(turn, 0, '{"role":"user"}')
    await rotate_key(database, owner)
    assert (await memory.claim(turn)).text == CANARY
    assert len(await key_ids_in_use(as_admin, owner)) == 1
