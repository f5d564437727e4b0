"""Replay jobs and their turns, circuits, and what the sweeper needs to find idle sessions."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0007"
down_revision: str | None = "0006"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

_OWN_ROWS = (
    "tenant_id = NULLIF(current_setting('app.tenant_id', true), '') "
    "AND user_id = NULLIF(current_setting('app.user_id', true), '')"
)


def upgrade() -> None:
    op.add_column("dispatch", sa.Column("dry_run", sa.Boolean(), server_default="false", nullable=False))
    op.create_table(
        "replay_jobs",
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Text(), nullable=True),
        sa.Column("user_id", sa.Text(), nullable=True),
        sa.Column("session_id", sa.Uuid(), nullable=True),
        sa.Column("since", sa.DateTime(timezone=True), nullable=True),
        sa.Column("until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("failed_only", sa.Boolean(), nullable=False),
        sa.Column("dry_run", sa.Boolean(), nullable=False),
        sa.Column("turns_per_second", sa.REAL(), nullable=False),
        sa.Column("state", sa.Text(), server_default="running", nullable=False),
        sa.Column("next_start_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("state IN ('running', 'finished', 'cancelled')", name="state_known"),
        sa.PrimaryKeyConstraint("job_id", name="replay_jobs_pkey"),
    )
    op.create_table(
        "replay_turns",
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("turn_id", sa.Uuid(), nullable=False),
        sa.Column("session_id", sa.Uuid(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), server_default="waiting", nullable=False),
        sa.Column("run", sa.Integer(), nullable=True),
        *(
            sa.Column(name, sa.Integer(), server_default="0", nullable=False)
            for name in ("added", "changed", "removed", "candidates", "skipped", "refused")
        ),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("state IN ('waiting', 'running', 'done', 'failed', 'gone')", name="state_known"),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", "job_id", "turn_id", name="replay_turns_pkey"),
    )
    op.create_index(
        "replay_turns_waiting",
        "replay_turns",
        ["job_id", "tenant_id", "user_id", "seq"],
        postgresql_where=sa.text("state = 'waiting'"),
    )
    op.create_index(
        "replay_turns_one_running_per_user",
        "replay_turns",
        ["tenant_id", "user_id"],
        unique=True,
        postgresql_where=sa.text("state = 'running'"),
    )
    op.create_index("replay_turns_of_job", "replay_turns", ["job_id", "state"])
    op.create_table(
        "circuits",
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("open_until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("probe_until", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("kind", name="circuits_pkey"),
    )
    # Not an index of the time of the last activity: every stored step would have to move in it.
    op.create_index("sessions_open", "sessions", ["created_at"], postgresql_where=sa.text("state = 'open'"))
    _secure()


def _secure() -> None:
    for table in ("replay_jobs", "replay_turns", "circuits"):
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
    op.execute(
        f"CREATE POLICY own_rows ON replay_turns TO shoppingx_memory USING ({_OWN_ROWS}) WITH CHECK ({_OWN_ROWS})"
    )
    op.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON replay_turns TO shoppingx_memory")
    # Ids and counts of all users, no words: like the work records.
    op.execute("CREATE POLICY all_work ON replay_turns TO shoppingx_dispatch USING (true) WITH CHECK (true)")
    op.execute("GRANT SELECT, INSERT ON replay_turns TO shoppingx_dispatch")
    op.execute("GRANT UPDATE (state, finished_at) ON replay_turns TO shoppingx_dispatch")
    # What belongs to no user.
    op.execute("CREATE POLICY all_work ON replay_jobs TO shoppingx_dispatch USING (true) WITH CHECK (true)")
    op.execute("GRANT SELECT, INSERT, UPDATE ON replay_jobs TO shoppingx_dispatch")
    op.execute(
        "CREATE POLICY all_work ON circuits TO shoppingx_memory, shoppingx_dispatch USING (true) WITH CHECK (true)"
    )
    op.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON circuits TO shoppingx_memory")
    op.execute("GRANT SELECT ON circuits TO shoppingx_dispatch")
    # The sweeper looks for idle sessions of all users: these columns, and not the one with words.
    op.execute("CREATE POLICY all_sessions ON sessions FOR SELECT TO shoppingx_dispatch USING (true)")
    op.execute(
        "GRANT SELECT (tenant_id, user_id, session_id, state, created_at, last_activity_at) "
        "ON sessions TO shoppingx_dispatch"
    )
