"""The tables, as the queries see them. The migrations make them; a test compares the two.

Every key starts with (tenant_id, user_id): no unique key tells one user about another, and a user's rows can be
placed together (Citus). Columns of type LargeBinary hold a user's words, encrypted with that user's key.
"""

from sqlalchemy import (
    ARRAY,
    REAL,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.sql.schema import SchemaItem

metadata = MetaData()

_Time = DateTime(timezone=True)


def _one_of(column: str, *values: str) -> CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=f"{column}_known")


def _owned(name: str, *items: SchemaItem, key: tuple[str, ...]) -> Table:
    """A table of users' rows: owner columns first, and the owner first in the primary key."""
    return Table(
        name,
        metadata,
        Column("tenant_id", Text, nullable=False),
        Column("user_id", Text, nullable=False),
        *items,
        PrimaryKeyConstraint("tenant_id", "user_id", *key, name=f"{name}_pkey"),
    )


def _belongs_to(parent: str, column: str, table: str) -> ForeignKeyConstraint:
    return ForeignKeyConstraint(
        ["tenant_id", "user_id", column],
        [f"{parent}.tenant_id", f"{parent}.user_id", f"{parent}.{column}"],
        ondelete="CASCADE",
        name=f"{table}_{column}_fkey",
    )


users = _owned(
    "users",
    Column("seq", BigInteger, nullable=False, server_default="0"),
    Column("memory_purge_gen", BigInteger, nullable=False, server_default="0"),
    Column("last_clear_id", Uuid),
    Column("created_at", _Time, nullable=False),
    Column("last_erase_id", Uuid),
    Column("key_id", Uuid),
    Column("key_changed_at", _Time),
    Column("retained_at", _Time),
    Index("users_retained", "retained_at"),
    key=(),
)
"""The two counters never restart, also after erasure: the row outlives the user's data.

`key_id` is the key that the user's words are sealed with, `key_changed_at` is set while older ones may still be there,
`retained_at` is when the retention job was last here."""

user_keys = _owned(
    "user_keys",
    Column("key_id", Uuid, nullable=False),
    Column("wrapped_key", LargeBinary, nullable=False),
    Column("created_at", _Time, nullable=False),
    Column("older_key_ids", ARRAY(Uuid), nullable=False, server_default="{}"),
    Column("older_wrapped_keys", ARRAY(LargeBinary), nullable=False, server_default="{}"),
    key=(),
)

user_settings = _owned(
    "user_settings",
    Column("settings", LargeBinary, nullable=False),
    Column("updated_at", _Time, nullable=False),
    key=(),
)

favourites = _owned(
    "favourites",
    Column("item_id", Text, nullable=False),
    Column("created_at", _Time, nullable=False),
    key=("item_id",),
)

personal_skills = _owned(
    "personal_skills",
    Column("skill_id", Uuid, nullable=False),
    Column("name", Text, nullable=False),
    Column("description", LargeBinary, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("created_at", _Time, nullable=False),
    UniqueConstraint("tenant_id", "user_id", "name", name="personal_skills_name_key"),
    key=("skill_id",),
)

sessions = _owned(
    "sessions",
    Column("session_id", Uuid, nullable=False),
    Column("state", Text, nullable=False, server_default="open"),
    Column("release", Text),
    Column("head", BigInteger, nullable=False, server_default="0"),
    Column("session_constraints", LargeBinary),
    Column("created_at", _Time, nullable=False),
    Column("last_activity_at", _Time, nullable=False),
    Column("ended_at", _Time),
    Column("end_reason", Text),
    _one_of("state", "open", "ended"),
    Index("sessions_open", "created_at", postgresql_where=text("state = 'open'")),
    key=("session_id",),
)

turns = _owned(
    "turns",
    Column("turn_id", Uuid, nullable=False),
    Column("session_id", Uuid, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("purge_generation", BigInteger, nullable=False),
    Column("status", Text, nullable=False, server_default="accepted"),
    Column("attempt", Integer, nullable=False, server_default="0"),
    Column("idempotency_key", Text, nullable=False),
    Column("request_hash", LargeBinary, nullable=False),
    Column("user_text", LargeBinary, nullable=False),
    Column("reply", LargeBinary),
    Column("items", LargeBinary),
    Column("failure", Text),
    Column("created_at", _Time, nullable=False),
    Column("first_claimed_at", _Time),
    Column("finished_at", _Time),
    _one_of("status", "accepted", "running", "completed", "failed", "cancelled"),
    UniqueConstraint("tenant_id", "user_id", "idempotency_key", name="turns_idempotency_key"),
    UniqueConstraint("tenant_id", "user_id", "seq", name="turns_seq_key"),
    _belongs_to("sessions", "session_id", "turns"),
    Index(
        "turns_one_open_per_session",
        "tenant_id",
        "user_id",
        "session_id",
        unique=True,
        postgresql_where=text("status IN ('accepted', 'running')"),
    ),
    Index("turns_of_session", "tenant_id", "user_id", "session_id", "seq"),
    key=("turn_id",),
)

session_log = _owned(
    "session_log",
    Column("session_id", Uuid, nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("entry_id", Uuid, nullable=False),
    Column("turn_id", Uuid, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("layer", Text, nullable=False),
    Column("payload", LargeBinary, nullable=False),
    Column("bears_memory", Boolean, nullable=False),
    Column("memory_fact_ids", ARRAY(Uuid), nullable=False),
    Column("created_at", _Time, nullable=False),
    _one_of("kind", "message", "prune", "summary"),
    _one_of("layer", "L2", "L3", "L4", "L5"),
    UniqueConstraint("tenant_id", "user_id", "entry_id", name="session_log_entry_id_key"),
    _belongs_to("sessions", "session_id", "session_log"),
    _belongs_to("turns", "turn_id", "session_log"),
    Index("session_log_of_turn", "tenant_id", "user_id", "turn_id", "position"),
    key=("session_id", "position"),
)

model_calls = _owned(
    "model_calls",
    Column("turn_id", Uuid, nullable=False),
    Column("session_id", Uuid, nullable=False),
    Column("kind", Text, nullable=False),
    Column("run", Integer, nullable=False),
    Column("call_number", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("model", Text, nullable=False),
    Column("prompt_tokens", Integer),
    Column("cached_tokens", Integer),
    Column("cache_write_tokens", Integer),
    Column("completion_tokens", Integer),
    Column("reasoning_tokens", Integer),
    Column("time_to_first_token_ms", Integer),
    Column("duration_ms", Integer, nullable=False),
    Column("finish_reason", Text),
    Column("log_position", BigInteger),
    Column("layer_hashes", JSONB, nullable=False),
    Column("first_differing_layer", Text),
    Column("first_differing_position", BigInteger),
    Column("first_differing_cause", Text),
    Column("created_at", _Time, nullable=False),
    _belongs_to("turns", "turn_id", "model_calls"),
    Index("model_calls_of_session", "tenant_id", "user_id", "session_id"),
    Index("model_calls_of_user", "tenant_id", "user_id", "created_at"),
    key=("turn_id", "kind", "run", "call_number"),
)

tool_effects = _owned(
    "tool_effects",
    Column("turn_id", Uuid, nullable=False),
    Column("call_id", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("fact_key", Text),
    Column("rule", Text),
    Column("created_at", _Time, nullable=False),
    _belongs_to("turns", "turn_id", "tool_effects"),
    key=("turn_id", "call_id"),
)
"""What a tool call did, without words: a second attempt finds it and does nothing."""

orders = _owned(
    "orders",
    Column("order_id", Uuid, nullable=False),
    Column("session_id", Uuid, nullable=False),
    Column("turn_id", Uuid, nullable=False),
    Column("call_id", Text, nullable=False),
    Column("state", Text, nullable=False, server_default="pending"),
    Column("content", LargeBinary, nullable=False),
    Column("created_at", _Time, nullable=False),
    Column("expires_at", _Time, nullable=False),
    Column("settled_at", _Time),
    _one_of("state", "pending", "confirmed", "cancelled"),
    UniqueConstraint("tenant_id", "user_id", "turn_id", "call_id", name="orders_call_key"),
    Index("orders_newest", "tenant_id", "user_id", "created_at", "order_id"),
    key=("order_id",),
)
"""A card outlives the session it was proposed in, so it names its turn without a reference."""

behaviour = _owned(
    "behaviour",
    Column("behaviour_id", Uuid, nullable=False),
    Column("kind", Text, nullable=False),
    Column("text", LargeBinary, nullable=False),
    Column("turn_id", Uuid),
    Column("seq", BigInteger, nullable=False),
    Column("position", Integer, nullable=False),
    Column("created_at", _Time, nullable=False),
    _one_of("kind", "purchase", "search"),
    Index("behaviour_newest", "tenant_id", "user_id", "kind", "seq", "position"),
    key=("behaviour_id",),
)

_CATEGORIES = ("constraint", "preference", "context")
_SOURCES = ("save_memory", "curator", "user", "import")

memory_facts = _owned(
    "memory_facts",
    Column("fact_id", Uuid, nullable=False),
    Column("fact_key", Text, nullable=False),
    Column("value", LargeBinary, nullable=False),
    Column("category", Text, nullable=False),
    Column("subject", Text, nullable=False, server_default="self"),
    Column("source", Text, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("rank", SmallInteger, nullable=False),
    Column("run", Integer, nullable=False),
    Column("session_id", Uuid),
    Column("turn_id", Uuid),
    Column("created_at", _Time, nullable=False),
    Column("updated_at", _Time, nullable=False),
    Column("last_used_at", _Time),
    Column("expires_at", _Time),
    Column("candidate_id", Uuid),
    _one_of("category", *_CATEGORIES),
    _one_of("source", *_SOURCES),
    UniqueConstraint("tenant_id", "user_id", "fact_key", name="memory_facts_fact_key_key"),
    key=("fact_id",),
)
"""`candidate_id` is the candidate that its user made a fact by their yes, while nobody has written over it."""

memory_fact_versions = _owned(
    "memory_fact_versions",
    Column("version_id", Uuid, nullable=False),
    Column("fact_id", Uuid, nullable=False),
    Column("fact_key", Text, nullable=False),
    Column("value", LargeBinary, nullable=False),
    Column("category", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("rank", SmallInteger, nullable=False),
    Column("run", Integer, nullable=False),
    Column("session_id", Uuid),
    Column("turn_id", Uuid),
    Column("written_at", _Time, nullable=False),
    Column("replaced_at", _Time, nullable=False),
    _one_of("category", *_CATEGORIES),
    _one_of("source", *_SOURCES),
    _belongs_to("memory_facts", "fact_id", "memory_fact_versions"),
    Index("memory_fact_versions_of_key", "tenant_id", "user_id", "fact_key", "replaced_at"),
    key=("version_id",),
)

memory_fact_evidence = _owned(
    "memory_fact_evidence",
    Column("fact_id", Uuid, nullable=False),
    Column("turn_id", Uuid, nullable=False),
    Column("session_id", Uuid, nullable=False),
    Column("source", Text, nullable=False),
    Column("created_at", _Time, nullable=False),
    _one_of("source", *_SOURCES),
    _belongs_to("memory_facts", "fact_id", "memory_fact_evidence"),
    key=("fact_id", "turn_id"),
)
"""The turns a fact rests on, each counted once, whatever the number of runs."""

memory_tombstones = _owned(
    "memory_tombstones",
    Column("fact_key", Text, nullable=False),
    Column("fingerprint", LargeBinary, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("reason", Text, nullable=False),
    Column("created_at", _Time, nullable=False),
    _one_of("reason", "deleted", "refused"),
    key=("fact_key", "fingerprint"),
)
"""What the user deleted or refused: the key, and a keyed hash of the value (not the value)."""

memory_candidates = _owned(
    "memory_candidates",
    Column("candidate_id", Uuid, nullable=False),
    Column("fact_key", Text, nullable=False),
    Column("value", LargeBinary, nullable=False),
    Column("category", Text, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("run", Integer, nullable=False),
    Column("session_id", Uuid, nullable=False),
    Column("turn_id", Uuid, nullable=False),
    Column("created_at", _Time, nullable=False),
    Column("basis", Text, nullable=False, server_default="unsupported"),
    _one_of("category", *_CATEGORIES),
    _one_of("basis", "inferred", "unsupported"),
    UniqueConstraint("tenant_id", "user_id", "turn_id", "fact_key", name="memory_candidates_turn_key"),
    key=("candidate_id",),
)

memory_uses = _owned(
    "memory_uses",
    Column("turn_id", Uuid, nullable=False),
    Column("fact_id", Uuid, nullable=False),
    Column("how", Text, nullable=False),
    Column("created_at", _Time, nullable=False),
    _one_of("how", "injected", "recalled"),
    _belongs_to("memory_facts", "fact_id", "memory_uses"),
    _belongs_to("turns", "turn_id", "memory_uses"),
    key=("turn_id", "fact_id", "how"),
)

curation_outcomes = _owned(
    "curation_outcomes",
    Column("turn_id", Uuid, nullable=False),
    Column("run", Integer, nullable=False),
    Column("position", Integer, nullable=False),
    Column("fact_key", Text),
    Column("action", Text, nullable=False),
    Column("category", Text),
    Column("rule", Text),
    _belongs_to("turns", "turn_id", "curation_outcomes"),
    key=("turn_id", "run", "position"),
)
"""What became of each proposed fact; the value is read from the fact, so a deleted one is gone here too."""

dispatch = _owned(
    "dispatch",
    Column("kind", Text, nullable=False),
    Column("subject_id", Uuid, nullable=False),
    Column("run", Integer, nullable=False, server_default="0"),
    Column("session_id", Uuid, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("purge_generation", BigInteger, nullable=False),
    Column("state", Text, nullable=False, server_default="pending"),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("lease_token", Uuid),
    Column("lease_until", _Time),
    Column("deadline_at", _Time),
    Column("next_attempt_at", _Time, nullable=False),
    Column("publish_after", _Time, nullable=False),
    Column("error_code", Text),
    Column("created_at", _Time, nullable=False),
    Column("finished_at", _Time),
    Column("dry_run", Boolean, nullable=False, server_default="false"),
    _one_of("kind", "turn", "curate_turn", "close_session", "user_day"),
    _one_of("state", "pending", "leased", "done", "dead", "discarded"),
    CheckConstraint("(state = 'leased') <= (lease_token IS NOT NULL AND lease_until IS NOT NULL)", name="leased"),
    Index(
        "dispatch_open",
        "state",
        "next_attempt_at",
        postgresql_where=text("state IN ('pending', 'leased')"),
    ),
    Index("dispatch_dead", "kind", postgresql_where=text("state = 'dead'")),
    Index("dispatch_of_user", "tenant_id", "user_id", "kind", "seq"),
    key=("kind", "subject_id", "run"),
)
"""Everything that must happen. Ids and counters, no words: the dispatch role may read it across users.

`dry_run`: the work is tried and rolled back; only a replay asks for that.
"""

replay_turns = _owned(
    "replay_turns",
    Column("job_id", Uuid, nullable=False),
    Column("turn_id", Uuid, nullable=False),
    Column("session_id", Uuid, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("state", Text, nullable=False, server_default="waiting"),
    Column("run", Integer),
    *(
        Column(name, Integer, nullable=False, server_default="0")
        for name in ("added", "changed", "removed", "candidates", "skipped", "refused")
    ),
    Column("finished_at", _Time),
    _one_of("state", "waiting", "running", "done", "failed", "gone"),
    Index("replay_turns_waiting", "job_id", "tenant_id", "user_id", "seq", postgresql_where=text("state = 'waiting'")),
    Index(
        "replay_turns_one_running_per_user",
        "tenant_id",
        "user_id",
        unique=True,
        postgresql_where=text("state = 'running'"),
    ),
    Index("replay_turns_of_job", "job_id", "state"),
    key=("job_id", "turn_id"),
)
"""The turns of a replay job, and what each would have changed or has changed: counts, no words."""

operating = MetaData()
"""Tables that belong to no user."""

replay_jobs = Table(
    "replay_jobs",
    operating,
    Column("job_id", Uuid, nullable=False),
    Column("tenant_id", Text),
    Column("user_id", Text),
    Column("session_id", Uuid),
    Column("since", _Time),
    Column("until", _Time),
    Column("failed_only", Boolean, nullable=False),
    Column("dry_run", Boolean, nullable=False),
    Column("turns_per_second", REAL, nullable=False),
    Column("state", Text, nullable=False, server_default="running"),
    Column("next_start_at", _Time, nullable=False),
    Column("created_at", _Time, nullable=False),
    Column("finished_at", _Time),
    _one_of("state", "running", "finished", "cancelled"),
    PrimaryKeyConstraint("job_id", name="replay_jobs_pkey"),
)
"""What an operator asked to have replayed; only the dispatch role sees it."""

circuits = Table(
    "circuits",
    operating,
    Column("kind", Text, nullable=False),
    Column("open_until", _Time, nullable=False),
    Column("probe_until", _Time),
    PrimaryKeyConstraint("kind", name="circuits_pkey"),
)
"""Kinds of work whose workers fail at nearly everything; a kind without a row is well."""

LEFT_BEHIND = frozenset({("memory_facts", "confidence"), ("memory_facts", "importance")})
"""Columns that are there, and that nothing has read or written since release 0010; a later migration drops them."""

TABLES_WITH_WORDS = tuple(table.name for table in metadata.sorted_tables if table.name != "dispatch")
"""Tables under forced per-user row-level security; `dispatch` has it too, with a second policy for its role."""
