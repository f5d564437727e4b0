"""Keys with ids, so that they can be rotated and erased; when each user's data was last looked through."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0006"
down_revision: str | None = "0005"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("users", sa.Column("last_erase_id", sa.Uuid(), nullable=True))
    op.add_column("users", sa.Column("key_id", sa.Uuid(), nullable=True))
    op.add_column("users", sa.Column("key_changed_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("users", sa.Column("retained_at", sa.DateTime(timezone=True), nullable=True))
    op.create_index("users_retained", "users", ["retained_at"])
    op.add_column("user_keys", sa.Column("older_key_ids", sa.ARRAY(sa.Uuid()), nullable=False, server_default="{}"))
    op.add_column(
        "user_keys", sa.Column("older_wrapped_keys", sa.ARRAY(sa.LargeBinary()), nullable=False, server_default="{}")
    )
