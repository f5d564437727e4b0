"""Replay jobs may be removed when they are old, and a user's tokens are summed by the day."""

from collections.abc import Sequence

from alembic import op

revision: str = "0010"
down_revision: str | None = "0007"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.execute("GRANT DELETE ON replay_jobs, replay_turns TO shoppingx_dispatch")
    op.create_index("model_calls_of_user", "model_calls", ["tenant_id", "user_id", "created_at"])
