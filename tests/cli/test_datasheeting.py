"""`sfumato datasheet` as a user runs it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from sfumato.annotations import Annotations
from sfumato.soft_labels import SoftLabels

SFUMATO = Path(sys.executable).parent / "sfumato"


def run(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SFUMATO, *map(str, arguments)], cwd=folder, capture_output=True, text=True)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    SoftLabels.from_numpy(["1", "2"], [[0.5, 0.5], [1, 0]], ["cat", "dog"], [2, 2]).write(tmp_path / "labels.parquet")
    return tmp_path


def test_it_prints_the_open_points_and_keeps_words(files):
    done = run(files, "datasheet", "--labels", "labels.parquet", "-o", "sheet.md")
    assert done.returncode == 0, done.stderr
    n_open = int(re.search(r"^(\d+) open points:$", done.stdout, re.MULTILINE)[1])
    assert done.stdout.count("\n  - ") == n_open
    text = (files / "sheet.md").read_text()
    assert text.count("\n[TO FILL IN") == n_open
    (files / "sheet.md").write_text(re.sub(r"(<!-- yours: contact -->\n).*\n", r"\1Ann, ann@example.org\n", text))
    done = run(files, "datasheet", "--labels", "labels.parquet", "-o", "sheet.md", "--html", "sheet.html")
    assert done.returncode == 0, done.stderr
    assert "1 in your words, kept" in done.stdout
    assert f"{n_open - 1} open points:" in done.stdout
    assert "Ann, ann@example.org" in (files / "sheet.md").read_text()
    assert "Ann, ann@example.org" in (files / "sheet.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-o", "sheet.html"], "the page for reading goes to --html"),
        (["-o", "sheet.md", "--html", "sheet.txt"], "expected a name ending in .html"),
        (["-o", "mine.md"], "error[not-a-datasheet] mine.md"),
        (["-o", "none/sheet.md"], "error[no-such-folder]"),
        (["-o", "sheet.md", "--beliefs", "labels.parquet"], "error[missing-column]"),
        (["-o", "sheet.md", "--screening", "labels.parquet"], "error[missing-column]"),
    ],
)
def test_mistakes_are_one_line_and_change_nothing(files, arguments, said):
    (files / "mine.md").write_text("# Mine\n")
    done = run(files, "datasheet", "--labels", "labels.parquet", *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert (files / "mine.md").read_text() == "# Mine\n"
    assert sorted(path.name for path in files.iterdir()) == ["labels.parquet", "mine.md"]


def test_cifar_10s_against_what_is_published(first_pass, tmp_path):
    """248 people, 25 images each, 6,200 answers about 1,000 images; agreement as docs/agreement.md has it."""
    assert isinstance(first_pass, Annotations)
    first_pass.write(tmp_path / "answers.parquet")
    assert run(tmp_path, "label", "answers.parquet", "--by", "top-two-clamp", "-o", "beliefs.parquet").returncode == 0
    assert run(tmp_path, "aggregate", "beliefs.parquet", "-o", "labels.parquet").returncode == 0
    done = run(
        tmp_path, "datasheet", "--labels", "labels.parquet", "--annotations", "answers.parquet", "--beliefs",
        "beliefs.parquet", "--title", "CIFAR-10S", "-o", "sheet.md",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "sheet.md").read_text()
    assert "248 annotators gave 6,200 answers about 1,000 items." in text
    assert "Answers each: 25." in text
    assert "They are the mean of people's beliefs (`mean`)" in text
    assert "| `alpha-nominal` | 0.734 | 0.716 to 0.754 | 1,000 | 6,200 |" in text
    assert "| `alpha-distributions` | 0.801 | 0.788 to 0.815 | 1,000 | 6,200 |" in text
