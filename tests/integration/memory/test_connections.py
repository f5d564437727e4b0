"""What connections to PostgreSQL go through without a caller noticing more than a retry."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import asyncpg
import pytest
from sqlalchemy import delete, insert, select, text
from tests.support.memory_service import MemoryService, MovableClock, memory_settings

from common.ids import new_id
from common.memory_api import operations as op
from common.memory_api.base import OwnedRequest, Owner
from common.memory_api.operations import Service
from common.memory_api.user_data import ItemId
from devstack.database import DatabaseUrls
from memory.app import build_database
from memory.database.connection import DatabaseError
from memory.database.pool import NotCommitted, Pool
from memory.database.schema import favourites
from memory.policy import Policy
from memory.users import lock_user, own


@pytest.fixture
async def as_admin(module_database: DatabaseUrls) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(module_database.admin)
    yield connection
    await connection.close()


async def _favourites(memory: MemoryService, owner: Owner) -> list[str]:
    answer = await memory.call(Service.GATEWAY, op.LIST_FAVOURITES, OwnedRequest(owner=owner))
    return list(answer.item_ids)


async def test_connections_that_were_cut_are_replaced(
    memory: MemoryService, owner: Owner, as_admin: asyncpg.Connection
) -> None:
    await memory.call(Service.GATEWAY, op.ADD_FAVOURITE, ItemId(owner=owner, item_id="bag-001"))
    for _ in range(3):
        cut = await as_admin.fetch(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND usename = 'shoppingx_memory'"
        )
        assert cut
        answers = await asyncio.gather(*(_favourites(memory, owner) for _ in range(4)))
        assert answers == [["bag-001"]] * 4


async def test_a_schema_that_changes_under_prepared_statements_costs_a_retry(
    memory: MemoryService, owner: Owner, as_admin: asyncpg.Connection
) -> None:
    await memory.call(Service.GATEWAY, op.ADD_FAVOURITE, ItemId(owner=owner, item_id="bag-001"))
    assert await _favourites(memory, owner) == ["bag-001"]
    await as_admin.execute("ALTER TABLE favourites ALTER COLUMN item_id TYPE varchar(200)")
    try:
        answers = await asyncio.gather(*(_favourites(memory, owner) for _ in range(4)))
        assert answers == [["bag-001"]] * 4
    finally:
        await as_admin.execute("ALTER TABLE favourites ALTER COLUMN item_id TYPE text")


@pytest.fixture
async def pool_of_one(module_database: DatabaseUrls) -> AsyncIterator[Pool]:
    pool = Pool(module_database.app, 1)
    yield pool
    await pool.close()


async def test_a_transaction_cancelled_anywhere_leaves_nothing_behind(pool_of_one: Pool) -> None:
    """Cancelled while it begins, in a statement, between statements or while it commits: the only connection, or what
    takes its place, has no transaction left, and what was written is there wholly or not at all."""
    owner = Owner(tenant_id="t1", user_id=f"cancelled-{new_id()}")

    async def work() -> None:
        async with pool_of_one.transaction(owner) as connection:
            for item in ("bag-001", "bag-002"):
                await connection.execute(insert(favourites).values(item_id=item, **_row(owner)))
                await asyncio.sleep(0)

    complaints: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, complaint: complaints.append(complaint))
    for turns_of_the_loop in range(40):
        working = asyncio.create_task(work())
        for _ in range(turns_of_the_loop):
            await asyncio.sleep(0)
        working.cancel()
        await asyncio.wait((working,))
        async with asyncio.timeout(10.0), pool_of_one.transaction(owner) as connection:
            found = (await connection.execute(delete(favourites).where(own(favourites)).returning(favourites))).all()
            assert len(found) in (0, 2)
    assert complaints == [], "the driver met a transaction that was left open"


async def test_a_cancelled_transaction_frees_its_locks(
    module_database: DatabaseUrls, owner: Owner, tmp_path: Path
) -> None:
    settings = memory_settings(module_database, "redis://127.0.0.1:1", tmp_path, database_pool_size=1)
    database = build_database(settings, Policy.of(settings), MovableClock())
    locked = asyncio.Event()

    async def hold() -> None:
        async with database.of_user(owner) as tx:
            await lock_user(tx)
            locked.set()
            await asyncio.Event().wait()

    holding = asyncio.create_task(hold())
    await locked.wait()
    holding.cancel()
    await asyncio.wait((holding,))
    try:
        async with asyncio.timeout(10.0), database.of_user(owner) as tx:  # the only connection, and the same row
            await lock_user(tx)
    finally:
        await database.close()


async def test_a_connection_cut_in_use_is_an_error_that_may_be_asked_again(
    pool_of_one: Pool, as_admin: asyncpg.Connection
) -> None:
    owner = Owner(tenant_id="t1", user_id=f"cut-{new_id()}")

    async def work(statements: int) -> None:
        async with pool_of_one.transaction(owner) as connection:
            backend = await connection.scalar(text("SELECT pg_backend_pid()"))
            await as_admin.fetchval("SELECT pg_terminate_backend($1, 5000)", backend)
            for _ in range(statements):  # the first meets the server's word of farewell, the next no connection
                with suppress(DatabaseError):
                    await connection.scalar(text("SELECT 1"))
            await connection.scalar(text("SELECT 1"))

    for statements in range(3):
        with pytest.raises(DatabaseError) as cut:
            await work(statements)
        assert cut.value.retryable, cut.value
    async with pool_of_one.transaction(owner) as connection:
        assert await connection.scalar(text("SELECT 1")) == 1


async def test_a_use_case_cannot_commit_after_one_of_its_statements_failed(pool_of_one: Pool) -> None:
    """PostgreSQL answers such a COMMIT with a ROLLBACK and no error."""
    owner = Owner(tenant_id="t1", user_id=f"failed-{new_id()}")

    async def carry_on() -> None:
        async with pool_of_one.transaction(owner) as connection:
            await connection.execute(insert(favourites).values(item_id="bag-001", **_row(owner)))
            with suppress(DatabaseError):
                await connection.execute(insert(favourites).values(item_id="bag-001", **_row(owner)))

    with pytest.raises(NotCommitted):
        await carry_on()
    async with pool_of_one.transaction(owner) as connection:
        assert (await connection.execute(select(favourites))).all() == []


async def test_an_error_quotes_no_value(pool_of_one: Pool) -> None:
    owner = Owner(tenant_id="t1", user_id=f"quoted-{new_id()}")
    await _insert(pool_of_one, owner, "a-canary")
    with pytest.raises(DatabaseError) as refused:
        await _insert(pool_of_one, owner, "a-canary")
    assert str(refused.value) == "UniqueViolationError 23505 favourites_pkey"
    with pytest.raises(DatabaseError) as not_sent:
        await _insert(pool_of_one, owner, 4711)
    assert str(not_sent.value) == "DataError 22000"
    assert "4711" in str(not_sent.value.__cause__)  # which is why only its kind is told
    assert not refused.value.retryable
    assert not not_sent.value.retryable


async def test_a_lock_that_does_not_come_is_an_error_that_may_be_asked_again(
    pool_of_one: Pool, module_database: DatabaseUrls
) -> None:
    owner = Owner(tenant_id="t1", user_id=f"locked-{new_id()}")
    other = Pool(module_database.app, 1)

    async def wait() -> None:
        async with other.transaction(owner) as second:
            assert await second.scalar(text("SELECT current_setting('lock_timeout')")) == "10s"
            await second.execute(text("SET LOCAL lock_timeout = '50ms'"))
            await second.execute(insert(favourites).values(item_id="bag-001", **_row(owner)))

    async with pool_of_one.transaction(owner) as connection:
        await connection.execute(insert(favourites).values(item_id="bag-001", **_row(owner)))
        with pytest.raises(DatabaseError) as waited:
            await wait()
    assert waited.value.retryable
    async with other.transaction(owner) as second:
        assert await second.scalar(text("SELECT current_setting('lock_timeout')")) == "10s"
    await other.close()


async def _insert(pool: Pool, owner: Owner, item_id: object) -> None:
    async with pool.transaction(owner) as connection:
        await connection.execute(insert(favourites).values(item_id=item_id, **_row(owner)))


def _row(owner: Owner) -> dict[str, object]:
    return {"tenant_id": owner.tenant_id, "user_id": owner.user_id, "created_at": MovableClock().now()}


async def test_a_server_that_is_not_there_is_an_error_that_may_be_asked_again(tmp_path: Path, owner: Owner) -> None:
    nowhere = DatabaseUrls(admin="", app="postgresql://a:b@127.0.0.1:9/x", dispatch="postgresql://a:b@127.0.0.1:9/x")
    settings = memory_settings(nowhere, "redis://127.0.0.1:1", tmp_path)
    database = build_database(settings, Policy.of(settings), MovableClock())
    with pytest.raises(DatabaseError) as refused:
        async with database.of_user(owner):
            pass
    assert refused.value.retryable
    await database.close()
