"""What stands is reused, by content; whatever is changed, damaged or stopped halfway is made anew."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from sfumato.cli.demo import step_journal
from sfumato.cli.demo import step_journal as journals
from sfumato.cli.demo.step_journal import FILE_NAME, Journal, Step, content_hash
from sfumato.tables.errors import BadSetting, MissingExtra

STEP = Step("copy", "sfumato copy {folder}/a.txt -o {folder}/b.txt", ("a.txt",), ("b.txt", "runs"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A demo's folder with one input, where a command copies it."""

    def run(line: str) -> None:
        assert line == f"sfumato copy {tmp_path}/out/a.txt -o {tmp_path}/out/b.txt"
        (tmp_path / "out" / "b.txt").write_bytes((tmp_path / "out" / "a.txt").read_bytes())
        (tmp_path / "out" / "runs" / "one").mkdir(parents=True)
        (tmp_path / "out" / "runs" / "one" / "run.json").write_text("{}")
        click.echo("about to write")
        click.echo(f"{tmp_path}/out/b.txt: a copy")

    monkeypatch.setattr(step_journal, "run", run)
    monkeypatch.setattr(journals, "program_hash", lambda: "this program")
    step_journal.begin(tmp_path / "out")
    (tmp_path / "out" / "a.txt").write_text("first")
    return tmp_path / "out"


def is_run_again(folder: Path) -> bool:
    """Whether the step had to be done again."""
    _, result = step_journal.run_step(STEP, Journal.read(folder))
    assert result.summary == "b.txt: a copy"
    return not result.is_reused


def test_what_stands_is_not_made_again(folder: Path) -> None:
    assert is_run_again(folder)
    assert (folder / STEP.log).read_text().splitlines()[1:] == ["about to write", f"{folder}/b.txt: a copy"]
    assert not is_run_again(folder)


@pytest.mark.parametrize(
    ("name", "content"),
    [("b.txt", "damaged"), ("b.txt", None), ("runs/one/run.json", "{"), ("runs/one/run.json", None), ("a.txt", "new")],
)
def test_changed_or_damaged_files_are_made_again(folder: Path, name: str, content: str | None) -> None:
    is_run_again(folder)
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_text(content)
    assert is_run_again(folder)
    assert (folder / "b.txt").read_text() == (folder / "a.txt").read_text() == (content if name == "a.txt" else "first")
    assert (folder / "runs" / "one" / "run.json").read_text() == "{}"
    assert not is_run_again(folder)


def test_a_file_with_other_times_but_the_same_content_stands(folder: Path) -> None:
    is_run_again(folder)
    content = (folder / "b.txt").read_bytes()
    (folder / "b.txt").unlink()
    (folder / "b.txt").write_bytes(content)
    assert not is_run_again(folder)


def test_another_command_or_program_repeats_the_step(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    is_run_again(folder)
    other = Step(STEP.name, f"{STEP.command} --more", STEP.reads, STEP.makes)
    assert not Journal.read(folder).is_done(other)
    monkeypatch.setattr(journals, "program_hash", lambda: "another program")
    assert not Journal.read(folder).is_done(STEP)


@pytest.mark.parametrize("error", [KeyboardInterrupt, click.Abort, RuntimeError])
def test_a_step_that_is_stopped_leaves_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    def stopped(line: str) -> None:
        (folder / "b.txt").write_text("half of it")
        (folder / "runs").mkdir()
        raise error

    done = step_journal.run
    monkeypatch.setattr(step_journal, "run", stopped)
    with pytest.raises(error):
        step_journal.run_step(STEP, Journal.read(folder))
    assert sorted(path.name for path in folder.iterdir()) == ["a.txt", FILE_NAME, "labels", "logs", "scores"]
    monkeypatch.setattr(step_journal, "run", done)
    assert is_run_again(folder)


def test_a_journal_that_cannot_be_read_says_nothing(folder: Path) -> None:
    is_run_again(folder)
    (folder / FILE_NAME).write_text("[1")
    assert Journal.read(folder).notes == {}
    assert is_run_again(folder)


def test_a_folder_that_is_not_the_demos_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    with pytest.raises(BadSetting, match="the demo did not create") as caught:
        step_journal.begin(tmp_path)
    assert "-o" in caught.value.fix
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]


def test_missing_packages_are_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_journal, "find_spec", lambda name: None if name in ("sklearn", "torch") else object())
    with pytest.raises(MissingExtra, match="found no sklearn, torch") as caught:
        step_journal.check_installed()
    assert 'pip install "sfumato[demo]"' in caught.value.fix


def test_the_hash_of_a_folder_is_of_names_and_contents(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name / "in").mkdir(parents=True)
        (tmp_path / name / "in" / "file").write_text("same")
    assert content_hash(tmp_path / "one") == content_hash(tmp_path / "two")
    (tmp_path / "two" / "answers.sqlite.lock").write_text("17")
    assert content_hash(tmp_path / "one") == content_hash(tmp_path / "two")
    (tmp_path / "two" / "in" / "file").rename(tmp_path / "two" / "in" / "other")
    assert content_hash(tmp_path / "one") != content_hash(tmp_path / "two")
    assert content_hash(tmp_path / "nothing") == ""
