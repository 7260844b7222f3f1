"""`sfumato label`: which answers are used, and an error where none is left."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from sfumato.cli.label import command
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.errors import BadTable

HEADER = "item,annotator,kind,payload,purpose\n"


def choice(item: str, annotator: str, purpose: str = "label") -> str:
    return f'{item},{annotator},choice/1,"{{""class"": ""cat""}}",{purpose}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [choice("1", "ann"), choice("2", "ann"), choice("1", "ben"), choice("9", "ben", "check")]
    (tmp_path / "a.csv").write_text(HEADER + "".join(rows))
    return tmp_path


def label(folder: Path, screening: str | None = None, *more: str) -> str:
    given = []
    if screening is not None:
        (folder / "s.csv").write_text(screening)
        given = ["--screening", str(folder / "s.csv")]
    arguments = [str(folder / "a.csv"), "--by", "one-hot", "--classes", "cat,dog", "-o", str(folder / "b.csv")]
    return CliRunner().invoke(command, [*arguments, *given, *more], catch_exceptions=False).output


def test_excluded_annotators_are_left_out(folder: Path) -> None:
    shown = label(folder, "annotator,set_aside,reasons\nann,true,checks_passed\nben,false,\n")
    assert "1 beliefs of 1 annotators" in shown
    assert "3 of 4 answers not labeled" in shown
    assert Beliefs.read(folder / "b.csv").annotator.names.to_pylist() == ["ben"]


def test_a_screening_that_leaves_nothing_is_an_error(folder: Path) -> None:
    with pytest.raises(BadTable) as caught:
        label(folder, "annotator,set_aside,reasons\nann,true,checks_passed; median_seconds\nben,true,checks_passed\n")
    error = caught.value
    assert error.code == "nothing-left"
    assert "no answer left of 4: 1 have another purpose or kind (purposes: label, check)" in error.found
    assert "3 are by the 2 annotators excluded in" in error.found
    assert error.found.endswith("(checks_passed 2, median_seconds 1)")
    assert "label without --screening" in error.fix
    assert not (folder / "b.csv").exists()


def test_reasons_are_not_needed(folder: Path) -> None:
    with pytest.raises(BadTable, match="no reasons stated"):
        label(folder, "annotator,set_aside\nann,true\nben,true\n")


def test_a_screening_of_other_people_is_noticed(folder: Path) -> None:
    shown = label(folder, "annotator,set_aside\nzoe,true\n")
    assert "none of the 1 annotators excluded in" in shown
    assert len(Beliefs.read(folder / "b.csv")) == 3


def test_a_file_of_checks_only_has_nothing_to_label(folder: Path) -> None:
    (folder / "a.csv").write_text(HEADER + choice("9", "ben", "check"))
    with pytest.raises(BadTable, match="only answers with purpose check; expected answers with purpose label"):
        label(folder)
