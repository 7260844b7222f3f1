"""`sfumato study entry`, `reconcile`, `pay` and `forget`: from a store with people in it to tables."""

from __future__ import annotations

import contextlib
import csv
import json
import shutil
import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from platform_stub import PlatformStub
from platform_study import STUDY, arrives, door, hex_id, prolific, through, write_platform_study
from site_client import asked_site

from sfumato.cli import group
from sfumato.cli.study_erasure import expiry_note
from sfumato.elicitation.researcher_actions import expired_of
from sfumato.store.erasure import Expired
from sfumato.study.study_file import read_study
from sfumato.tables.errors import SfumatoError

IDS = [(hex_id(f"person {n}"), hex_id(f"visit {n}")) for n in range(4)]
BONUS = '[pay.bonus]\nrule = "agreement"\nmost = 1.0\n'


@pytest.fixture(scope="module")
def pets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study to which four people came: three finished, one left halfway."""
    folder = write_platform_study(tmp_path_factory.mktemp("pets"), more="fee = 0.5\n" + BONUS)
    with asked_site(folder) as asked, PlatformStub() as stub, pytest.MonkeyPatch.context() as patch:
        for name, value in stub.environment.items():
            patch.setenv(name, value)
        for number, (person, session) in enumerate(IDS):
            stub.add(person, session, "ACTIVE", study=STUDY)
            through(arrives(asked, prolific(person, session)), until=None if number < 3 else 3)
    rows = [
        f"{session},{person},AWAITING REVIEW,{'DONE-1' if number else 'NOCODE'}"
        for number, (person, session) in enumerate(IDS[:3])
    ]
    export = ["Submission id,Participant id,Status,Completion code", *rows, f"{IDS[3][1]},{IDS[3][0]},RETURNED,"]
    (folder / "export.csv").write_text("\n".join([*export, "sesX1y2z3,pidX1y2z3,APPROVED,DONE-1"]) + "\n")
    return folder


@pytest.fixture
def copied(pets: Path, tmp_path: Path) -> Path:
    """The same, to be changed."""
    return Path(shutil.copytree(pets, tmp_path / "pets"))


def run(*arguments: object) -> Result:
    return CliRunner().invoke(group, ["study", *map(str, arguments)], catch_exceptions=True)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_entry_prints_the_door_that_lets_people_in(pets: Path) -> None:
    shown = run("entry", pets, "--address", "https://study.example/")
    assert shown.exit_code == 0, shown.output
    address = shown.output.strip()
    with asked_site(pets) as asked:
        expected = f"https://study.example{door(asked)}"
    assert address == (
        f"{expected}?PROLIFIC_PID={{{{%PROLIFIC_PID%}}}}&STUDY_ID={{{{%STUDY_ID%}}}}&SESSION_ID={{{{%SESSION_ID%}}}}"
    )


def test_entry_makes_the_store_where_nobody_has_served_it(tmp_path: Path) -> None:
    folder = write_platform_study(tmp_path / "new", "mturk")
    first, second = (run("entry", folder, "--address", "https://study.example").output for _ in range(2))
    assert first == second
    assert first.startswith("https://study.example/from/mturk/")
    assert "?" not in first


def test_a_study_without_a_platform_has_no_entry(tmp_path: Path) -> None:
    from picture_study import write_picture_study

    shown = run("entry", write_picture_study(tmp_path / "plain"))
    assert isinstance(shown.exception, SfumatoError)
    assert shown.exception.code == "no-platform"


def test_reconcile_tells_what_is_known_here(pets: Path, tmp_path: Path) -> None:
    shown = run("reconcile", pets, "-o", tmp_path / "r.csv")
    assert shown.exit_code == 0, shown.output
    assert "no mismatches" in shown.output
    table = rows(tmp_path / "r.csv")
    assert [row["outcome"] for row in table] == ["finished"] * 3 + ["under way"]
    assert [row["pay"] for row in table] == ["yes"] * 3 + ["decide"]
    assert [row["n_labels"] for row in table] == ["4", "4", "4", "2"]


def test_reconcile_with_the_export_lists_every_mismatch(pets: Path, tmp_path: Path) -> None:
    shown = run("reconcile", pets, "--submissions", pets / "export.csv", "-o", tmp_path / "r.csv")
    assert shown.exit_code == 0, shown.output
    assert "2 mismatches" in shown.output
    assert "wrong-code: submitted with another code" in shown.output
    assert "row 5          not-here: submitted on the platform" in shown.output
    assert [row["mismatches"] for row in rows(tmp_path / "r.csv")] == ["wrong-code", "", "", "", "not-here"]
    assert not [each for each in sum(IDS, ()) if each in shown.output + (tmp_path / "r.csv").read_text()]


@pytest.mark.parametrize("option", ["--submissions", "--screening", "--paid"])
def test_errors_of_tables_name_the_file(pets: Path, tmp_path: Path, option: str) -> None:
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n")
    shown = run("pay", pets, option, tmp_path / "bad.csv")
    assert isinstance(shown.exception, SfumatoError)
    assert shown.exception.code == "missing-column"
    assert str(shown.exception).startswith(f"error[missing-column] {tmp_path / 'bad.csv'}")


def test_ids_come_only_when_asked_for(pets: Path, tmp_path: Path) -> None:
    for command in ("reconcile", "pay"):
        run(command, pets, "--submissions", pets / "export.csv", "-o", tmp_path / "t.csv", "--with-ids")
        table = rows(tmp_path / "t.csv")
        assert (table[0]["person"], table[0]["session"]) == IDS[0]
        run(command, pets, "-o", tmp_path / "t.csv")
        assert not {"person", "session"} & set(rows(tmp_path / "t.csv")[0])


def test_reconcile_asks_the_platform(pets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = run("reconcile", pets, "--ask-platform")
    assert isinstance(shown.exception, SfumatoError)
    assert (shown.exception.code, "SFUMATO_PROLIFIC_TOKEN" in shown.exception.expected) == ("no-token", True)
    with PlatformStub() as stub:
        for person, session in IDS[:2]:
            stub.add(person, session, "APPROVED", "DONE-1", study=STUDY)
        for name, value in stub.environment.items():
            monkeypatch.setenv(name, value)
        shown = run("reconcile", pets, "--ask-platform")
    assert shown.exit_code == 0, shown.output
    assert shown.output.count("not-on-platform") == 2


def test_excluded_people_are_paid(pets: Path, tmp_path: Path) -> None:
    run("reconcile", pets, "-o", tmp_path / "r.csv")
    first = rows(tmp_path / "r.csv")[0]["annotator"]
    screening = tmp_path / "s.csv"
    screening.write_text(f"annotator,set_aside,reasons\n{first},true,median_seconds\n")
    shown = run("reconcile", pets, "--screening", screening, "-o", tmp_path / "r2.csv")
    assert f"{first:14} pay yes: median_seconds" in shown.output
    assert (rows(tmp_path / "r2.csv")[0]["set_aside"], rows(tmp_path / "r2.csv")[0]["pay"]) == ("median_seconds", "yes")
    run("pay", pets, "--screening", screening, "-o", tmp_path / "p.csv")
    paid = [(row["reason"], row["amount"]) for row in rows(tmp_path / "p.csv") if row["annotator"] == first]
    assert paid == [("base", "2.5"), ("bonus", "1")]


def test_pay_lists_base_bonus_and_parts_and_sends_nothing(pets: Path, tmp_path: Path) -> None:
    shown = run("pay", pets, "-o", tmp_path / "p.csv")
    assert shown.exit_code == 0, shown.output
    # Everybody said cat of everything: all agree, and the bonus is whole. Half a batch was answered by the fourth.
    table = rows(tmp_path / "p.csv")
    assert [(row["reason"], row["amount"], row["due"]) for row in table] == [
        *[("base", "2.5", "yes"), ("bonus", "1", "yes")] * 3,
        ("part", "1.25", "decide"),
    ]
    assert "10.50 EUR" in shown.output
    assert "5.25 EUR" in shown.output  # the fee, half of it
    assert "7 payments, none of them made" in shown.output


def test_pay_leaves_out_what_was_paid(pets: Path, tmp_path: Path) -> None:
    run("pay", pets, "-o", tmp_path / "monday.csv")
    shown = run("pay", pets, "-o", tmp_path / "friday.csv", "--paid", tmp_path / "monday.csv")
    assert "7 left out, already paid" in shown.output
    assert rows(tmp_path / "friday.csv") == []


def test_a_study_without_pay_says_so(pets: Path, copied: Path) -> None:
    file = copied / "study.toml"
    text = file.read_text()
    start, stop = text.index("[pay]"), text.index("[platform]")
    file.write_text(text[:start] + text[stop:].replace(BONUS, ""))
    shown = run("pay", copied)
    assert isinstance(shown.exception, SfumatoError)
    assert shown.exception.code == "no-pay"


def test_forget_erases_the_identity(copied: Path, tmp_path: Path) -> None:
    person, session = IDS[1]
    shown = run("forget", copied, "--platform-id", person)
    assert shown.exit_code == 0, shown.output
    assert person not in shown.output
    assert "answers kept" in shown.output
    store = copied / "store"
    assert not [file for file in store.iterdir() for each in (person, session) if each.encode() in file.read_bytes()]
    run("reconcile", copied, "-o", tmp_path / "r.csv", "--with-ids")
    table = rows(tmp_path / "r.csv")
    assert (len(table), table[1]["person"], table[1]["n_labels"]) == (4, "", "4")
    pseudonym = table[2]["annotator"]
    shown = run("forget", copied, pseudonym, "--answers")
    assert "left out of exports" in shown.output
    run("reconcile", copied, "-o", tmp_path / "r.csv")
    assert rows(tmp_path / "r.csv")[2]["set_aside"] == "on their request"
    again = run("forget", copied, "--platform-id", person)
    assert isinstance(again.exception, SfumatoError)
    assert again.exception.code == "unknown-person"


def test_forget_waits_for_the_server_to_let_go(copied: Path) -> None:
    with asked_site(copied):
        shown = run("forget", copied, "--platform-id", IDS[0][0])
    assert isinstance(shown.exception, SfumatoError)
    assert shown.exception.code == "store-in-use"


def long_ago(folder: Path, n_people: int) -> None:
    """Let the first people have been here a year ago, and limit how long their data is kept."""
    with contextlib.closing(sqlite3.connect(folder / "store/answers.sqlite")) as store, store:
        year = 365 * 86_400_000
        first = "SELECT id FROM annotators ORDER BY id LIMIT ?"
        store.execute(f"UPDATE annotators SET seen_at = seen_at - {year} WHERE id IN ({first})", (n_people,))
    file = folder / "study.toml"
    file.write_text(file.read_text() + "\n[privacy]\nkeep_ids_days = 90\nkeep_records_days = 200\n")


def test_forget_erases_what_is_past_its_date(copied: Path) -> None:
    long_ago(copied, 3)
    store = copied / "store/answers.sqlite"
    before = store.read_bytes()
    shown = run("forget", copied, "--expired", "--dry-run")
    assert shown.exit_code == 0, shown.output
    assert shown.output.splitlines()[:3] == [
        "3 platform ids would be deleted",
        "3 links would be invalidated, and completion codes deleted",
        "records of inputs and exact times of 3 participants (15 answers) would be erased",
    ]
    assert "not known to be paid" in " ".join(shown.output.split())
    assert store.read_bytes() == before
    shown = run("forget", copied, "--expired", "--unpaid")
    assert shown.output.splitlines() == [
        "3 platform ids deleted",
        "3 links invalidated, and completion codes deleted",
        "records of inputs and exact times of 3 participants (15 answers) erased",
        "Backups and files exported before still contain them: delete these too.",
    ]
    held = [person for person, _ in IDS if person.encode() in store.read_bytes()]
    assert held == [IDS[3][0]]
    checked = CliRunner().invoke(group, ["verify", str(copied)])
    assert checked.exit_code == 0, checked.output
    assert "all unchanged (15 without their records, which were erased)" in checked.output
    again = run("forget", copied, "--expired").output  # nobody is left whose id could be needed
    assert again.startswith("0 platform ids deleted\n0 links")
    assert "Backups" not in again


def test_forget_stops_before_people_who_are_not_known_to_be_paid(copied: Path, tmp_path: Path) -> None:
    long_ago(copied, 3)
    run("reconcile", copied, "-o", tmp_path / "r.csv")
    owed = sorted(row["annotator"] for row in rows(tmp_path / "r.csv")[:3] if row["pay"] != "no")
    assert owed
    shown = run("forget", copied, "--expired")
    assert isinstance(shown.exception, SfumatoError)
    assert shown.exception.code == "unpaid"
    assert f"{len(owed)} participant" in shown.exception.found
    assert all(name in shown.exception.found for name in owed)
    assert "--unpaid" in shown.exception.fix
    held = [person for person, _ in IDS if person.encode() in (copied / "store/answers.sqlite").read_bytes()]
    assert len(held) == len(IDS)
    # A list of what was paid, as `sfumato study pay` writes it.
    paid = "annotator,reason,amount,key\n" + "".join(f"{name},base,2.5,k-{name}\n" for name in owed)
    (tmp_path / "paid.csv").write_text(paid)
    shown = run("forget", copied, "--expired", "--paid", tmp_path / "paid.csv")
    assert shown.exit_code == 0, shown.output
    assert shown.output.startswith("3 platform ids deleted\n")


def test_a_dry_run_of_forget_only_reads(copied: Path) -> None:
    long_ago(copied, 2)
    with asked_site(copied):
        shown = run("forget", copied, "--expired", "--dry-run")
    assert shown.exit_code == 0, shown.output
    assert shown.output.startswith("2 platform ids would be deleted\n")


@pytest.mark.parametrize("what", [("--expired", "--dry-run"), ("--expired",), ("somebody",)])
def test_forget_adds_nothing_to_the_store_of_another_study(copied: Path, what: tuple[str, ...]) -> None:
    long_ago(copied, 1)
    file, store = copied / "study.toml", copied / "store/answers.sqlite"
    text = file.read_text()
    name = read_study(copied).name
    file.write_text(text.replace(f'name = "{name}"', 'name = "fruits"'))
    assert read_study(copied).name == "fruits"
    shown = run("forget", copied, "--store", store, *what)
    assert isinstance(shown.exception, SfumatoError)
    assert shown.exception.code == "no-study"
    with contextlib.closing(sqlite3.connect(store)) as opened:
        assert opened.execute("SELECT name FROM studies").fetchall() == [(name,)]
    missing = run("forget", copied, "--store", copied / "other.sqlite", *what)
    assert isinstance(missing.exception, SfumatoError)
    assert missing.exception.code == "no-store"
    assert not (copied / "other.sqlite").exists()


def test_serving_reminds_of_data_past_its_date(copied: Path) -> None:
    long_ago(copied, 1)
    with asked_site(copied) as asked:
        found = asked.site.writer.run(expired_of)
    note = expiry_note(found, [str(copied)])
    assert note.startswith("personal data of 1 participant is past its date; stop the server and run: sfumato study")
    assert note.endswith("--expired")
    assert expiry_note(Expired(), []) == ""


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["--dry-run"], "--dry-run without --expired"),
        (["--unpaid"], "--unpaid without --expired"),
        (["Abcdefghij2", "--expired"], "--expired together with a participant or --answers"),
        (["--answers", "--expired"], "--expired together with a participant or --answers"),
        (["--expired"], "a study without [privacy]"),
    ],
)
def test_what_forget_cannot_do(pets: Path, arguments: list[str], found: str) -> None:
    shown = run("forget", pets, *arguments)
    assert isinstance(shown.exception, SfumatoError)
    assert shown.exception.found.removeprefix("found ") == found


@pytest.mark.parametrize("command", ["reconcile", "pay"])
def test_nobody_has_come_yet(tmp_path: Path, command: str) -> None:
    folder = write_platform_study(tmp_path / "new")
    shown = run(command, folder)
    assert isinstance(shown.exception, SfumatoError)
    assert shown.exception.code == "no-store"
    run("entry", folder)
    shown = run(command, folder)
    assert shown.exit_code == 0, shown.output


def test_failed_checks_are_counted_and_listed(tmp_path: Path) -> None:
    check = '[[checks]]\nitem = "dog/hushed-{}"\nclasses = ["dog"]\nat_least = 1.0\n'
    more = check.format(2) + check.format(4)
    folder = write_platform_study(tmp_path / "pets", more=more)
    with asked_site(folder) as asked:
        through(arrives(asked, prolific(*IDS[0])))
    run("reconcile", folder, "-o", tmp_path / "r.csv")
    (row,) = rows(tmp_path / "r.csv")
    assert (row["outcome"], row["pay"], row["n_failed"]) == ("finished", "confirm", "2")
    shown = run("pay", folder)
    assert "1 people not listed, because the platform has not confirmed them" in shown.output
    assert "an obvious image is not an attention check" in row["may_refuse"]


def test_pay_and_reconcile_only_read_the_store(pets: Path) -> None:
    store = pets / "store" / "answers.sqlite"
    before = store.read_bytes()
    for command in ("reconcile", "pay"):
        assert run(command, pets, "--submissions", pets / "export.csv").exit_code == 0
    assert store.read_bytes() == before
    assert json.dumps(sorted(path.name for path in store.parent.iterdir() if path.suffix == ".csv")) == "[]"
