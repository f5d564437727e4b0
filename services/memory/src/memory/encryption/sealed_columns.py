"""Which columns hold a user's words, and where each ciphertext says it belongs."""

from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import Column, ColumnElement, Table, literal

from memory.database.schema import (
    behaviour,
    memory_candidates,
    memory_fact_versions,
    memory_facts,
    orders,
    personal_skills,
    session_log,
    sessions,
    turns,
    user_settings,
)
from memory.encryption.cipher import Place


class SealedColumn(NamedTuple):
    """`row_id` is the column that names the row within its user; None where a user has one row."""

    column: Column[Any]
    row_id: Column[Any] | None

    @property
    def table(self) -> Table:
        return self.column.table

    @property
    def name(self) -> str:
        return f"{self.table.name}.{self.column.name}"

    @property
    def row_id_value(self) -> ColumnElement[Any]:
        """What names the row in its ciphertext's place, as a value in a query."""
        return literal(self.column.name) if self.row_id is None else self.row_id

    def place(self, row_id: UUID | str) -> Place:
        return Place(self.name, row_id)


SEALED_COLUMNS = (
    SealedColumn(user_settings.c.settings, None),
    SealedColumn(sessions.c.session_constraints, sessions.c.session_id),
    SealedColumn(turns.c.user_text, turns.c.turn_id),
    SealedColumn(turns.c.reply, turns.c.turn_id),
    SealedColumn(turns.c["items"], turns.c.turn_id),
    SealedColumn(session_log.c.payload, session_log.c.entry_id),
    SealedColumn(behaviour.c.text, behaviour.c.behaviour_id),
    SealedColumn(orders.c.content, orders.c.order_id),
    SealedColumn(personal_skills.c.description, personal_skills.c.skill_id),
    SealedColumn(personal_skills.c.body, personal_skills.c.skill_id),
    SealedColumn(memory_facts.c.value, memory_facts.c.fact_id),
    SealedColumn(memory_fact_versions.c.value, memory_fact_versions.c.version_id),
    SealedColumn(memory_candidates.c.value, memory_candidates.c.candidate_id),
)

HASHES = ("memory_tombstones.fingerprint", "turns.request_hash")
"""Binary columns with keyed hashes; they cannot be opened, and say nothing without the user's key."""
