"""Old replay jobs may be removed, a user's tokens are summed by the day, and a fact knows the candidate it was."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0010"
down_revision: str | None = "0009"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.execute("GRANT DELETE ON replay_jobs, replay_turns TO shoppingx_dispatch")
    op.create_index("model_calls_of_user", "model_calls", ["tenant_id", "user_id", "created_at"])
    op.add_column("memory_facts", sa.Column("candidate_id", sa.Uuid(), nullable=True))
