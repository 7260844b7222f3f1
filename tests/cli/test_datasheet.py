"""`sfumato datasheet` as a user runs it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from sfumato.aggregation import Mean
from sfumato.cli.datasheet import command
from sfumato.labeling import TopTwoClamp
from sfumato.tables.errors import SfumatoError
from sfumato.tables.soft_labels import SoftLabels


def run(*arguments: object) -> str:
    done = CliRunner().invoke(command, [*map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    SoftLabels.from_numpy(["1", "2"], [[0.5, 0.5], [1, 0]], ["cat", "dog"], [2, 2]).write(tmp_path / "labels.parquet")
    return tmp_path


def test_it_prints_the_open_points_and_keeps_words(files):
    shown = run("--labels", "labels.parquet", "-o", "sheet.md")
    n_open = int(re.search(r"^(\d+) open points:$", shown, re.MULTILINE)[1])
    assert shown.count("\n  - ") == n_open
    text = (files / "sheet.md").read_text()
    assert text.count("\n[TO FILL IN") == n_open
    (files / "sheet.md").write_text(re.sub(r"(<!-- yours: contact -->\n).*\n", r"\1Ann, ann@example.org\n", text))
    shown = run("--labels", "labels.parquet", "-o", "sheet.md", "--html", "sheet.html")
    assert "1 answers of yours kept" in shown
    assert f"{n_open - 1} open points:" in shown
    assert "Ann, ann@example.org" in (files / "sheet.md").read_text()
    assert "Ann, ann@example.org" in (files / "sheet.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-o", "sheet.html"], "the HTML page goes to --html"),
        (["-o", "sheet.md", "--html", "sheet.txt"], "expected a name ending in .html"),
        (["-o", "mine.md"], "error[not-a-datasheet] mine.md"),
        (["-o", "none/sheet.md"], "error[no-such-folder]"),
        (["-o", "sheet.md", "--beliefs", "labels.parquet"], "error[missing-column]"),
        (["-o", "sheet.md", "--screening", "labels.parquet"], "error[missing-column]"),
    ],
)
def test_mistakes_are_said_and_change_nothing(files, arguments, said):
    (files / "mine.md").write_text("# Mine\n")
    with pytest.raises(SfumatoError, match=re.escape(said)):
        run("--labels", "labels.parquet", *arguments)
    assert (files / "mine.md").read_text() == "# Mine\n"
    assert sorted(path.name for path in files.iterdir()) == ["labels.parquet", "mine.md"]


def test_cifar_10s_against_what_is_published(first_pass, tmp_path):
    """248 people, 25 images each, 6,200 answers about 1,000 images; agreement as docs/agreement.md has it."""
    beliefs = TopTwoClamp().label(first_pass, ())
    first_pass.write(tmp_path / "answers.parquet")
    beliefs.write(tmp_path / "beliefs.parquet")
    Mean().aggregate(beliefs).labels.write(tmp_path / "labels.parquet")
    given = [f"--{name}={tmp_path / file}" for name, file in (
        ("labels", "labels.parquet"), ("annotations", "answers.parquet"), ("beliefs", "beliefs.parquet")
    )]  # fmt: skip
    run(*given, "--title", "CIFAR-10S", "-o", tmp_path / "sheet.md")
    text = (tmp_path / "sheet.md").read_text()
    assert "248 annotators gave 6,200 answers about 1,000 items." in text
    assert "Answers per annotator: 25." in text
    assert "They are the mean of people's beliefs (`mean`)" in text
    assert "| `alpha-nominal` | 0.734 | 0.713 to 0.754 | 1,000 | 6,200 |" in text
    assert "| `alpha-distributions` | 0.801 | 0.785 to 0.816 | 1,000 | 6,200 |" in text
