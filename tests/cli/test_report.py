"""`sfumato report` as a user types it."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest
import reported
import trained
from click.testing import CliRunner

from sfumato.cli import report
from sfumato.tables.errors import BadFile, BadSetting, MissingExtra, SfumatoError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return reported.write_study(tmp_path_factory.mktemp("study"), ("hard", "soft"), range(2))


@pytest.fixture(autouse=True)
def there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def run(*arguments: object) -> str:
    done = CliRunner().invoke(report.command, list(map(str, arguments)), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def refused(*arguments: object) -> SfumatoError:
    with pytest.raises(SfumatoError) as caught:
        CliRunner().invoke(report.command, list(map(str, arguments)), catch_exceptions=False)
    return caught.value


def text_of(path: Path) -> str:
    html = re.sub(r"<(script|style).*?</\1>", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", html)))


def test_a_folder_becomes_a_page(tmp_path: Path) -> None:
    said = run(".", "--title", "Three animals", "--resamples", 100, "-o", tmp_path / "r.html")
    assert re.fullmatch(r".*r\.html: \d+ sections, \d+ figures, \d\.\d MB", said.splitlines()[-1])
    text = text_of(tmp_path / "r.html")
    assert "Three animals" in text
    assert "How many people disagree is unknown" in text
    assert "sfumato report . -o" in text
    assert "--title 'Three animals'" in text
    assert "--resamples 100" in text
    assert "--level" not in text.rsplit("Sources", 1)[1].split("Files read")[0]


def test_a_folder_of_runs_is_enough_with_people(tmp_path: Path) -> None:
    run("runs", "--people", "labels.parquet", "--resamples", 100, "-o", tmp_path / "r.html")
    text = text_of(tmp_path / "r.html")
    assert "Comparison of training targets" in text
    assert "Robustness" not in text
    assert "sfumato evaluate --runs runs/ --people labels.parquet" in text


def test_labels_alone_do_not_say_what_people_did(tmp_path: Path) -> None:
    run("--labels", "labels.parquet", "-o", tmp_path / "r.html")
    text = text_of(tmp_path / "r.html")
    assert "People disagree" not in text
    assert "unanimous" not in text
    assert "Comparison of training targets" not in text


def test_runs_without_labels_are_said_not_to_be_scored(tmp_path: Path) -> None:
    said = run("runs", "-o", tmp_path / "r.html")
    assert "no labels of people: models are not scored" in said


def test_several_labels_have_names(tmp_path: Path) -> None:
    trained.people().write("other.parquet")
    run("--people", "labels.parquet", "--labels", "mace=other.parquet", "-o", tmp_path / "r.html")
    assert "mace" in text_of(tmp_path / "r.html")


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        ((".", "-o", "r.pdf"), BadSetting, "ends in .html"),
        (("nowhere", "-o", "r.html"), BadFile, "no folder"),
        (
            (".", "--labels", "a=labels.parquet", "--labels", "a=labels.parquet", "-o", "r.html"),
            BadSetting,
            "already used",
        ),
        ((".", "--labels", "=labels.parquet", "-o", "r.html"), BadSetting, "NAME=FILE"),
        ((".", "--level", 2, "-o", "r.html"), BadSetting, "level"),
        ((".", "--resamples", 3, "-o", "r.html"), BadSetting, "resamples"),
        ((".", "--plan", "r.html", "-o", "r.html"), BadSetting, "the same file"),
        ((".", "-o", "no/such/place/r.html"), SfumatoError, "folder"),
    ],
)
def test_what_cannot_be_is_refused(arguments: tuple[object, ...], kind: type, words: str) -> None:
    error = refused(*arguments)
    assert isinstance(error, kind)
    assert words in str(error)


def test_without_the_extra_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.reporting.chart_renderer.find_spec", lambda name: None)
    error = refused(".", "-o", "r.html")
    assert isinstance(error, MissingExtra)
    assert "sfumato[report]" in str(error)
