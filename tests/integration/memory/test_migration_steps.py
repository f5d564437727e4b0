"""Every migration keeps the rows that are there, and the release before it can go on writing meanwhile."""

import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest
from alembic.config import Config
from sqlalchemy import Connection, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from tests.support.databases import database_from
from tests.support.migration_steps import (
    USERS_PER_ROUND,
    Rows,
    Schema,
    fill,
    lost,
    read_rows,
    read_schema,
    revisions,
    upgrade,
    user_of,
)

from devstack.database import DatabaseUrls
from memory.database.migrate import alembic_config
from memory.database.schema import operating

# The service roles belong to the whole server; migrating the template makes them.
pytestmark = pytest.mark.usefixtures("migrated_template")

Answer = TypeVar("Answer")


class _Transactions:
    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def __call__(self, work: Callable[[Connection], Answer]) -> Answer:
        async with self._engine.begin() as connection:
            return await connection.run_sync(work)


@asynccontextmanager
async def _connected(url: str) -> AsyncIterator[_Transactions]:
    engine = create_async_engine(make_url(url).set(drivername="postgresql+asyncpg"))
    try:
        yield _Transactions(engine)
    finally:
        await engine.dispose()


@dataclass(frozen=True)
class Climbed:
    """Where a database stands after some migrations, and the rows that it holds then."""

    database: DatabaseUrls
    steps: int
    schema: Schema
    rows: Rows


async def _climb(database: DatabaseUrls, config: Config, since: Climbed | None = None) -> Climbed:
    """All further migrations in order. Between two: rows in every table, written as the release in between would."""
    begun = since.steps if since else 0
    schema, before = (since.schema, since.rows) if since else (Schema([], {}), Rows())
    ahead = revisions(config)[begun:]
    async with _connected(database.admin) as run:
        for step, revision in enumerate(ahead, start=begun):
            await run(partial(upgrade, config=config, revision=revision))
            old, schema = schema, await run(read_schema)
            after = await run(partial(read_rows, schema=schema))
            assert lost(before, after) == [], f"{revision} loses what was there"
            await run(partial(fill, schema=old, round_number=2 * step))
            written = await run(partial(fill, schema=schema, round_number=2 * step + 1))
            assert written >= USERS_PER_ROUND * len(schema.tables)
            before = await run(partial(read_rows, schema=schema))
    assert all(before.values()), "a row in every table"
    return Climbed(database, begun + len(ahead), schema, before)


@pytest.fixture(scope="module")
async def climbed(postgres: str) -> AsyncIterator[Climbed]:
    """A database that went through all our migrations, one by one."""
    async with database_from(postgres, None) as database:
        yield await _climb(database, alembic_config())


@pytest.fixture
async def copied(postgres: str, climbed: Climbed) -> AsyncIterator[DatabaseUrls]:
    """A copy of it, to try one more migration on."""
    async with database_from(postgres, make_url(climbed.database.admin).database) as database:
        yield database


async def test_every_migration_keeps_the_rows_and_the_release_before_it_can_go_on(climbed: Climbed) -> None:
    newest = 2 * USERS_PER_ROUND * (2 * climbed.steps - 1)
    of_users = [table.name for table in climbed.schema.tables if table.name not in operating.tables]
    seen: set[str] = set()
    async with _connected(climbed.database.app) as run:
        for number in range(newest, newest + USERS_PER_ROUND):  # they have rows also in the newest tables
            tenant, user = user_of(number)

            def owners(connection: Connection, owner: tuple[str, str] = (tenant, user)) -> dict[str, set[Any]]:
                """Whose rows the service's role sees in each table, as one user."""
                of_owner = text(
                    "SELECT set_config('app.tenant_id', :tenant, true), set_config('app.user_id', :user, true)"
                )
                connection.execute(of_owner, dict(zip(("tenant", "user"), owner, strict=True)))
                asked = {name: connection.execute(text(f"SELECT tenant_id, user_id FROM {name}")) for name in of_users}
                return {name: {tuple(row) for row in rows} for name, rows in asked.items()}

            for table, found in (await run(owners)).items():
                assert found <= {(tenant, user)}, table
                seen |= {table} if found else set()
    assert seen == set(of_users)


_GOOD = """
op.add_column("turns", sa.Column("mood", sa.Text(), nullable=True))
op.create_table(
    "parcels",
    sa.Column("tenant_id", sa.Text(), nullable=False),
    sa.Column("user_id", sa.Text(), nullable=False),
    sa.Column("turn_id", sa.Uuid(), nullable=False),
    sa.Column("state", sa.Text(), nullable=False),
    sa.Column("total", sa.Numeric(), nullable=False),
    sa.CheckConstraint("state IN ('open', 'paid')"),
    sa.ForeignKeyConstraint(["tenant_id", "user_id", "turn_id"], ["turns.tenant_id", "turns.user_id", "turns.turn_id"]),
    sa.PrimaryKeyConstraint("tenant_id", "user_id", "turn_id"),
)
"""


async def test_a_further_migration_is_covered_without_new_code(
    climbed: Climbed, copied: DatabaseUrls, tmp_path: Path
) -> None:
    further = await _climb(copied, _with_next(tmp_path, _GOOD), climbed)
    assert "parcels" in {table.name for table in further.schema.tables}


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("op.drop_column('turns', 'reply')", "loses what was there"),
        ("op.execute('DELETE FROM favourites')", "loses what was there"),
        ("op.execute(\"UPDATE turns SET status = 'completed' WHERE status = 'failed'\")", "loses what was there"),
        ("op.rename_table('favourites', 'liked')", "loses what was there"),
        ("op.alter_column('turns', 'failure', nullable=False, server_default='x')", "contains null values"),
        ("op.add_column('turns', sa.Column('mood', sa.Text(), nullable=False))", "contains null values"),
        ("op.execute('CREATE UNIQUE INDEX one ON turns (status)')", "could not create unique index"),
        ("op.create_check_constraint('few', 'users', 'seq < 30')", "violated by some row"),
    ],
)
async def test_a_migration_that_loses_rows_or_stops_the_release_before_it_is_found(
    climbed: Climbed, copied: DatabaseUrls, tmp_path: Path, change: str, found: str
) -> None:
    with pytest.raises((AssertionError, DBAPIError), match=found):
        await _climb(copied, _with_next(tmp_path, change), climbed)


def _with_next(directory: Path, change: str) -> Config:
    """The migrations there are, and one more that makes the change."""
    config = alembic_config()
    ours = Path(str(config.get_main_option("script_location")))
    shutil.copytree(ours, directory / "migrations", ignore=shutil.ignore_patterns("__pycache__"))
    last = revisions(config)[-1]
    body = "".join(f"    {line}\n" for line in change.strip().splitlines())
    (directory / "migrations" / "versions" / "9999_next.py").write_text(
        f'import sqlalchemy as sa\nfrom alembic import op\n\nrevision = "9999"\ndown_revision = "{last}"\n\n\n'
        f"def upgrade() -> None:\n{body}"
    )
    config.set_main_option("script_location", str(directory / "migrations"))
    return config
