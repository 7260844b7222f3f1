"""The store on both databases: what the migrations make is what the code expects, and answers are append-only."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from sfumato.elicit.database import LATEST, StorePlace, only_server, reading_engine, writing_engine
from sfumato.elicit.schema import METADATA
from sfumato.errors import BadFile, BadSetting


def test_migrations_make_the_tables_the_code_knows(store: str) -> None:
    engine = writing_engine(StorePlace.of(store))
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, METADATA) == []
        assert context.get_current_revision() == LATEST
    engine.dispose()
