"""Add the question and the selection probability of trials."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

WHOLE = sa.BigInteger().with_variant(sa.Integer, "sqlite")
SHARE: sa.types.TypeEngine[float] = sa.Double().with_variant(sa.REAL, "sqlite")


def upgrade() -> None:
    op.add_column("trials", sa.Column("question", WHOLE, nullable=False, server_default="0"))
    op.add_column("trials", sa.Column("probability", SHARE))
    op.add_column("trials", sa.Column("audit", WHOLE, nullable=False, server_default="0"))


def downgrade() -> None:
    raise NotImplementedError("a store cannot be downgraded: answers could be lost")
