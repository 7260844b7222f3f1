"""Compares the content of a store, read by SQL, with the answers that were sent and acknowledged."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import sqlalchemy as sa
from crowd import SentAnswer

from sfumato.store.location import StoreLocation

ANSWERS = sa.text(
    "SELECT p.token_hash, a.key, a.digest, a.handle, a.payload, a.item, a.annotator, a.purpose, a.trial,"
    " t.handle AS shown, t.state"
    " FROM answers a JOIN annotators p ON p.id = a.annotator JOIN trials t ON t.id = a.trial"
)
REFUSED = sa.text("SELECT p.token_hash, r.key FROM refused r JOIN annotators p ON p.id = r.annotator")
COUNTS = sa.text(
    "SELECT i.item, i.quota, COUNT(a.id) AS n FROM items i"
    " LEFT JOIN answers a ON a.item = i.id AND a.purpose = 'label' GROUP BY i.id, i.item, i.quota"
)
UNANSWERED = sa.text(
    "SELECT COUNT(*) FROM trials t LEFT JOIN answers a ON a.trial = t.id WHERE t.state = 1 AND a.id IS NULL"
)
INDEXES = sa.text(
    "SELECT bt_index_check(c.oid, true) FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid"
    " JOIN pg_am m ON m.oid = c.relam JOIN pg_namespace s ON s.oid = c.relnamespace"
    " WHERE m.amname = 'btree' AND s.nspname = 'public'"
)
ANSWERED = 1
"""The state of an answered trial."""


@dataclass(frozen=True)
class Findings:
    """Errors in a store: all counts except `stored` should be 0, and `integrity` "ok"."""

    stored: int
    lost: int
    """Acknowledged, but missing or stored with another id or content."""
    duplicated: int
    """Surplus rows with the same key, the same trial, or the same annotator and item."""
    missing: int
    """Sent, but neither stored nor recorded as refused."""
    unknown: int
    """Stored, but never sent."""
    over_quota: int
    """Answers above the quotas of their items."""
    integrity: str


def check_store(store: str, sent: Iterable[SentAnswer]) -> Findings:
    """Compare the store with the sent answers, while no server uses it. An unreadable store has lost all answers."""
    sent = list(sent)
    engine = sa.create_engine(StoreLocation.of(store).url)
    try:
        with engine.connect() as connection:
            rows = connection.execute(ANSWERS).all()
            refused = {(row.token_hash, row.key) for row in connection.execute(REFUSED)}
            counts = connection.execute(COUNTS).all()
            integrity = _integrity(connection)
    except sa.exc.DatabaseError as error:
        return Findings(0, sum(answer.acknowledged for answer in sent), 0, len(sent), 0, 0, str(error.orig))
    finally:
        engine.dispose()
    by_key = {(row.token_hash, row.key): row for row in rows}
    known = {(answer.token_hash, answer.key): answer for answer in sent}
    return Findings(
        stored=len(rows),
        lost=sum(answer.acknowledged and not _matches(answer, by_key.get(key)) for key, answer in known.items()),
        duplicated=max(
            _surplus((row.token_hash, row.key) for row in rows),
            _surplus(row.trial for row in rows),
            _surplus((row.item, row.annotator, row.purpose) for row in rows),
        ),
        missing=sum(key not in by_key and key not in refused for key in known),
        unknown=sum(key not in known or row.digest != known[key].digest for key, row in by_key.items()),
        over_quota=sum(max(row.n - row.quota, 0) for row in counts),
        integrity=integrity
        if all(row.state == ANSWERED for row in rows)
        else "answers of trials that are not answered",
    )


def _matches(answer: SentAnswer, row: sa.Row[tuple[object, ...]] | None) -> bool:
    """Whether the row is exactly the acknowledged answer."""
    return (
        row is not None
        and row.digest == answer.digest
        and answer.ids == {row.handle}
        and row.shown == answer.trial
        and json.loads(row.payload)["tokens"] == answer.tokens
    )


def _surplus(values: Iterable[object]) -> int:
    return sum(n - 1 for n in Counter(values).values())


def _integrity(connection: sa.Connection) -> str:
    """The database's integrity check, and whether every answered trial has its answer."""
    if connection.dialect.name == "sqlite":
        problems = [row[0] for row in connection.exec_driver_sql("PRAGMA integrity_check")]
        problems += [f"foreign key of {row[0]}" for row in connection.exec_driver_sql("PRAGMA foreign_key_check")]
    else:
        connection.exec_driver_sql("CREATE EXTENSION IF NOT EXISTS amcheck")
        problems = ["ok" if connection.execute(INDEXES).all() else "no index was checked"]
    if connection.execute(UNANSWERED).scalar_one():
        problems.append("answered trials without answers")
    return "ok" if problems == ["ok"] else "; ".join(problems[:5])
