"""Add the hash chain of answers, platform ids, and the event log.

Existing answers are chained in the same transaction.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from sfumato.store.verification import COLUMNS, START, chain_hash

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

WHOLE = sa.BigInteger().with_variant(sa.Integer, "sqlite")
ROWS_PER_STEP = 5_000


def upgrade() -> None:
    op.add_column("studies", sa.Column("head", sa.Text, nullable=False, server_default=""))
    op.add_column("studies", sa.Column("n_answers", WHOLE, nullable=False, server_default="0"))
    op.add_column("studies", sa.Column("password", sa.Text))
    op.add_column("annotators", sa.Column("arm", WHOLE, nullable=False, server_default="0"))
    op.add_column("annotators", sa.Column("language", sa.Text))
    op.add_column("annotators", sa.Column("erased_at", WHOLE))
    op.add_column("annotators", sa.Column("left_out_at", WHOLE))
    op.add_column("answers", sa.Column("chain", sa.Text, nullable=False, server_default=""))
    _create(
        "platform_ids",
        *_of(study="studies", annotator="annotators"),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("platform", "person", "refs")),
        sa.Column("created_at", WHOLE, nullable=False),
        sa.UniqueConstraint("annotator", name="uq_platform_ids_annotator"),
        sa.UniqueConstraint("study", "platform", "person", name="uq_platform_ids_study_platform_person"),
    )
    _create(
        "happenings",
        *_of(study="studies"),
        sa.Column("at", WHOLE, nullable=False),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("who", "what", "about")),
    )
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    # Answers are append-only; only this migration changes them, to add the chain.
    for statement in _triggers_off(is_sqlite):
        op.execute(statement)
    _chain(op.get_bind())
    for statement in (*_triggers_on("answers", is_sqlite), *_triggers_on("happenings", is_sqlite, new=True)):
        op.execute(statement)


def downgrade() -> None:
    raise NotImplementedError("a store cannot be downgraded: answers could be lost")


def _chain(connection: sa.Connection) -> None:
    """Chain the answers of every study in order."""
    names = ", ".join(COLUMNS)
    for study in connection.execute(sa.text("SELECT id FROM studies")).scalars().all():
        link, last, n_answers = START, 0, 0
        while True:
            query = f"SELECT {names} FROM answers WHERE study = :study AND id > :last ORDER BY id LIMIT {ROWS_PER_STEP}"
            rows = connection.execute(sa.text(query), {"study": study, "last": last}).mappings().all()
            if not rows:
                break
            links = []
            for row in rows:
                link = chain_hash(link, dict(row))
                links.append({"number": row["id"], "link": link})
            connection.execute(sa.text("UPDATE answers SET chain = :link WHERE id = :number"), links)
            last, n_answers = rows[-1]["id"], n_answers + len(rows)
        update = sa.text("UPDATE studies SET head = :head, n_answers = :n WHERE id = :study")
        connection.execute(update, {"head": link, "n": n_answers, "study": study})


def _create(name: str, *parts: sa.Column[Any] | sa.Constraint) -> None:
    key = sa.Column("id", WHOLE, nullable=False, autoincrement=False)
    op.create_table(name, key, *parts, sa.PrimaryKeyConstraint("id", name=f"pk_{name}"), sqlite_strict=True)


def _of(**tables: str) -> list[sa.Column[int]]:
    return [sa.Column(column, WHOLE, sa.ForeignKey(f"{table}.id"), nullable=False) for column, table in tables.items()]


def _triggers_off(is_sqlite: bool) -> list[str]:
    if is_sqlite:
        return ["DROP TRIGGER answers_no_update"]
    return ["ALTER TABLE answers DISABLE TRIGGER answers_append_only"]


def _triggers_on(table: str, is_sqlite: bool, *, new: bool = False) -> list[str]:
    if is_sqlite:
        return [
            f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table}"
            f" BEGIN SELECT RAISE(ABORT, '{table} are append-only'); END"
            for verb in ("UPDATE", *["DELETE"] * new)
        ]
    if not new:
        return [f"ALTER TABLE {table} ENABLE TRIGGER {table}_append_only"]
    return [
        f"CREATE FUNCTION {table}_append_only() RETURNS trigger LANGUAGE plpgsql AS"
        f" $$ BEGIN RAISE EXCEPTION '{table} are append-only'; END $$",
        f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table}"
        f" FOR EACH STATEMENT EXECUTE FUNCTION {table}_append_only()",
    ]
