"""How often intervals contain the true value, and how often verdicts are wrong: simulated studies with a known truth.

    python bench/coverage.py [--only NAME] [--studies 150] [--processes 2] [--write docs/coverage.md]

Each module in `bench/coverage_rows` simulates one claim and prints one table. It has:

    GOAL       what the table should show, one sentence
    HEAD       the column names
    simulate   a function of the number of simulated studies per cell and the number of processes, which returns the
               rows of the table as text
    TIMES      optional: it simulates so many times the number of studies that was asked for, because it is quick, and
               a few studies do not show whether a cell misses

`--write` writes the tables into a page, between `<!-- evidence: NAME -->` and `<!-- end -->`. Rows that need published
data find it in the folder `SFUMATO_DATA`.
"""

from __future__ import annotations

import argparse
import time
from importlib import import_module
from pathlib import Path

if __name__ == "coverage":
    # Numba imports the package `coverage` if there is one. Scripts in this folder would give it this file.
    raise ImportError("bench/coverage.py is a command, not the package coverage")

from pages import markdown, write

ROWS = Path(__file__).parent / "coverage_rows"


def main() -> None:
    names = sorted(path.stem for path in ROWS.glob("*.py") if path.stem != "__init__")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=names, help="one of the simulations")
    parser.add_argument("--studies", type=int, default=150, help="simulated studies per cell")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--write", type=Path, help="the page that gets the tables")
    chosen = parser.parse_args()
    for name in [chosen.only] if chosen.only else names:
        row = import_module(f"coverage_rows.{name}")
        started = time.perf_counter()
        studies = chosen.studies * getattr(row, "TIMES", 1)
        table = markdown(row.HEAD, row.simulate(studies, chosen.processes))
        took = time.perf_counter() - started
        text = f"{table}\n\n{row.GOAL} Measured with {studies:,} simulated studies per cell: "
        text += f"`python bench/coverage.py --only {name}`."
        print(f"== {name} ({took:,.0f} s)\n\n{text}\n", flush=True)
        if chosen.write:
            write(chosen.write, name, text)


if __name__ == "__main__":
    main()
