"""The figures of aggregators in README.md and docs/choosing.md are those in the tables that the benchmarks wrote."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))
from figures import FIGURES, Figure


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.row)
def test_a_figure_is_that_of_its_table(figure: Figure) -> None:
    assert figure.on_page()[1] == figure.text(), "run python bench/figures.py --write"


def test_a_missing_row_is_an_error() -> None:
    with pytest.raises(SystemExit, match="no row"):
        Figure(FIGURES[0].page, "no such row", "{}", FIGURES[0].cells).write()
