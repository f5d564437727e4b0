"""An index of dead work records, so that counting them does not read the whole table."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0002"
down_revision: str | None = "0001"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.create_index("dispatch_dead", "dispatch", ["kind"], postgresql_where=sa.text("state = 'dead'"))
