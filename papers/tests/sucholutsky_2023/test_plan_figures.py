"""`sfumato plan figures` as a user types it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from sfumato.cli.plan import command
from sfumato.planning.informativeness.simulation import SimulationGrid
from sfumato.tables.errors import SfumatoError
from sfumato_papers.sucholutsky_2023 import geometry_runs


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cells of a small grid, and a table that is none."""
    SimulationGrid(n=(3, 8), k=(3, 8), d=(5,)).run().write(tmp_path / "cells.parquet")
    (tmp_path / "other.csv").write_text("item,p:cat\na,1\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_page_of_figures_with_your_own_data_marked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(geometry_runs, "NOISES", (0.0, 0.5))
    monkeypatch.setattr(geometry_runs, "SPARSE_SIZES", ((90, 30),))
    monkeypatch.setattr(geometry_runs, "SPARSE_SEEDS", 2)
    arguments = ["figures", "--cells", "cells.parquet", "--items", "150", "--classes", "4", "-o", "figures.html"]
    done = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert done.output.splitlines()[-1] == "figures.html: 8 figures, 150 items of 4 classes marked"
    html = (folder / "figures.html").read_text(encoding="utf-8")
    assert "150 items of 4 classes" in html
    assert "sfumato plan figures --items 150 --classes 4 --seed 0 --cells cells.parquet" in html


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "figures.pdf"], "a name that ends in .html"),
        (["-o", "nowhere/figures.html"], "no folder 'nowhere'"),
        (["--items", "3", "-o", "f.html"], "at least one item per class"),
        (["--classes", "1", "-o", "f.html"], "two classes or more"),
        (["--seed", "-1", "-o", "f.html"], "0 or more"),
        (["--cells", "other.csv", "-o", "f.html"], "a column 'n'"),
    ],
)
def test_what_cannot_be_drawn_is_said_before_anything_is_simulated(arguments: list[str], message: str) -> None:
    with pytest.raises(SfumatoError, match=message):
        CliRunner().invoke(command, ["figures", *arguments], catch_exceptions=False)
    assert not Path("f.html").exists()
