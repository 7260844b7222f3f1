"""Add why the deeper form opened in a trial, and with what probability."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

SHARE: sa.types.TypeEngine[float] = sa.Double().with_variant(sa.REAL, "sqlite")


def upgrade() -> None:
    op.add_column("trials", sa.Column("deeper", sa.Text))
    op.add_column("trials", sa.Column("deeper_probability", SHARE))


def downgrade() -> None:
    raise NotImplementedError("a store cannot be downgraded: answers could be lost")
