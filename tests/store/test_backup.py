"""Backups: a store as one file and back, on both databases; private, whole, and never over what is there."""

from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path

import pytest
from big_store import older_release
from click.testing import CliRunner
from postgres_cluster import Cluster
from study_instance import running_instance

from sfumato.cli.backup import backup as backup_command
from sfumato.cli.backup import restore as restore_command
from sfumato.store.backup import backup, restore
from sfumato.store.database import reading_engine, writing_engine
from sfumato.store.location import StoreLocation
from sfumato.store.verification import verify
from sfumato.tables.errors import BadFile, BadSetting, SfumatoError


def heads(store: str | Path) -> list[tuple[int, str]]:
    return [(study.n_answers, study.head) for study in verify(StoreLocation.of(store))]


def test_a_backup_while_people_answer_is_of_that_moment(store: str, tmp_path: Path) -> None:
    output = tmp_path / "backup.sqlite"
    with running_instance(store) as at:
        person = at.new()
        person.answer()
        before = heads(store)
        copied = backup(StoreLocation.of(store), output)
        person.answer()
        assert heads(store) != before
    assert heads(output) == before
    assert (copied.n_answers, copied.n_faults, copied.n_bytes) == (1, 0, output.stat().st_size)
    assert stat.S_IMODE(output.stat().st_mode) == 0o600
    # No further files that it needs or that have to be removed.
    assert {path.name for path in tmp_path.glob("*backup*")} == {"backup.sqlite"}


def test_a_study_goes_on_where_its_backup_was_made(store: str, tmp_path: Path) -> None:
    output, place = tmp_path / "backup.sqlite", tmp_path / "new" / "answers.sqlite"
    with running_instance(store) as at:
        person = at.new()
        person.answer()
        backup(StoreLocation.of(store), output)
    assert restore(output, StoreLocation.of(place)).n_answers == 1
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    with running_instance(str(place)) as again:
        assert again.same(person).state().answered == 1
        again.same(person).answer()
    assert [(study.n_answers, study.faults) for study in verify(StoreLocation.of(place))] == [(2, ())]


def test_a_backup_comes_back_into_postgresql(tmp_path: Path, postgres: Cluster) -> None:
    first, output, store = str(tmp_path / "a.sqlite"), tmp_path / "backup.sqlite", postgres.new_database()
    with running_instance(first) as at:
        person = at.new()
        person.answer()
    backup(StoreLocation.of(first), output)
    restore(output, StoreLocation.of(store))
    assert heads(store) == heads(first)
    with running_instance(store) as again:
        again.same(person).answer()
    with pytest.raises(BadSetting) as caught:
        restore(output, StoreLocation.of(store))
    assert caught.value.code == "store-exists"


def test_a_store_that_is_there_is_never_overwritten(tmp_path: Path) -> None:
    first, second, output = (str(tmp_path / name) for name in ("a.sqlite", "b.sqlite", "backup.sqlite"))
    for store in (first, second):
        with running_instance(store) as at:
            at.new().answer()
    backup(StoreLocation.of(first), Path(output))
    before = heads(second)
    with pytest.raises(BadSetting) as caught:
        restore(Path(output), StoreLocation.of(second))
    assert caught.value.code == "store-exists"
    assert heads(second) == before
    with pytest.raises(BadSetting) as caught:
        backup(StoreLocation.of(first), Path(first))
    assert caught.value.code == "output-is-input"


@pytest.mark.parametrize("content", [b"", b"not a store", b"SQLite format 3\0" + bytes(5000)])
def test_what_is_no_backup_is_refused_and_leaves_nothing(tmp_path: Path, content: bytes) -> None:
    wrong, place = tmp_path / "wrong.sqlite", tmp_path / "new.sqlite"
    wrong.write_bytes(content)
    with pytest.raises(SfumatoError):
        restore(wrong, StoreLocation.of(place))
    assert not place.exists() or place.stat().st_size == 0
    with pytest.raises(SfumatoError):
        backup(StoreLocation.of(wrong), tmp_path / "copy.sqlite")
    assert not (tmp_path / "copy.sqlite").exists()


def test_a_damaged_backup_is_refused(tmp_path: Path) -> None:
    store, output = str(tmp_path / "a.sqlite"), tmp_path / "backup.sqlite"
    with running_instance(store) as at:
        person = at.new()
        for _ in range(4):
            person.answer()
    backup(StoreLocation.of(store), output)
    content = bytearray(output.read_bytes())
    for page in range(2, len(content) // 4096):
        content[4096 * page + 8 : 4096 * page + 40] = os.urandom(32)
    output.write_bytes(content)
    with pytest.raises(SfumatoError):
        restore(output, StoreLocation.of(tmp_path / "new.sqlite"))


def test_a_store_of_an_older_release_can_be_backed_up_and_nothing_else(tmp_path: Path) -> None:
    store, output = tmp_path / "a.sqlite", tmp_path / "backup.sqlite"
    with older_release():
        writing_engine(StoreLocation.of(store)).dispose()
    with pytest.raises(BadFile) as caught:
        reading_engine(StoreLocation.of(store))
    assert caught.value.code == "older-store"
    assert backup(StoreLocation.of(store), output).studies == ()
    writing_engine(StoreLocation.of(output)).dispose()
    assert verify(StoreLocation.of(output)) == []


def test_the_commands_say_what_they_did(tmp_path: Path) -> None:
    store, output, place = tmp_path / "a.sqlite", tmp_path / "backup.sqlite", tmp_path / "new.sqlite"
    with running_instance(str(store)) as at:
        at.new().answer()
    made = CliRunner().invoke(backup_command, [str(store), "-o", str(output)])
    assert (made.exit_code, "1 answers" in made.output) == (0, True), made.output
    back = CliRunner().invoke(restore_command, [str(output), str(place)])
    assert (back.exit_code, "1 answers" in back.output) == (0, True), back.output
    connection = sqlite3.connect(store)
    connection.execute("DROP TRIGGER answers_no_update")
    connection.execute("UPDATE answers SET seconds = 99")
    connection.commit()
    connection.close()
    tampered = CliRunner().invoke(backup_command, [str(store), "-o", str(output)])
    assert (tampered.exit_code, "differ from what was stored" in tampered.output) == (1, True), tampered.output
