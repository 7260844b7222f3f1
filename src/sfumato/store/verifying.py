"""Verifying a store: whether every answer is as it was stored, and which are not."""

from __future__ import annotations

import sqlalchemy as sa

from sfumato.store import queries
from sfumato.store.chain import Verified, faults_of, with_names
from sfumato.store.database import reading_engine
from sfumato.store.location import StoreLocation


def verify(place: StoreLocation) -> list[Verified]:
    """What became of the answers of every study in the store. One snapshot: a server may be at work meanwhile."""
    engine = reading_engine(place)
    try:
        with engine.connect() as connection, connection.begin():
            return [_verified(connection, name) for name in queries.study_names(connection)]
    finally:
        engine.dispose()


def _verified(connection: sa.Connection, name: str) -> Verified:
    row = queries.study_row(connection, name)
    assert row is not None
    number = row["id"]
    faults = faults_of(
        queries.chained(connection, number),
        first=queries.first_answer(number),
        n_answers=row["n_answers"],
        head=row["head"],
    )
    return Verified(name, row["n_answers"], row["head"], with_names(faults, queries.without_answer(connection, number)))
