"""New SQLite stores for tests, copied from one, because creating the tables takes most of the time."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from sfumato.store.database import make_private, writing_engine
from sfumato.store.location import StoreLocation


def create_tables(store: StoreLocation) -> None:
    """Create the tables of a store in an SQLite file; existing stores and PostgreSQL are not changed."""
    if store.file is not None and not store.file.exists():
        make_private(store.file)
        store.file.write_bytes(_migrated())


@cache
def _migrated() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "answers.sqlite")
        writing_engine(StoreLocation.of(str(file))).dispose()
        return file.read_bytes()
