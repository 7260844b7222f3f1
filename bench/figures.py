"""Figures of README.md and docs/choosing.md, copied from the tables that the benchmarks write into docs/aggregate.md.

    python bench/figures.py [--write]

Prints every figure. `--write` puts it into the second column of the row of its page; the first column identifies the
row. Needs no data: run it after a benchmark has written its table.
"""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "docs" / "aggregate.md"
README, CHOOSING = ROOT / "README.md", ROOT / "docs" / "choosing.md"
NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?")
MEAN_OF_SETS = "mean of the six"


@dataclass(frozen=True)
class Cell:
    """A number in a table: the row by its first column, the column by its title, and which number of the cell."""

    table: str
    row: str
    column: str
    place: int = 0
    digits: int | None = None
    """Decimal digits, if fewer than in the table."""

    def text(self) -> str:
        found = NUMBER.findall(table_of(self.table)[self.row][self.column])[self.place]
        return found if self.digits is None else f"{float(found):.{self.digits}f}"


@dataclass(frozen=True)
class Figure:
    """The second column of the row of a page whose first column starts with `row`: the numbers of `cells` in `form`."""

    page: Path
    row: str
    form: str
    cells: tuple[Cell, ...]

    def text(self) -> str:
        return self.form.format(*(cell.text() for cell in self.cells))

    def on_page(self) -> re.Match[str]:
        """The second column as it is on the page."""
        found = re.search(rf"^\| {re.escape(self.row)}[^|]* \| ([^|]*) \|", self.page.read_text(), re.MULTILINE)
        if found is None:
            raise SystemExit(f"{self.page} has no row {self.row!r}; expected a row of a table that starts with it")
        return found

    def write(self) -> None:
        text, found = self.page.read_text(), self.on_page()
        self.page.write_text(text[: found.start(1)] + self.text() + text[found.end(1) :])


def table_of(name: str) -> dict[str, dict[str, str]]:
    """A table of docs/aggregate.md: row, column, text."""
    between = re.search(rf"<!-- evidence: {name} -->\n(.*?)<!-- end -->", SOURCE.read_text(), re.DOTALL)
    if between is None:
        raise SystemExit(f"{SOURCE} has no table {name}; expected <!-- evidence: {name} --> ... <!-- end -->")
    lines = [line for line in between[1].splitlines() if line.startswith("|")]
    split = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    head, rows = split[0], split[2:]
    return {row[0]: dict(zip(head, row, strict=True)) for row in rows if len(row) == len(head)}


def _people(column: str, *names: str) -> tuple[Cell, ...]:
    return tuple(Cell("people", name, column) for name in names)


def _published(place: int, *names: str, digits: int | None = None) -> tuple[Cell, ...]:
    return tuple(Cell("published", name, MEAN_OF_SETS, place, digits) for name in names)


POOLS = ("`mean`", "`reliability-pool`", "`mixture-pool`")
CLASSIC = "`dawid-skene`, prior 0"
FIGURES = (
    Figure(
        README,
        "its accuracy on six crowdsourced data sets, and crowd-kit's",
        "{} and {}",
        _published(0, "`dawid-skene`", "crowd-kit DawidSkene"),
    ),
    Figure(
        README,
        "its log-loss there, and that of the classic method",
        "{} and {}",
        _published(1, "`dawid-skene`", CLASSIC),
    ),
    Figure(
        CHOOSING,
        "beliefs compared with the votes of fifty other people",
        "{}, {}, {}",
        _people("as collected", *POOLS),
    ),
    Figure(
        CHOOSING,
        "the same with 30% of the annotators answering at random",
        "{}, {}, {}",
        _people("30% spam", *POOLS),
    ),
    Figure(
        CHOOSING,
        "one class per person instead of their belief costs more than any aggregator recovers",
        "{}",
        _people("as collected", "`mean` of hard votes"),
    ),
    Figure(
        CHOOSING,
        "`dawid-skene` used as an estimate of how people judge is worse than `mean`",
        "{}",
        _people("as collected", "`dawid-skene` (not meant for this)"),
    ),
    Figure(
        CHOOSING,
        "log-loss of `bayes` with 2, 5, 10 and 25 votes per image",
        "{}, {}, {}, {}",
        tuple(Cell("halves", n, "`bayes`") for n in ("2", "5", "10", "25")),
    ),
    Figure(
        CHOOSING,
        "with one vote per image, log-loss of the best smoothing and of `bayes`",
        "{} and {}",
        (Cell("halves", "1", "best smoothing"), Cell("halves", "1", "`bayes`")),
    ),
    Figure(
        CHOOSING,
        "10 votes per item with 30% random answers, total variation",
        "{}, {}, {}, {}",
        tuple(Cell("minority-votes", name, "30% answer at random") for name in (*POOLS, "`bayes`")),
    ),
    Figure(
        CHOOSING,
        "accuracy, mean of six crowdsourced data sets",
        "{}, {}, {}, {}, {}",
        _published(0, "`majority`", "`dawid-skene`", "`mace`", "crowd-kit DawidSkene", "crowd-kit MACE"),
    ),
    Figure(
        CHOOSING,
        "simulated crowds, accuracy minus that of `majority` in points",
        "{}, {}, {}",
        tuple(Cell("simulated", name, "all") for name in ("`dawid-skene`", "`mace`", CLASSIC)),
    ),
    Figure(
        CHOOSING,
        "log-loss of `dawid-skene` on `dog`: temperature 1, by default, calibrated on half of the gold labels",
        "{}, {}, {}",
        tuple(Cell("calibration", "dog", column) for column in ("temperature 1", "by default", "on half of the gold")),
    ),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    for figure in FIGURES:
        print(f"{figure.page.name}: {figure.row}: {figure.text()}")
        if options.write:
            figure.write()


if __name__ == "__main__":
    main()
