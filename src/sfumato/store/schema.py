"""The tables of a store. Times are milliseconds since 1970, UTC; ids that participants see are random texts.

`answers`, `refused` and `happenings` are append-only, enforced by triggers. Rules that every row must satisfy are
constraints here, so that a bug in our code causes an error and not a second answer.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

Row = dict[str, Any]
METADATA = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

Id = sa.BigInteger().with_variant(sa.Integer, "sqlite")
"""A 64-bit integer on both databases."""
Seconds: sa.types.TypeEngine[float] = sa.Double().with_variant(sa.REAL, "sqlite")

OPEN, ANSWERED, LAPSED = 0, 1, 2
"""States of a trial: leased to its annotator, answered, or released because no answer came."""


def _table(name: str, *columns: Any) -> sa.Table:
    """A table with an id and these columns."""
    key = sa.Column("id", Id, primary_key=True, autoincrement=False)
    return sa.Table(name, METADATA, key, *columns, sqlite_strict=True)


def _of(table: str) -> sa.Column[int]:
    name = table.rstrip("s") if table != "studies" else "study"
    return sa.Column(name, Id, sa.ForeignKey(f"{table}.id"), nullable=False)


def _integers(*names: str, nullable: bool = False) -> list[sa.Column[int]]:
    return [sa.Column(name, Id, nullable=nullable) for name in names]


def _texts(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text, nullable=False) for name in names]


studies = _table(
    "studies",
    sa.Column("name", sa.Text, nullable=False, unique=True),
    *_texts("kind", "classes", "secret"),
    sa.Column("created_at", Id, nullable=False),
    sa.Column("paused_at", Id),
    sa.Column("version", Id, nullable=False),
    sa.Column("head", sa.Text, nullable=False, server_default=""),
    sa.Column("n_answers", Id, nullable=False, server_default="0"),
    sa.Column("password", sa.Text),
)
items = _table(
    "items",
    _of("studies"),
    *_texts("item", "others", "told"),
    sa.Column("quota", Id, nullable=False),
    sa.UniqueConstraint("study", "item", "others", "told"),
)
annotators = _table(
    "annotators",
    _of("studies"),
    sa.Column("pseudonym", sa.Text, nullable=False),
    sa.Column("token_hash", sa.Text, nullable=False, unique=True),
    *_integers("seed", "created_at"),
    *_integers("seen_at", "consented_at", "instructed_at", "passed_at", nullable=True),
    sa.Column("attempts", Id, nullable=False),
    *_integers("excluded_at", "withdrawn_at", "finished_at", nullable=True),
    sa.Column("code", sa.Text),
    sa.Column("arm", Id, nullable=False, server_default="0"),
    sa.Column("language", sa.Text),
    sa.Column("network", sa.Text),
    *_integers("erased_at", "left_out_at", "full_at", nullable=True),
    sa.Column("entry", sa.Text),
    sa.Column("person_hash", sa.Text),
    sa.UniqueConstraint("study", "pseudonym"),
    sa.Index("ix_annotators_person_hash", "person_hash", unique=True),
)
"""`entry`: whether the platform confirmed a participant it sent (`recruitment/arrival.py`). `person_hash`: a keyed hash
of their platform id, which stays after the id is erased, so that nobody takes part twice."""
links = _table(
    "links",
    _of("studies"),
    _of("annotators"),
    sa.Column("token_hash", sa.Text, nullable=False, unique=True),
    sa.Column("created_at", Id, nullable=False),
)
"""Further links of participants: made for one of them by the researcher, or when a platform sent them again."""
trials = _table(
    "trials",
    _of("annotators"),
    _of("items"),
    sa.Column("number", Id, nullable=False),
    sa.Column("purpose", sa.Text, nullable=False),
    sa.Column("handle", sa.Text, nullable=False, unique=True),
    *_integers("leased_at", "expires_at", "state"),
    sa.Column("question", Id, nullable=False, server_default="0"),
    sa.Column("probability", Seconds),
    sa.Column("audit", Id, nullable=False, server_default="0"),
    sa.Column("deeper", sa.Text),
    sa.Column("deeper_probability", Seconds),
    sa.UniqueConstraint("annotator", "number"),
    sa.Index("ix_trials_item_state", "item", "state"),
)
answers = _table(
    "answers",
    _of("studies"),
    _of("annotators"),
    _of("items"),
    sa.Column("trial", Id, sa.ForeignKey("trials.id"), nullable=False, unique=True),
    sa.Column("number", Id, nullable=False),
    *_texts("purpose", "kind", "payload"),
    *_integers("started_at", "submitted_at", "received_at"),
    sa.Column("seconds", Seconds, nullable=False),
    *_texts("key", "digest", "handle", "record"),
    sa.Column("chain", sa.Text, nullable=False, server_default=""),
    sa.UniqueConstraint("annotator", "key"),
    sa.UniqueConstraint("item", "annotator", "purpose"),
    sa.Index("ix_answers_study", "study", "id"),
)
refused = _table(
    "refused",
    _of("studies"),
    _of("annotators"),
    sa.Column("trial", Id, sa.ForeignKey("trials.id"), nullable=False),
    *_texts("code", "body"),
    sa.Column("received_at", Id, nullable=False),
    *_texts("key", "digest"),
    sa.UniqueConstraint("annotator", "key"),
)
platform_ids = _table(
    "platform_ids",
    _of("studies"),
    sa.Column("annotator", Id, sa.ForeignKey("annotators.id"), nullable=False, unique=True),
    *_texts("platform", "person", "refs"),
    sa.Column("created_at", Id, nullable=False),
    sa.UniqueConstraint("study", "platform", "person"),
)
"""An annotator's id on the platform they came from: stored only here, and exported only on request."""
events = _table(
    "happenings",
    _of("studies"),
    sa.Column("at", Id, nullable=False),
    *_texts("who", "what", "about"),
)
"""The log of the study: pauses, quotas, logins, denials, exports, erasures. Append-only."""
