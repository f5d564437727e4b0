"""Skills that users write for themselves."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0009"
down_revision: str | None = "0008"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

_OWN_ROWS = (
    "tenant_id = NULLIF(current_setting('app.tenant_id', true), '') "
    "AND user_id = NULLIF(current_setting('app.user_id', true), '')"
)


def upgrade() -> None:
    op.create_table(
        "personal_skills",
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("skill_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("description", sa.LargeBinary(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", "skill_id", name="personal_skills_pkey"),
        sa.UniqueConstraint("tenant_id", "user_id", "name", name="personal_skills_name_key"),
    )
    op.execute("ALTER TABLE personal_skills ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE personal_skills FORCE ROW LEVEL SECURITY")
    op.execute(
        f"CREATE POLICY own_rows ON personal_skills TO shoppingx_memory USING ({_OWN_ROWS}) WITH CHECK ({_OWN_ROWS})"
    )
    op.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON personal_skills TO shoppingx_memory")
