"""Orders: cards that the model proposes and the user settles."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0008"
down_revision: str | None = "0007"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

_OWN_ROWS = (
    "tenant_id = NULLIF(current_setting('app.tenant_id', true), '') "
    "AND user_id = NULLIF(current_setting('app.user_id', true), '')"
)


def upgrade() -> None:
    op.create_table(
        "orders",
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("order_id", sa.Uuid(), nullable=False),
        sa.Column("session_id", sa.Uuid(), nullable=False),
        sa.Column("turn_id", sa.Uuid(), nullable=False),
        sa.Column("call_id", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False, server_default="pending"),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("settled_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("state IN ('pending', 'confirmed', 'cancelled')", name="state_known"),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", "order_id", name="orders_pkey"),
        sa.UniqueConstraint("tenant_id", "user_id", "turn_id", "call_id", name="orders_call_key"),
    )
    op.create_index("orders_newest", "orders", ["tenant_id", "user_id", "created_at", "order_id"])
    op.execute("ALTER TABLE orders ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE orders FORCE ROW LEVEL SECURITY")
    op.execute(f"CREATE POLICY own_rows ON orders TO shoppingx_memory USING ({_OWN_ROWS}) WITH CHECK ({_OWN_ROWS})")
    op.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON orders TO shoppingx_memory")
