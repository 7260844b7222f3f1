"""Add the network that an annotator first came from, as a keyed hash."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("annotators", sa.Column("network", sa.Text))


def downgrade() -> None:
    raise NotImplementedError("a store cannot be downgraded: answers could be lost")
