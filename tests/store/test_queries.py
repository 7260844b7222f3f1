"""The store on both databases: what the migrations make is what the code expects, and answers are append-only."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from study_instance import StudyInstance, running_instance, sent

from sfumato.store import backup, export_queries, researcher_queries
from sfumato.store import queries as statements
from sfumato.store.database import LATEST, only_server, reading_engine, writing_engine
from sfumato.store.location import StoreLocation
from sfumato.store.schema import METADATA
from sfumato.tables.errors import BadFile, BadSetting, SfumatoError

UNWRITABLE = Path("/proc/sfumato")
"""A folder that nobody, not even root, can make."""
NAMES = ("100% sure?.sqlite", "study #1&mode=rwc.sqlite", "%41.sqlite", "ä ö.sqlite")


def test_migrations_make_the_tables_the_code_knows(store: str) -> None:
    engine = writing_engine(StoreLocation.of(store))
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, METADATA) == []
        assert context.get_current_revision() == LATEST
    engine.dispose()


# --- append-only ---


@pytest.fixture
def answered(store: str) -> Iterator[StudyInstance]:
    """A store with one answer and one kept aside."""
    with running_instance(store) as at:
        person = at.new()
        trial = person.first().handle
        person.submit(sent(trial))
        person.submit(sent(trial))
        yield at


@pytest.mark.parametrize("table", ["answers", "refused"])
@pytest.mark.parametrize(
    "statement",
    ["UPDATE {} SET key = 'x'", "UPDATE {} SET id = id + 1", "DELETE FROM {}", "DELETE FROM {} WHERE id > 0"],
)
def test_the_database_itself_refuses_to_change_an_answer(answered: StudyInstance, table: str, statement: str) -> None:
    before = answered.rows(f"SELECT * FROM {table}")
    assert len(before) == 1
    answered.stop()
    engine = writing_engine(StoreLocation.of(answered.store))
    with pytest.raises(sa.exc.DatabaseError, match=f"{table} are append-only"), engine.begin() as connection:
        connection.exec_driver_sql(statement.format(table))
    engine.dispose()
    assert answered.rows(f"SELECT * FROM {table}") == before


@pytest.mark.parametrize("table", ["answers", "refused", "happenings"])
def test_postgresql_refuses_to_empty_the_tables(postgres: object, table: str) -> None:
    place = StoreLocation.of(postgres.new_database())
    engine = writing_engine(place)
    with pytest.raises(sa.exc.DatabaseError, match="append-only"), engine.begin() as connection:
        connection.exec_driver_sql(f"TRUNCATE {table} CASCADE")
    engine.dispose()


def test_replacing_a_row_is_a_change_too(tmp_path: Path) -> None:
    # SQLite's REPLACE deletes without a word unless recursive triggers are on: it must not get past the trigger.
    with running_instance(str(tmp_path / "a.sqlite")) as at:
        at.new().answer()
        payload = at.one("SELECT payload FROM answers")
    engine = writing_engine(StoreLocation.of(at.store))
    columns = ", ".join(
        f"'{{}}' AS {name}" if name == "payload" else name for name in list(METADATA.tables["answers"].c.keys())
    )
    with pytest.raises(sa.exc.DatabaseError), engine.begin() as connection:
        connection.exec_driver_sql(f"INSERT OR REPLACE INTO answers SELECT {columns} FROM answers")
    engine.dispose()
    assert at.one("SELECT payload FROM answers") == payload


def test_the_database_itself_refuses_a_second_answer(answered: StudyInstance) -> None:
    """The same trial, the same key, or the same item for the same purpose: each constraint by itself."""
    columns = METADATA.tables["answers"].c.keys()
    answered.new().state()
    answered.stop()
    (other,) = answered.rows("SELECT max(id) FROM trials")
    (item,) = answered.rows("SELECT max(id) FROM items WHERE id NOT IN (SELECT item FROM answers)")
    fresh = {"id": "id + 1", "trial": str(other[0]), "key": "'fresh'", "item": str(item[0])}
    engine = writing_engine(StoreLocation.of(answered.store))
    for same in ("trial", "key", "item"):
        changed = {name: value for name, value in fresh.items() if name != same}
        row = ", ".join(f"{changed.get(name, name)} AS {name}" for name in columns)
        with pytest.raises(sa.exc.IntegrityError), engine.begin() as connection:
            connection.exec_driver_sql(f"INSERT INTO answers SELECT {row} FROM answers")
    row = ", ".join(f"{fresh.get(name, name)} AS {name}" for name in columns)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"INSERT INTO answers SELECT {row} FROM answers")
    engine.dispose()
    assert answered.one("SELECT count(*) FROM answers") == 2


# --- SQLite ---


@pytest.fixture
def place(tmp_path: Path) -> StoreLocation:
    return StoreLocation.of(tmp_path / "store" / "answers.sqlite")


def test_no_query_changes_its_connection(place: StoreLocation) -> None:
    """An option set on the connection would hold for every later statement of the transaction."""
    streamed = (
        lambda connection: statements.answer_rows(connection, 1),
        lambda connection: statements.first_chosen(connection, 1),
        lambda connection: export_queries.exported(connection, 1, ["label"]),
        lambda connection: export_queries.chained(connection, 1),
        lambda connection: researcher_queries.answers_since(connection, 1, 0),
        lambda connection: backup._parts(connection, METADATA.tables["answers"]),
    )
    engine = writing_engine(place)
    for query in streamed:
        with engine.begin() as connection:
            before = connection.get_execution_options()
            assert list(query(connection)) == []
            assert connection.get_execution_options() == before
    engine.dispose()


def test_tables_are_strict(place: StoreLocation) -> None:
    engine = writing_engine(place)
    with engine.begin() as connection:
        found = connection.exec_driver_sql("SELECT name, strict FROM pragma_table_list WHERE schema = 'main'")
        strict = {row.name: row.strict for row in found}
        assert {name: strict[name] for name in METADATA.tables} == dict.fromkeys(METADATA.tables, 1)
    with pytest.raises(sa.exc.IntegrityError), engine.begin() as connection:
        connection.exec_driver_sql(
            "INSERT INTO studies (id, name, kind, classes, secret, created_at, version)"
            " VALUES (1, 'n', 'k', 'c', 's', 'noon', 0)"
        )
    engine.dispose()


def test_every_commit_is_on_disk(place: StoreLocation) -> None:
    engine = writing_engine(place)
    with engine.connect() as connection:
        pragmas = {name: connection.exec_driver_sql(f"PRAGMA {name}").scalar_one() for name in (
            "journal_mode", "synchronous", "foreign_keys", "trusted_schema",
        )}  # fmt: skip
    engine.dispose()
    assert pragmas == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "trusted_schema": 0}


def test_one_connection_writes(place: StoreLocation) -> None:
    engine = writing_engine(place)
    found = []

    def look() -> None:
        with engine.connect() as connection:
            found.append(id(connection.connection.dbapi_connection))

    for _ in range(3):
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    engine.dispose()
    assert len(set(found)) == 1


def test_files_are_for_their_owner_alone(place: StoreLocation) -> None:
    before = os.umask(0)
    try:
        with running_instance(str(place.file)) as at, only_server(place):
            at.new().answer()
            files = sorted(place.file.parent.iterdir())
            assert [file.name for file in files] == [
                "answers.sqlite", "answers.sqlite-shm", "answers.sqlite-wal", "answers.sqlite.lock",
            ]  # fmt: skip
            assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
            assert stat.S_IMODE(place.file.parent.stat().st_mode) == 0o700
    finally:
        os.umask(before)


def test_a_file_made_by_somebody_else_is_made_private(tmp_path: Path) -> None:
    file = tmp_path / "answers.sqlite"
    file.touch(0o644)
    file.chmod(0o644)
    writing_engine(StoreLocation.of(file)).dispose()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_names_that_mean_something_in_a_url(tmp_path: Path) -> None:
    for name in NAMES:
        file = tmp_path / name
        writing_engine(StoreLocation.of(file)).dispose()
        assert file.exists()
        engine = reading_engine(StoreLocation.of(file))
        with engine.connect() as connection:
            assert statements.study_names(connection) == []
        engine.dispose()
    assert {file.name.removesuffix("-wal").removesuffix("-shm") for file in tmp_path.iterdir()} == set(NAMES)


# --- what is not a store ---


def bad(tmp_path: Path, what: str) -> Path:
    file = tmp_path / "answers.sqlite"
    if what == "text":
        file.write_text("item,answer\n" * 200)
    elif what == "damaged":
        writing_engine(StoreLocation.of(file)).dispose()
        data = bytearray(file.read_bytes())
        data[100:4096] = b"\xff" * (4096 - 100)
        file.write_bytes(data)
    elif what == "directory":
        file.mkdir()
    elif what == "unwritable":
        return UNWRITABLE / "answers.sqlite"
    elif what == "under a file":
        file.write_text("")
        return file / "answers.sqlite"
    return file


@pytest.mark.parametrize("what", ["text", "damaged", "directory", "unwritable", "under a file"])
def test_what_cannot_be_a_store_is_refused_and_left_alone(tmp_path: Path, what: str) -> None:
    file = bad(tmp_path, what)
    before = file.read_bytes() if file.is_file() else None
    with pytest.raises((BadFile, BadSetting)) as caught:
        writing_engine(StoreLocation.of(file))
    assert caught.value.code == "bad-store"
    assert caught.value.where.file == str(file)
    assert (file.read_bytes() if file.is_file() else None) == before


@pytest.mark.parametrize("what", ["text", "damaged", "directory", "unwritable", "under a file", "empty"])
def test_what_cannot_be_a_store_cannot_be_read(tmp_path: Path, what: str) -> None:
    from sfumato.store.export import export

    file = bad(tmp_path, what)
    if what == "empty":
        file.write_bytes(b"")
    with pytest.raises(SfumatoError) as caught:
        export(StoreLocation.of(file), "pets", tmp_path / "out.parquet")
    assert caught.value.code in ("bad-store", "no-store", "no-study")
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize("what", ["unwritable", "under a file"])
def test_the_lock_of_a_store_that_cannot_be(tmp_path: Path, what: str) -> None:
    with pytest.raises(BadSetting) as caught, only_server(StoreLocation.of(bad(tmp_path, what))):
        pass
    assert caught.value.code == "bad-store"


def test_a_store_not_yet_there_cannot_be_read(place: StoreLocation) -> None:
    with pytest.raises(BadFile) as caught:
        reading_engine(place)
    assert caught.value.code == "no-store"
    assert not place.file.exists()


def test_a_store_of_a_later_release_is_refused(store: str) -> None:
    place = StoreLocation.of(store)
    engine = writing_engine(place)
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0999'")
    engine.dispose()
    with pytest.raises(BadFile) as caught:
        writing_engine(place)
    assert caught.value.code == "newer-store"
    assert "0999" in caught.value.found


@pytest.mark.parametrize("text", ["mysql://here/db", "http://here", "sqlite:///x"])
def test_other_databases_are_refused(text: str) -> None:
    with pytest.raises(BadSetting) as caught:
        StoreLocation.of(text)
    assert caught.value.code == "bad-store"


def test_a_password_is_never_shown() -> None:
    assert "secret" not in str(StoreLocation.of("postgresql://me:secret@here/db"))


def test_a_postgresql_that_is_not_there() -> None:
    with pytest.raises(SfumatoError) as caught:
        writing_engine(StoreLocation.of("postgresql://nobody:hidden@127.0.0.1:1/none"))
    assert caught.value.code in ("bad-store", "store-down")
    assert "hidden" not in str(caught.value)


def test_a_postgresql_database_without_our_tables_cannot_be_read(postgres: object, tmp_path: Path) -> None:
    from sfumato.store.export import export

    with pytest.raises(SfumatoError) as caught:
        export(StoreLocation.of(postgres.new_database()), "pets", tmp_path / "out.parquet")
    assert caught.value.code in ("bad-store", "no-store", "no-study")


# --- PostgreSQL keeps what it acknowledges ---


def alter(url: str, statement: str) -> None:
    engine = sa.create_engine(StoreLocation.of(url).url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        connection.exec_driver_sql(statement)


def test_postgresql_that_does_not_wait_for_the_disk_is_refused(postgres: object) -> None:
    url = postgres.new_database()
    alter(url, f"ALTER DATABASE {url.rsplit('/', 1)[1]} SET synchronous_commit = off")
    with pytest.raises(BadSetting) as caught:
        writing_engine(StoreLocation.of(url))
    assert (caught.value.code, caught.value.found) == ("not-durable", "found synchronous_commit = off in PostgreSQL")


@pytest.mark.parametrize("setting", ["fsync", "full_page_writes"])
def test_postgresql_that_does_not_sync_is_refused(postgres: object, setting: str) -> None:
    url = postgres.new_database()
    alter(url, f"ALTER SYSTEM SET {setting} = off")
    try:
        alter(url, "SELECT pg_reload_conf()")
        wait_until(url, setting, "off")
        with pytest.raises(BadSetting) as caught:
            writing_engine(StoreLocation.of(url))
        assert (caught.value.code, caught.value.found) == ("not-durable", f"found {setting} = off in PostgreSQL")
    finally:
        alter(url, f"ALTER SYSTEM RESET {setting}")
        alter(url, "SELECT pg_reload_conf()")
        wait_until(url, setting, "on")
    writing_engine(StoreLocation.of(url)).dispose()


def wait_until(url: str, setting: str, value: str) -> None:
    for _ in range(3000):
        engine = sa.create_engine(StoreLocation.of(url).url, poolclass=sa.NullPool)
        with engine.connect() as connection:
            if connection.exec_driver_sql(f"SHOW {setting}").scalar_one() == value:
                return
        threading.Event().wait(0.01)
    raise TimeoutError(setting)


# --- the reading side ---


def test_the_reading_side_cannot_write(answered: StudyInstance) -> None:
    engine = reading_engine(StoreLocation.of(answered.store))
    for statement in ("UPDATE studies SET name = 'x'", "DELETE FROM trials", "CREATE TABLE x (a INTEGER)"):
        with pytest.raises(sa.exc.DatabaseError, match=r"readonly|read-only"), engine.begin() as connection:
            connection.exec_driver_sql(statement)
    with engine.connect() as connection:
        assert statements.study_names(connection) == ["pets"]
    engine.dispose()


def test_readers_see_one_moment_and_do_not_hold_up_the_writer(answered: StudyInstance) -> None:
    engine = reading_engine(StoreLocation.of(answered.store))
    person = answered.new()
    with engine.connect() as connection, connection.begin():
        before = list(export_queries.chained(connection, answered.running.number))
        person.answer()
        assert list(export_queries.chained(connection, answered.running.number)) == before
    with engine.connect() as connection:
        assert len(list(export_queries.chained(connection, answered.running.number))) == len(before) + 1
    engine.dispose()


def test_a_picture_is_only_for_whose_trial_it_is(answered: StudyInstance) -> None:
    person, other = answered.new(), answered.new()
    shown = person.first()
    engine = reading_engine(StoreLocation.of(answered.store))
    with engine.connect() as connection:
        number = answered.running.number
        seen = statements.trial_of_annotator(connection, number, person.token_hash, shown.handle)
        assert seen == shown.stimulus
        assert statements.trial_of_annotator(connection, number, other.token_hash, shown.handle) is None
        assert statements.trial_of_annotator(connection, number + 1, person.token_hash, shown.handle) is None
        assert statements.stimulus_of_trial(connection, shown.handle) == shown.stimulus
        assert statements.stimulus_of_trial(connection, "nothing") is None
    engine.dispose()


def test_no_token_is_in_the_store(store: str) -> None:
    with running_instance(store) as at:
        person = at.new()
        person.answer()
        everything = "".join(repr(at.rows(f"SELECT * FROM {table}")) for table in METADATA.tables)
    assert person.pseudonym in everything
    assert person.token not in everything
    if (file := StoreLocation.of(store).file) is not None:
        with sqlite3.connect(file) as connection:
            assert person.token not in "".join(connection.iterdump())
        connection.close()


@pytest.mark.parametrize(
    ("address", "mode"),
    [
        ("postgresql://me@db.example.org/answers", "verify-full"),
        ("postgresql://me@192.0.2.7:5433/answers", "verify-full"),
        ("postgresql:///answers?host=db.example.org", "verify-full"),
        ("postgresql:///answers?host=localhost&host=db.example.org", "verify-full"),
        ("postgresql://me@db.example.org/answers?sslmode=disable", "disable"),
        ("postgresql://me@localhost/answers", None),
        ("postgresql://me@127.0.0.1:5433/answers", None),
        ("postgresql:///answers?host=/run/postgresql", None),
        ("postgresql:///answers", None),
    ],
)
def test_a_database_on_another_machine_is_reached_by_tls(
    address: str, mode: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PGSSLMODE", raising=False)
    assert StoreLocation.of(address).url.query.get("sslmode") == mode
