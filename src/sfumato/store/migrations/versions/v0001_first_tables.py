"""The first tables: studies, items, annotators, trials, answers, and answers that were refused."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

WHOLE = sa.BigInteger().with_variant(sa.Integer, "sqlite")
SECONDS: sa.types.TypeEngine[float] = sa.Double().with_variant(sa.REAL, "sqlite")
APPEND_ONLY = ("answers", "refused")


def upgrade() -> None:
    _create(
        "studies",
        *_texts("name", "kind", "classes", "secret"),
        *_whole("created_at"),
        *_whole("paused_at", nullable=True),
        *_whole("version"),
        sa.UniqueConstraint("name", name="uq_studies_name"),
    )
    _create(
        "items",
        *_of(study="studies"),
        *_texts("item", "others", "told"),
        *_whole("quota"),
        sa.UniqueConstraint("study", "item", "others", "told", name="uq_items_study_item_others_told"),
    )
    _create(
        "annotators",
        *_of(study="studies"),
        *_texts("pseudonym", "token_hash"),
        *_whole("seed", "created_at"),
        *_whole("seen_at", "consented_at", "instructed_at", "passed_at", nullable=True),
        *_whole("attempts"),
        *_whole("excluded_at", "withdrawn_at", "finished_at", nullable=True),
        sa.Column("code", sa.Text),
        sa.UniqueConstraint("token_hash", name="uq_annotators_token_hash"),
        sa.UniqueConstraint("study", "pseudonym", name="uq_annotators_study_pseudonym"),
    )
    _create(
        "trials",
        *_of(annotator="annotators", item="items"),
        *_whole("number"),
        *_texts("purpose", "handle"),
        *_whole("leased_at", "expires_at", "state"),
        sa.UniqueConstraint("handle", name="uq_trials_handle"),
        sa.UniqueConstraint("annotator", "number", name="uq_trials_annotator_number"),
    )
    op.create_index("ix_trials_item_state", "trials", ["item", "state"])
    _create(
        "answers",
        *_of(study="studies", annotator="annotators", item="items", trial="trials"),
        *_whole("number"),
        *_texts("purpose", "kind", "payload"),
        *_whole("started_at", "submitted_at", "received_at"),
        sa.Column("seconds", SECONDS, nullable=False),
        *_texts("key", "digest", "handle", "record"),
        sa.UniqueConstraint("trial", name="uq_answers_trial"),
        sa.UniqueConstraint("annotator", "key", name="uq_answers_annotator_key"),
        sa.UniqueConstraint("item", "annotator", "purpose", name="uq_answers_item_annotator_purpose"),
    )
    op.create_index("ix_answers_study", "answers", ["study", "id"])
    _create(
        "refused",
        *_of(study="studies", annotator="annotators", trial="trials"),
        *_texts("code", "body"),
        *_whole("received_at"),
        *_texts("key", "digest"),
        sa.UniqueConstraint("annotator", "key", name="uq_refused_annotator_key"),
    )
    for table in APPEND_ONLY:
        _only_append(table)


def downgrade() -> None:
    raise NotImplementedError("a store cannot be downgraded: answers could be lost")


def _create(name: str, *parts: sa.Column[Any] | sa.Constraint) -> None:
    key = sa.Column("id", WHOLE, nullable=False, autoincrement=False)
    op.create_table(name, key, *parts, sa.PrimaryKeyConstraint("id", name=f"pk_{name}"), sqlite_strict=True)


def _whole(*names: str, nullable: bool = False) -> list[sa.Column[int]]:
    return [sa.Column(name, WHOLE, nullable=nullable) for name in names]


def _texts(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text, nullable=False) for name in names]


def _of(**tables: str) -> list[sa.Column[int]]:
    """Columns that point into other tables: `annotator="annotators"`."""
    return [sa.Column(column, WHOLE, sa.ForeignKey(f"{table}.id"), nullable=False) for column, table in tables.items()]


def _only_append(table: str) -> None:
    """Make the database refuse to change or delete rows."""
    if op.get_bind().dialect.name == "sqlite":
        for verb in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table}"
                f" BEGIN SELECT RAISE(ABORT, '{table} are append-only'); END"
            )
        return
    op.execute(
        f"CREATE FUNCTION {table}_append_only() RETURNS trigger LANGUAGE plpgsql AS"
        f" $$ BEGIN RAISE EXCEPTION '{table} are append-only'; END $$"
    )
    op.execute(
        f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table}"
        f" FOR EACH STATEMENT EXECUTE FUNCTION {table}_append_only()"
    )
