"""The chain of answers: what is changed, taken out or put in by hand is named, on both databases."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import msgspec
import pytest
import sqlalchemy as sa
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from study_instance import StudyInstance, running_instance, sent

from sfumato.cli.backup import verify as command
from sfumato.store import database
from sfumato.store.database import writing_engine
from sfumato.store.interaction_record import InteractionRecord
from sfumato.store.location import StoreLocation
from sfumato.store.schema import METADATA, answers
from sfumato.store.verification import COLUMNS, ChainFault, chain_hash, faults_of, verify

N_ANSWERS = 6
RECORD = msgspec.json.Decoder(InteractionRecord).decode


def answered(store: str) -> StudyInstance:
    """A store with six answers of two people, which nobody serves."""
    with running_instance(store) as at:
        for _ in range(2):
            person = at.new()
            for _ in range(3):
                person.answer()
    return at


def by_hand(store: str, *statements: str) -> None:
    """Do what a person with access to the database could do: drop the guard, and change what they like."""
    engine = writing_engine(StoreLocation.of(store))
    with engine.begin() as connection:
        is_sqlite = connection.dialect.name == "sqlite"
        for verb in ("update", "delete"):
            if is_sqlite:
                connection.exec_driver_sql(f"DROP TRIGGER answers_no_{verb}")
        if not is_sqlite:
            connection.exec_driver_sql("ALTER TABLE answers DISABLE TRIGGER answers_append_only")
        for statement in statements:
            connection.exec_driver_sql(statement)
    engine.dispose()


def faults(store: str) -> tuple[ChainFault, ...]:
    (found,) = verify(StoreLocation.of(store))
    assert found.n_answers == N_ANSWERS
    return found.faults


def named(at: StudyInstance, offset: int) -> tuple[int, str, str]:
    """The id of an answer, and whose about what."""
    query = (
        "SELECT answers.id, pseudonym, items.item FROM answers JOIN annotators ON annotators.id = answers.annotator"
        f" JOIN items ON items.id = answers.item ORDER BY answers.id LIMIT 1 OFFSET {offset}"
    )
    (row,) = at.rows(query)
    return tuple(row)  # type: ignore[return-value]


def test_a_store_at_work_is_whole(store: str) -> None:
    with running_instance(store) as at:
        person = at.new()
        assert verify(StoreLocation.of(store))[0].head == ""
        heads = set()
        for _ in range(3):
            person.answer()
            (found,) = verify(StoreLocation.of(store))
            assert found.faults == ()
            heads.add(found.head)
        assert len(heads) == found.n_answers == 3


def test_a_server_that_starts_again_goes_on_with_the_chain(store: str) -> None:
    answered(store)
    with running_instance(store) as at:
        at.new().answer()
    (found,) = verify(StoreLocation.of(store))
    assert (found.n_answers, found.faults) == (N_ANSWERS + 1, ())


@pytest.mark.parametrize("offset", range(N_ANSWERS))
@pytest.mark.parametrize("change", ['payload = \'{"class":"dog"}\'', "seconds = seconds + 1", "chain = 'x'"])
def test_a_changed_answer_is_named(tmp_path: Path, offset: int, change: str) -> None:
    store = str(tmp_path / "a.sqlite")
    number, annotator, item = named(answered(store), offset)
    by_hand(store, f"UPDATE answers SET {change} WHERE id = {number}")
    found = faults(store)
    assert (found[0].id, found[0].what) == (number, "changed")
    assert offset == N_ANSWERS - 1 or (found[0].annotator, found[0].item) == (annotator, item)


@pytest.mark.parametrize("offset", [0, 2, N_ANSWERS - 1])
def test_a_deleted_answer_is_named(store: str, offset: int) -> None:
    number, annotator, item = named(answered(store), offset)
    by_hand(store, f"DELETE FROM answers WHERE id = {number}")
    assert faults(store) == (ChainFault(number, "missing", annotator, item),)


def test_an_answer_changed_in_postgresql_is_named(postgres: object) -> None:
    store = postgres.new_database()  # type: ignore[attr-defined]
    number, annotator, item = named(answered(store), 1)
    by_hand(store, f"UPDATE answers SET seconds = 99 WHERE id = {number}")
    assert faults(store) == (ChainFault(number, "changed", annotator, item),)


def test_an_answer_put_in_is_named(tmp_path: Path) -> None:
    store = str(tmp_path / "a.sqlite")
    number, *_ = named(answered(store), N_ANSWERS - 1)
    columns = {name: name for name in METADATA.tables["answers"].c.keys()}  # noqa: SIM118
    columns |= {"id": "id + 1", "trial": "trial - 1", "key": "'other'", "purpose": "'check'"}
    names, values = ", ".join(columns), ", ".join(columns.values())
    by_hand(
        store,
        "PRAGMA defer_foreign_keys = ON",
        f"UPDATE answers SET trial = -trial WHERE trial = (SELECT trial - 1 FROM answers WHERE id = {number})",
        f"INSERT INTO answers ({names}) SELECT {values} FROM answers WHERE id = {number}",
        "INSERT INTO trials SELECT -id, annotator, item, -number, purpose, handle || 'x', leased_at, expires_at, state,"
        " question, probability, audit, NULL, NULL FROM trials WHERE -id IN (SELECT trial FROM answers)",
    )
    assert (number + 1, "added") in {(fault.id, fault.what) for fault in faults(store)}


FLOATS = [
    0.0,
    -0.0,
    5e-324,
    -5e-324,
    2.2e-308,
    1e-10,
    0.1,
    1.0,
    2.5,
    2.0**47,
    2.0**53 + 2,
    2.0**63,
    1e12,
    1e300,
    1.79e308,
]


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=20))
def test_every_number_of_seconds_has_the_hash_of_what_is_read_back(store: str, drawn: list[float]) -> None:
    engine = writing_engine(StoreLocation.of(store))
    seconds = answers.c.seconds.type.compile(engine.dialect)
    numbers = [*FLOATS, *drawn]
    with engine.connect() as connection, connection.begin():
        mark = "?" if connection.dialect.name == "sqlite" else "%s"
        connection.exec_driver_sql(f"CREATE TEMPORARY TABLE numbers (id INTEGER, seconds {seconds} NOT NULL)")
        for place, number in enumerate(numbers):
            connection.exec_driver_sql(f"INSERT INTO numbers VALUES ({mark}, {mark})", (place, number))
        back = list(connection.exec_driver_sql("SELECT seconds FROM numbers ORDER BY id").scalars())
        connection.exec_driver_sql("DROP TABLE numbers")
    engine.dispose()
    row = dict.fromkeys(COLUMNS, 1)
    for before, after in zip(numbers, back, strict=True):
        assert chain_hash("", row | {"seconds": before}) == chain_hash("", row | {"seconds": after}), before


@pytest.mark.parametrize("elapsed", ["-0.0", "-0", "0", "5e-324", "1e12"])
def test_a_record_with_any_time_leaves_the_store_whole(store: str, elapsed: str) -> None:
    with running_instance(store) as at:
        person = at.new()
        record = msgspec.json.decode(
            f'{{"elapsed_ms": {elapsed}, "viewport": [-0.0, 5e-324, 1e308]}}', type=InteractionRecord
        )
        answer = msgspec.structs.replace(sent(person.first().handle), record=record)
        assert person.submit(answer).code is None
        person.answer()
    (found,) = verify(StoreLocation.of(store))
    assert (found.n_answers, found.faults) == (2, ())


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
@pytest.mark.parametrize("field", ["elapsed_ms", "viewport"])
def test_what_is_no_number_is_no_record(field: str, number: str) -> None:
    text = (
        f'{{"elapsed_ms": {number}}}' if field == "elapsed_ms" else f'{{"elapsed_ms": 1, "viewport": [1, {number}, 1]}}'
    )
    with pytest.raises(msgspec.MsgspecError):
        RECORD(text)


def test_the_links_cover_every_column_of_an_answer() -> None:
    """A column that the chain leaves out could be changed unseen."""
    assert set(METADATA.tables["answers"].c.keys()) == {*COLUMNS, "chain"}


def test_a_wrong_chain_is_not_taken_for_right() -> None:
    rows = [dict.fromkeys(COLUMNS, 0) | {"id": n, "annotator_name": "a", "item_name": "i"} for n in (1, 2, 3)]
    link = ""
    for row in rows:
        row["chain"] = link = chain_hash(link, row)  # type: ignore[assignment]
    assert list(faults_of(rows, first=1, n_answers=3, head=link)) == []
    assert [each.what for each in faults_of(rows, first=1, n_answers=3, head="other")] == ["changed"]
    assert [each.id for each in faults_of(rows[1:], first=1, n_answers=3, head=link)] == [1]


def test_answers_of_an_older_store_are_chained_when_it_is_brought_up_to_date(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store is made by the tables as they were, filled by hand, and opened."""
    monkeypatch.setattr(database, "LATEST", "0002")
    engine = writing_engine(StoreLocation.of(store))
    first = 2**40 + 1
    with engine.begin() as connection:
        for table, rows in OLDER.items():
            for row in rows(first):
                names = ", ".join(row)
                marks = ", ".join(f":{name}" for name in row)
                connection.execute(sa.text(f"INSERT INTO {table} ({names}) VALUES ({marks})"), row)
    engine.dispose()
    monkeypatch.undo()
    writing_engine(StoreLocation.of(store)).dispose()
    (found,) = verify(StoreLocation.of(store))
    assert (found.n_answers, found.faults) == (3, ())
    engine = writing_engine(StoreLocation.of(store))
    with engine.connect() as connection, pytest.raises(sa.exc.DatabaseError, match="append-only"):
        connection.exec_driver_sql("UPDATE answers SET seconds = 1")
    engine.dispose()
    by_hand(store, f"UPDATE answers SET seconds = 1 WHERE id = {first + 1}")
    (found,) = verify(StoreLocation.of(store))
    assert [fault.id for fault in found.faults] == [first + 1]


OLDER = {
    "studies": lambda _: [
        {"id": 1, "name": "s", "kind": "choice/1", "classes": "[]", "secret": "", "created_at": 1, "version": 0}
    ],
    "items": lambda _: [
        {"id": n, "study": 1, "item": f"i{n}", "others": "[]", "told": "{}", "quota": 3} for n in (1, 2, 3)
    ],
    "annotators": lambda _: [
        {"id": 1, "study": 1, "pseudonym": "A1", "token_hash": "x", "seed": 1, "created_at": 1, "attempts": 0}
    ],
    "trials": lambda _: [
        {
            "id": n, "annotator": 1, "item": n, "number": n, "purpose": "label", "handle": f"h{n}", "leased_at": 1,
            "expires_at": 1, "state": 1,
        }
        for n in (1, 2, 3)
    ],
    "answers": lambda first: [
        {
            "id": first + n - 1, "study": 1, "annotator": 1, "item": n, "trial": n, "number": n, "purpose": "label",
            "kind": "choice/1", "payload": "{}", "started_at": 1, "submitted_at": 2, "received_at": 3, "seconds": 0.1,
            "key": f"k{n}", "digest": "d", "handle": f"a{n}", "record": "{}",
        }
        for n in (1, 2, 3)
    ],
}  # fmt: skip


def test_the_command_names_the_row_and_ends_with_1(tmp_path: Path) -> None:
    store = tmp_path / "a.sqlite"
    number, annotator, item = named(answered(str(store)), 2)
    whole = CliRunner().invoke(command, [str(store)])
    assert whole.exit_code == 0
    assert "6 answers, all unchanged; head " in whole.output
    head = whole.output.split("head ")[1].strip()
    assert CliRunner().invoke(command, [str(store), "--head", head]).exit_code == 0
    assert CliRunner().invoke(command, [str(store), "--head", "0" * 64]).exit_code == 1
    connection = sqlite3.connect(store)
    connection.execute("DROP TRIGGER answers_no_delete")
    connection.execute("DELETE FROM answers WHERE id = ?", (number,))
    connection.commit()
    connection.close()
    broken = CliRunner().invoke(command, [str(store)])
    assert broken.exit_code == 1
    assert f"missing  answer {number}, {annotator} about {item}" in broken.output
