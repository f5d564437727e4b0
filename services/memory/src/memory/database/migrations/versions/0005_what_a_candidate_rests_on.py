"""What a candidate rests on: words that only show it (a second turn makes it a fact), or none (only the user can)."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0005"
down_revision: str | None = "0003"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.add_column(
        "memory_candidates",
        sa.Column(
            "basis",
            sa.Text(),
            sa.CheckConstraint("basis IN ('inferred', 'unsupported')", name="basis_known"),
            nullable=False,
            server_default=sa.text("'unsupported'"),
        ),
    )
