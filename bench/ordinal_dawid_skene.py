"""Log-loss of `ordinal-dawid-skene`, `dawid-skene` and `majority` on simulated ratings, for docs/aggregate.md.

    python bench/ordinal_dawid_skene.py [--crowds 20] [--write]

The ratings are those of the test: a scale of five, people with a bias (standard deviation 0.4 classes) and normal noise
(0.25 to 0.9 classes), thresholds that are not equally spaced, and one person in ten who guesses.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np

from pages import markdown, write
from sfumato.aggregation import DawidSkene, Majority, OneCoin, OrdinalDawidSkene

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))
from ordinal_ratings import Ratings

METHODS = {
    "`ordinal-dawid-skene`": OrdinalDawidSkene(),
    "`dawid-skene`": DawidSkene(),
    "`one-coin`": OneCoin(),
    "`majority` (probabilities of at least 0.000001)": Majority(),
}
PAGE = Path(__file__).parents[1] / "docs" / "aggregate.md"


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--crowds", type=int, default=20)
    given.add_argument("--write", action="store_true", help="write the table into docs/aggregate.md")
    options = given.parse_args()
    warnings.simplefilter("ignore")
    each = (8, 20, 50, 100)
    losses = {
        name: [
            np.mean([Ratings.drawn(200, 800 // n, 4, seed).log_loss(method) for seed in range(options.crowds)])
            for n in each
        ]
        for name, method in METHODS.items()
    }
    rows = [(name, *(f"{value:.2f}" for value in row)) for name, row in losses.items()]
    table = markdown(("method", *(f"{n} answers per annotator" for n in each)), rows)
    print(table)
    if options.write:
        write(PAGE, "ordinal", table)


if __name__ == "__main__":
    main()
