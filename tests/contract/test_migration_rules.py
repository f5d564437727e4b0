"""Migrations only expand; what contracts says why nobody needs the old shape any more."""

from pathlib import Path

import pytest
from tests.support.migration_rules import contracting_changes

from memory.database import migrations

VERSIONS = sorted((Path(str(migrations.__file__)).parent / "versions").glob("[0-9]*.py"))

_HEAD = 'from alembic import op\nimport sqlalchemy as sa\nrevision = "0002"\ndown_revision = "0001"\n\ndef upgrade():\n'


def _migration(statement: str) -> str:
    return _HEAD + "".join(f"    {line}\n" for line in statement.splitlines())


@pytest.mark.parametrize("file", VERSIONS, ids=lambda file: file.stem)
def test_no_migration_breaks_the_release_before_it(file: Path) -> None:
    assert contracting_changes(file.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "statement",
    [
        'op.drop_column("turns", "text")',
        'op.drop_table("turns")',
        'op.drop_constraint("turns_pkey", "turns")',
        'op.rename_table("turns", "rounds")',
        'op.alter_column("turns", "seq", new_column_name="number")',
        'op.alter_column("turns", "seq", type_=sa.Text())',
        'op.alter_column("turns", "reply", nullable=False)',
        'op.add_column("turns", sa.Column("x", sa.Text(), nullable=False))',
        'op.create_unique_constraint("u", "turns", ["session_id"])',
        'op.create_check_constraint("c", "turns", "seq > 1")',
        'op.create_index("i", "turns", ["session_id"], unique=True)',
        'op.execute("ALTER TABLE turns DROP COLUMN reply")',
        'op.execute("ALTER TABLE turns RENAME TO rounds")',
        'op.execute(f"ALTER TABLE {table} ALTER COLUMN seq TYPE text")',
        'op.execute("alter table turns alter column reply set not null")',
        'op.execute(sa.text("DELETE FROM turns"))',
        "op.execute(statement)",
        'with op.batch_alter_table("turns") as batch:\n    batch.drop_column("reply")',
        '# contract:\nop.drop_table("turns")',
        '# contract: nobody uses it any more\nx = 1\nop.drop_table("turns")',
    ],
)
def test_what_takes_away_or_tightens_is_refused(statement: str) -> None:
    assert contracting_changes(_migration(statement))


@pytest.mark.parametrize(
    "statement",
    [
        'op.add_column("turns", sa.Column("x", sa.Text(), nullable=True))',
        'op.add_column("turns", sa.Column("x", sa.Text(), server_default="", nullable=False))',
        'op.create_table("orders", sa.Column("id", sa.Uuid(), nullable=False))\n'
        'op.create_index("orders_key", "orders", ["id"], unique=True)',
        'op.create_index("i", "turns", ["session_id"])',
        'op.alter_column("turns", "reply", nullable=True)',
        'op.execute("GRANT SELECT ON turns TO shoppingx_memory")',
        'op.execute("UPDATE turns SET failure = NULL WHERE failure = 0")',
        '# contract: nobody reads turns.reply since 2.4\nop.drop_column("turns", "reply")',
        'op.drop_column("turns", "reply")  # contract: nobody reads turns.reply since 2.4',
    ],
)
def test_what_adds_or_says_why_it_is_safe_passes(statement: str) -> None:
    assert contracting_changes(_migration(statement)) == []


def test_a_downgrade_and_the_first_migration_are_free() -> None:
    assert contracting_changes(_migration("pass") + '\ndef downgrade():\n    op.drop_table("turns")\n') == []
    assert contracting_changes(_migration('op.drop_table("turns")').replace('"0001"', "None")) == []
