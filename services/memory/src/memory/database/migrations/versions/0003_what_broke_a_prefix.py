"""What a model call tells of its prefix, and two more counts of tokens."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0003"
down_revision: str | None = "0002"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("model_calls", sa.Column("cache_write_tokens", sa.Integer(), nullable=True))
    op.add_column("model_calls", sa.Column("reasoning_tokens", sa.Integer(), nullable=True))
    op.add_column("model_calls", sa.Column("log_position", sa.BigInteger(), nullable=True))
    op.add_column("model_calls", sa.Column("first_differing_position", sa.BigInteger(), nullable=True))
    op.add_column("model_calls", sa.Column("first_differing_cause", sa.Text(), nullable=True))
