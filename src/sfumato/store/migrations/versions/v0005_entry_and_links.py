"""Add what is known about a participant's entry, a hash of their platform id, and further links.

Until now the link of a participant from a platform was derived from their platform id, so that the stored hash of the
link also is the hash of the id, even for participants who were erased.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

WHOLE = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.add_column("annotators", sa.Column("full_at", WHOLE))
    op.add_column("annotators", sa.Column("entry", sa.Text))
    op.add_column("annotators", sa.Column("person_hash", sa.Text))
    op.execute("UPDATE annotators SET person_hash = token_hash")
    op.create_index("ix_annotators_person_hash", "annotators", ["person_hash"], unique=True)
    op.create_table(
        "links",
        sa.Column("id", WHOLE, nullable=False, autoincrement=False),
        *(
            sa.Column(column, WHOLE, sa.ForeignKey(f"{table}.id"), nullable=False)
            for column, table in (("study", "studies"), ("annotator", "annotators"))
        ),
        sa.Column("token_hash", sa.Text, nullable=False),
        sa.Column("created_at", WHOLE, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_links"),
        sa.UniqueConstraint("token_hash", name="uq_links_token_hash"),
        sqlite_strict=True,
    )


def downgrade() -> None:
    raise NotImplementedError("a store cannot be downgraded: answers could be lost")
