"""Promise 5: no user sees another user's data, enforced in PostgreSQL and not only in code."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import asyncpg
import pytest
from sqlalchemy import LargeBinary, select
from tests.support.memory_service import MovableClock, memory_settings

from common.memory_api.base import Owner
from common.memory_api.facts import ProposedFact, PutFact
from common.memory_api.sessions import CreateSession
from common.memory_api.turns import AcceptTurn
from devstack.database import DatabaseUrls
from memory.app import build_database
from memory.database.connection import DatabaseError
from memory.database.pool import Pool
from memory.database.schema import memory_facts, metadata, operating, sessions, turns
from memory.database.transactions import Database
from memory.encryption.keys import CannotDecrypt
from memory.facts.edits import put_fact
from memory.facts.rows import read_facts
from memory.policy import Policy
from memory.sessions.sessions import create_session
from memory.turns.accept import accept_turn

EXTRA_POLICIES = {
    "dispatch": ["all_work"],
    "replay_turns": ["all_work"],
    "sessions": ["all_sessions"],
    "users": ["all_users"],
}
"""Of the dispatch role; no table has words but `sessions`, of which it may read ids and times only."""


class _Failed(Exception):
    """What a use case raises; its transaction is rolled back."""


@pytest.fixture
async def pool_of_one(module_database: DatabaseUrls, valkey: str, tmp_path: Path) -> AsyncIterator[Database]:
    """Everybody shares one connection, so that whatever a transaction leaves behind is met by the next."""
    settings = memory_settings(module_database, valkey, tmp_path, database_pool_size=1)
    database = build_database(settings, Policy(), MovableClock())
    yield database
    await database.close()


@pytest.fixture
async def as_admin(module_database: DatabaseUrls) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(module_database.admin)
    yield connection
    await connection.close()


async def test_every_table_of_the_schema_is_under_forced_row_level_security(as_admin: asyncpg.Connection) -> None:
    rows = await as_admin.fetch(
        "SELECT relname, relrowsecurity, relforcerowsecurity, "
        "ARRAY(SELECT polname::text FROM pg_policy p WHERE p.polrelid = c.oid ORDER BY 1) AS policies "
        "FROM pg_class c WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace"
    )
    found = {row["relname"]: row for row in rows if row["relname"] != "alembic_version"}
    declared = {*metadata.tables, *operating.tables}
    assert set(found) == declared, "a table nobody declared, or a declared one that is missing"
    for name, row in found.items():
        assert row["relrowsecurity"], name
        assert row["relforcerowsecurity"], name
        if name in operating.tables:  # nobody's rows, and no words
            assert row["policies"] == ["all_work"], name
            assert not any(isinstance(column.type, LargeBinary) for column in operating.tables[name].columns), name
            continue
        assert row["policies"] == [*EXTRA_POLICIES.get(name, []), "own_rows"], name


async def test_policies_name_the_user_for_reading_and_for_writing(as_admin: asyncpg.Connection) -> None:
    rows = await as_admin.fetch(
        "SELECT tablename, qual, with_check, roles::text[] FROM pg_policies WHERE policyname = 'own_rows'"
    )
    assert len(rows) == len(metadata.tables)
    for row in rows:
        assert row["roles"] == ["shoppingx_memory"]
        for condition in (row["qual"], row["with_check"]):
            assert "app.tenant_id" in condition
            assert "app.user_id" in condition


async def test_the_service_roles_own_nothing_and_bypass_nothing(as_admin: asyncpg.Connection) -> None:
    roles = await as_admin.fetch(
        "SELECT rolname, rolsuper, rolbypassrls, rolcreaterole, rolcreatedb FROM pg_roles "
        "WHERE rolname LIKE 'shoppingx%'"
    )
    assert {role["rolname"] for role in roles} == {"shoppingx_memory", "shoppingx_dispatch"}
    for role in roles:
        assert not any(role[right] for right in ("rolsuper", "rolbypassrls", "rolcreaterole", "rolcreatedb"))
    owned = await as_admin.fetchval(
        "SELECT count(*) FROM pg_class c JOIN pg_roles r ON r.oid = c.relowner WHERE r.rolname LIKE 'shoppingx%'"
    )
    assert owned == 0
    members = await as_admin.fetchval(
        "SELECT count(*) FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.member WHERE r.rolname LIKE 'shoppingx%'"
    )
    assert members == 0


async def test_the_dispatch_role_sees_work_records_and_no_words(module_database: DatabaseUrls) -> None:
    connection = await asyncpg.connect(module_database.dispatch)
    try:
        await connection.fetch("SELECT * FROM dispatch")
        await connection.fetch("SELECT * FROM users")  # counters
        await connection.fetch("SELECT * FROM replay_jobs, replay_turns, circuits")  # ids and counts
        await connection.fetch("SELECT session_id, last_activity_at FROM sessions")
        for table in set(metadata.tables) - {"dispatch", "users", "replay_turns"}:
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.fetch(f"SELECT * FROM {table}")
        for forbidden in (
            "UPDATE users SET seq = 0",
            "DELETE FROM dispatch",
            "UPDATE dispatch SET user_id = 'x'",
            "TRUNCATE dispatch",
            "SELECT session_constraints FROM sessions",
            "UPDATE sessions SET state = 'ended'",
            "UPDATE replay_turns SET user_id = 'x'",
        ):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.execute(forbidden)
    finally:
        await connection.close()


async def test_without_a_user_there_is_nothing(pool_of_one: Database, module_database: DatabaseUrls) -> None:
    owner = Owner(tenant_id="t1", user_id="somebody")
    async with pool_of_one.of_user(owner) as tx:
        await put_fact(tx, PutFact(owner=owner, proposed=ProposedFact(key="k", value="v")))
    # The next borrower of the very connection that served the user: the setting is now an empty string and not NULL.
    async with pool_of_one._users.transaction() as connection:
        for table in metadata.sorted_tables:
            assert (await connection.execute(select(table))).all() == [], table.name
    fresh = Pool(module_database.app, 1)
    try:
        async with fresh.transaction() as connection:
            for table in metadata.sorted_tables:
                assert (await connection.execute(select(table))).all() == [], table.name
        async with fresh.transaction(owner) as connection:
            assert (await connection.execute(select(memory_facts))).all() != []
        async with fresh.transaction() as connection:
            assert (await connection.execute(select(memory_facts))).all() == []
    finally:
        await fresh.close()


async def test_a_row_cannot_be_written_for_somebody_else(pool_of_one: Database) -> None:
    me = Owner(tenant_id="t1", user_id="me")
    with pytest.raises(DatabaseError) as refused:
        async with pool_of_one.of_user(me) as tx:
            await tx.connection.execute(
                sessions.insert().values(
                    tenant_id="t1", user_id="you", session_id=uuid4(), created_at=tx.now, last_activity_at=tx.now
                )
            )
    assert "row-level security" in str(refused.value.__cause__)


async def test_random_interleavings_over_one_connection_show_no_foreign_row(pool_of_one: Database) -> None:
    owners = [Owner(tenant_id=f"t{n % 3}", user_id=f"u{n}") for n in range(12)]
    order = random.Random(20261130)

    async def work(owner: Owner, steps: list[str]) -> None:
        for step in steps:
            with suppress(_Failed):
                await one(owner, step)

    async def one(owner: Owner, step: str) -> None:
        async with pool_of_one.of_user(owner) as tx:
            if step == "write":
                await put_fact(tx, PutFact(owner=owner, proposed=ProposedFact(key="name", value=owner.user_id)))
            elif step == "turn":
                session = await create_session(tx, CreateSession(owner=owner))
                await accept_turn(
                    tx,
                    AcceptTurn(owner=owner, session_id=session.session_id, idempotency_key=str(uuid4()), text="x"),
                )
            elif step == "fail":
                raise _Failed
            for table in (memory_facts, turns, sessions):
                rows = (await tx.connection.execute(select(table.c.tenant_id, table.c.user_id))).all()
                assert {(row.tenant_id, row.user_id) for row in rows} <= {(owner.tenant_id, owner.user_id)}
            await asyncio.sleep(0)

    await asyncio.gather(
        *(work(owner, order.choices(["write", "turn", "read", "fail"], [3, 3, 4, 1], k=12)) for owner in owners)
    )


async def test_a_ciphertext_moved_to_another_row_does_not_open(
    pool_of_one: Database, as_admin: asyncpg.Connection
) -> None:
    owner = Owner(tenant_id="t1", user_id=f"u-{uuid4()}")
    async with pool_of_one.of_user(owner) as tx:
        for key in ("first", "second"):
            await put_fact(tx, PutFact(owner=owner, proposed=ProposedFact(key=key, value=f"value of {key}")))
    stored = await as_admin.fetchval(
        "SELECT value FROM memory_facts WHERE user_id = $1 AND fact_key = 'first'", owner.user_id
    )
    assert b"value of first" not in stored
    await as_admin.execute(
        "UPDATE memory_facts SET value = $2 WHERE user_id = $1 AND fact_key = 'second'", owner.user_id, stored
    )

    async with pool_of_one.of_user(owner) as tx:
        with pytest.raises(CannotDecrypt):
            await read_facts(tx)
