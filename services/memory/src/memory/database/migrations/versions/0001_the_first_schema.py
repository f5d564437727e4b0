"""The first schema: tables, forced row-level security on every table of users' rows, and the two roles' rights.

The service roles own nothing. `shoppingx_memory` sees the rows of the user that its transaction names;
`shoppingx_dispatch` sees work records of all users and nothing else.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0001"
down_revision: str | None = None
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

_OWN_ROWS = (
    "tenant_id = NULLIF(current_setting('app.tenant_id', true), '') "
    "AND user_id = NULLIF(current_setting('app.user_id', true), '')"
)

_TABLES = (
    "behaviour",
    "curation_outcomes",
    "dispatch",
    "favourites",
    "memory_candidates",
    "memory_fact_evidence",
    "memory_fact_versions",
    "memory_facts",
    "memory_tombstones",
    "memory_uses",
    "model_calls",
    "session_log",
    "sessions",
    "tool_effects",
    "turns",
    "user_keys",
    "user_settings",
    "users",
)


def upgrade() -> None:
    _create_tables()
    _secure()


def _create_tables() -> None:
    op.create_table(
        "behaviour",
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("behaviour_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("text", sa.LargeBinary(), nullable=False),
        sa.Column("turn_id", sa.Uuid(), nullable=True),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("kind IN ('purchase', 'search')", name="kind_known"),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", "behaviour_id", name="behaviour_pkey"),
    )
    op.create_index("behaviour_newest", "behaviour", ["tenant_id", "user_id", "kind", "seq", "position"], unique=False)
    op.create_table(
        "dispatch",
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("subject_id", sa.Uuid(), nullable=False),
        sa.Column("run", sa.Integer(), server_default="0", nullable=False),
        sa.Column("session_id", sa.Uuid(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("purge_generation", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), server_default="pending", nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("lease_token", sa.Uuid(), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("deadline_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("next_attempt_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("publish_after", sa.DateTime(timezone=True), nullable=False),
        sa.Column("error_code", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "(state = 'leased') <= (lease_token IS NOT NULL AND lease_until IS NOT NULL)", name="leased"
        ),
        sa.CheckConstraint("kind IN ('turn', 'curate_turn', 'close_session', 'user_day')", name="kind_known"),
        sa.CheckConstraint("state IN ('pending', 'leased', 'done', 'dead', 'discarded')", name="state_known"),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", "kind", "subject_id", "run", name="dispatch_pkey"),
    )
    op.create_index("dispatch_of_user", "dispatch", ["tenant_id", "user_id", "kind", "seq"], unique=False)
    op.create_index(
        "dispatch_open",
        "dispatch",
        ["state", "next_attempt_at"],
        unique=False,
        postgresql_where=sa.text("state IN ('pending', 'leased')"),
    )
    op.create_table(
        "favourites",
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("item_id", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", "item_id", name="favourites_pkey"),
    )
    op.create_table(
        "memory_candidates",
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("candidate_id", sa.Uuid(), nullable=False),
        sa.Column("fact_key", sa.Text(), nullable=False),
        sa.Column("value", sa.LargeBinary(), nullable=False),
        sa.Column("category", sa.Text(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("run", sa.Integer(), nullable=False),
        sa.Column("session_id", sa.Uuid(), nullable=False),
        sa.Column("turn_id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("category IN ('constraint', 'preference', 'context')", name="category_known"),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", "candidate_id", name="memory_candidates_pkey"),
        sa.UniqueConstraint("tenant_id", "user_id", "turn_id", "fact_key", name="memory_candidates_turn_key"),
    )
    op.create_table(
        "memory_facts",
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("fact_id", sa.Uuid(), nullable=False),
        sa.Column("fact_key", sa.Text(), nullable=False),
        sa.Column("value", sa.LargeBinary(), nullable=False),
        sa.Column("category", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), server_default="self", nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("rank", sa.SmallInteger(), nullable=False),
        sa.Column("run", sa.Integer(), nullable=False),
        sa.Column("session_id", sa.Uuid(), nullable=True),
        sa.Column("turn_id", sa.Uuid(), nullable=True),
        sa.Column("confidence", sa.REAL(), server_default="1", nullable=False),
        sa.Column("importance", sa.REAL(), server_default="1", nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("category IN ('constraint', 'preference', 'context')", name="category_known"),
        sa.CheckConstraint("source IN ('save_memory', 'curator', 'user', 'import')", name="source_known"),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", "fact_id", name="memory_facts_pkey"),
        sa.UniqueConstraint("tenant_id", "user_id", "fact_key", name="memory_facts_fact_key_key"),
    )
    op.create_table(
        "memory_tombstones",
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("fact_key", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.LargeBinary(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("reason IN ('deleted', 'refused')", name="reason_known"),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", "fact_key", "fingerprint", name="memory_tombstones_pkey"),
    )
    op.create_table(
        "sessions",
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Uuid(), nullable=False),
        sa.Column("state", sa.Text(), server_default="open", nullable=False),
        sa.Column("release", sa.Text(), nullable=True),
        sa.Column("head", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("session_constraints", sa.LargeBinary(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_activity_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("end_reason", sa.Text(), nullable=True),
        sa.CheckConstraint("state IN ('open', 'ended')", name="state_known"),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", "session_id", name="sessions_pkey"),
    )
    op.create_table(
        "user_keys",
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("key_id", sa.Uuid(), nullable=False),
        sa.Column("wrapped_key", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", name="user_keys_pkey"),
    )
    op.create_table(
        "user_settings",
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("settings", sa.LargeBinary(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", name="user_settings_pkey"),
    )
    op.create_table(
        "users",
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("seq", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("memory_purge_gen", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("last_clear_id", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", name="users_pkey"),
    )
    op.create_table(
        "memory_fact_evidence",
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("fact_id", sa.Uuid(), nullable=False),
        sa.Column("turn_id", sa.Uuid(), nullable=False),
        sa.Column("session_id", sa.Uuid(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("source IN ('save_memory', 'curator', 'user', 'import')", name="source_known"),
        sa.ForeignKeyConstraint(
            ["tenant_id", "user_id", "fact_id"],
            ["memory_facts.tenant_id", "memory_facts.user_id", "memory_facts.fact_id"],
            name="memory_fact_evidence_fact_id_fkey",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", "fact_id", "turn_id", name="memory_fact_evidence_pkey"),
    )
    op.create_table(
        "memory_fact_versions",
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("version_id", sa.Uuid(), nullable=False),
        sa.Column("fact_id", sa.Uuid(), nullable=False),
        sa.Column("fact_key", sa.Text(), nullable=False),
        sa.Column("value", sa.LargeBinary(), nullable=False),
        sa.Column("category", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("rank", sa.SmallInteger(), nullable=False),
        sa.Column("run", sa.Integer(), nullable=False),
        sa.Column("session_id", sa.Uuid(), nullable=True),
        sa.Column("turn_id", sa.Uuid(), nullable=True),
        sa.Column("written_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("replaced_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("category IN ('constraint', 'preference', 'context')", name="category_known"),
        sa.CheckConstraint("source IN ('save_memory', 'curator', 'user', 'import')", name="source_known"),
        sa.ForeignKeyConstraint(
            ["tenant_id", "user_id", "fact_id"],
            ["memory_facts.tenant_id", "memory_facts.user_id", "memory_facts.fact_id"],
            name="memory_fact_versions_fact_id_fkey",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", "version_id", name="memory_fact_versions_pkey"),
    )
    op.create_index(
        "memory_fact_versions_of_key",
        "memory_fact_versions",
        ["tenant_id", "user_id", "fact_key", "replaced_at"],
        unique=False,
    )
    op.create_table(
        "turns",
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("turn_id", sa.Uuid(), nullable=False),
        sa.Column("session_id", sa.Uuid(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("purge_generation", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.Text(), server_default="accepted", nullable=False),
        sa.Column("attempt", sa.Integer(), server_default="0", nullable=False),
        sa.Column("idempotency_key", sa.Text(), nullable=False),
        sa.Column("request_hash", sa.LargeBinary(), nullable=False),
        sa.Column("user_text", sa.LargeBinary(), nullable=False),
        sa.Column("reply", sa.LargeBinary(), nullable=True),
        sa.Column("items", sa.LargeBinary(), nullable=True),
        sa.Column("failure", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("first_claimed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "status IN ('accepted', 'running', 'completed', 'failed', 'cancelled')", name="status_known"
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "user_id", "session_id"],
            ["sessions.tenant_id", "sessions.user_id", "sessions.session_id"],
            name="turns_session_id_fkey",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", "turn_id", name="turns_pkey"),
        sa.UniqueConstraint("tenant_id", "user_id", "idempotency_key", name="turns_idempotency_key"),
        sa.UniqueConstraint("tenant_id", "user_id", "seq", name="turns_seq_key"),
    )
    op.create_index("turns_of_session", "turns", ["tenant_id", "user_id", "session_id", "seq"], unique=False)
    op.create_index(
        "turns_one_open_per_session",
        "turns",
        ["tenant_id", "user_id", "session_id"],
        unique=True,
        postgresql_where=sa.text("status IN ('accepted', 'running')"),
    )
    op.create_table(
        "curation_outcomes",
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("turn_id", sa.Uuid(), nullable=False),
        sa.Column("run", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("fact_key", sa.Text(), nullable=True),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("category", sa.Text(), nullable=True),
        sa.Column("rule", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["tenant_id", "user_id", "turn_id"],
            ["turns.tenant_id", "turns.user_id", "turns.turn_id"],
            name="curation_outcomes_turn_id_fkey",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", "turn_id", "run", "position", name="curation_outcomes_pkey"),
    )
    op.create_table(
        "memory_uses",
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("turn_id", sa.Uuid(), nullable=False),
        sa.Column("fact_id", sa.Uuid(), nullable=False),
        sa.Column("how", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("how IN ('injected', 'recalled')", name="how_known"),
        sa.ForeignKeyConstraint(
            ["tenant_id", "user_id", "fact_id"],
            ["memory_facts.tenant_id", "memory_facts.user_id", "memory_facts.fact_id"],
            name="memory_uses_fact_id_fkey",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "user_id", "turn_id"],
            ["turns.tenant_id", "turns.user_id", "turns.turn_id"],
            name="memory_uses_turn_id_fkey",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", "turn_id", "fact_id", "how", name="memory_uses_pkey"),
    )
    op.create_table(
        "model_calls",
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("turn_id", sa.Uuid(), nullable=False),
        sa.Column("session_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("run", sa.Integer(), nullable=False),
        sa.Column("call_number", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("prompt_tokens", sa.Integer(), nullable=True),
        sa.Column("cached_tokens", sa.Integer(), nullable=True),
        sa.Column("completion_tokens", sa.Integer(), nullable=True),
        sa.Column("time_to_first_token_ms", sa.Integer(), nullable=True),
        sa.Column("duration_ms", sa.Integer(), nullable=False),
        sa.Column("finish_reason", sa.Text(), nullable=True),
        sa.Column("layer_hashes", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("first_differing_layer", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id", "user_id", "turn_id"],
            ["turns.tenant_id", "turns.user_id", "turns.turn_id"],
            name="model_calls_turn_id_fkey",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "tenant_id", "user_id", "turn_id", "kind", "run", "call_number", name="model_calls_pkey"
        ),
    )
    op.create_index("model_calls_of_session", "model_calls", ["tenant_id", "user_id", "session_id"], unique=False)
    op.create_table(
        "session_log",
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Uuid(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("entry_id", sa.Uuid(), nullable=False),
        sa.Column("turn_id", sa.Uuid(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("layer", sa.Text(), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.Column("bears_memory", sa.Boolean(), nullable=False),
        sa.Column("memory_fact_ids", sa.ARRAY(sa.Uuid()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("kind IN ('message', 'prune', 'summary')", name="kind_known"),
        sa.CheckConstraint("layer IN ('L2', 'L3', 'L4', 'L5')", name="layer_known"),
        sa.ForeignKeyConstraint(
            ["tenant_id", "user_id", "session_id"],
            ["sessions.tenant_id", "sessions.user_id", "sessions.session_id"],
            name="session_log_session_id_fkey",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "user_id", "turn_id"],
            ["turns.tenant_id", "turns.user_id", "turns.turn_id"],
            name="session_log_turn_id_fkey",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", "session_id", "position", name="session_log_pkey"),
        sa.UniqueConstraint("tenant_id", "user_id", "entry_id", name="session_log_entry_id_key"),
    )
    op.create_index("session_log_of_turn", "session_log", ["tenant_id", "user_id", "turn_id", "position"], unique=False)
    op.create_table(
        "tool_effects",
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("turn_id", sa.Uuid(), nullable=False),
        sa.Column("call_id", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("fact_key", sa.Text(), nullable=True),
        sa.Column("rule", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id", "user_id", "turn_id"],
            ["turns.tenant_id", "turns.user_id", "turns.turn_id"],
            name="tool_effects_turn_id_fkey",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", "turn_id", "call_id", name="tool_effects_pkey"),
    )


def _secure() -> None:
    op.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    op.execute("GRANT USAGE ON SCHEMA public TO shoppingx_memory, shoppingx_dispatch")
    for table in _TABLES:
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(
            f"CREATE POLICY own_rows ON {table} TO shoppingx_memory USING ({_OWN_ROWS}) WITH CHECK ({_OWN_ROWS})"
        )
        # A user's counters never restart, so their row is never deleted.
        rights = "SELECT, INSERT, UPDATE" if table == "users" else "SELECT, INSERT, UPDATE, DELETE"
        op.execute(f"GRANT {rights} ON {table} TO shoppingx_memory")
    op.execute("CREATE POLICY all_work ON dispatch TO shoppingx_dispatch USING (true) WITH CHECK (true)")
    # Counters only; the check of the invariants starts from everyone there is.
    op.execute("CREATE POLICY all_users ON users FOR SELECT TO shoppingx_dispatch USING (true)")
    op.execute("GRANT SELECT ON users TO shoppingx_dispatch")
    op.execute("GRANT SELECT ON dispatch TO shoppingx_dispatch")
    op.execute(
        "GRANT UPDATE (state, attempts, lease_token, lease_until, next_attempt_at, publish_after, error_code) "
        "ON dispatch TO shoppingx_dispatch"
    )
