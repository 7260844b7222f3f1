"""Planning benchmarks: required and measured values.

    python bench/plan.py [figures ...]        all except grid-full by default

gnmds        GNMDS compared with cblearn on the triplets of soft labels, at most 100 iterations, as ratios of CPU
             seconds in one run. cblearn needs an older numpy, so it has its own environment in the user's cache.
gradient     one loss and gradient of half a billion triplets.
grid         the uniform 10 x 10 grid of points and classes in 5, 25 and 125 dimensions, soft and hard labels, one core.
correlation  correlation of information ratio and effective dimensionality in that grid.
grid-full    the grid of all n, k = 3 to 90, on two cores: its time is estimated from a sample first. `--sample` does
             only that, `-o` saves the cells.
precision    expected errors against 100,000 simulated sets of answers per item. [data]
halves       answers per image that `bayes` saves on real halves of CIFAR-10H, even and adaptive. [data]
update       an answer arrives, the next item is chosen: 10,000 items, 10 classes. [data]
kinds-peer   what kinds of label recover in 40 worlds, compared with cblearn's GNMDS from a random start.
kinds-map    the two regularities of Sucholutsky et al. (2023) over 11 x 11 numbers of items and classes.
kinds-time   one question of `sfumato plan labels` with 22 kinds and its page.
kinds-example  the answer to the paper's example, as printed.
photos       the printed answers of docs/plan.md, from a pilot of 80 pictures of CIFAR-10H. [data]
exchange     what a soft answer of CIFAR-10S is worth in votes of CIFAR-10H, six seeds. [data]
all          all except grid-full.

`--write docs` writes the results of kinds-* into docs/plan-methods.md, and the answers about the photos into
docs/plan.md.

Each line shows the required value, the measured value, and their ratio. Values with [data] need SFUMATO_DATA, the
folder of cifar10h, cifar10s and cifar10-model-predictions. Ratios are valid on a busy machine, seconds are not.
"""

# ruff: noqa: E402

from __future__ import annotations

import os

# One core for us and for cblearn, so that CPU seconds can be compared.
for library in ("OPENBLAS", "OMP", "MKL"):
    os.environ[f"{library}_NUM_THREADS"] = "1"

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path

import plan_allocation
import plan_annotators
import plan_exchange
import plan_geometry
import plan_labels
import plan_photos
from pages import markdown, write
from plan_figures import Figure

METHODS = "plan-methods.md"
ALL = (
    "gnmds",
    "gradient",
    "grid",
    "correlation",
    "precision",
    "halves",
    "update",
    "kinds-peer",
    "kinds-map",
    "kinds-time",
    "kinds-example",
    "photos",
    "exchange",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figures", nargs="*", metavar="figures", help="see above")
    parser.add_argument("--sample", action="store_true", help="grid-full: only estimate the time")
    parser.add_argument("-o", "--output", type=Path, help="grid-full: file for the cells")
    parser.add_argument("--write", type=Path, help="the folder of the pages that get the results of kinds-* and photos")
    given = parser.parse_args()
    known = (*ALL, "grid-full")
    named = dict.fromkeys(each for name in given.figures or ["all"] for each in (ALL if name == "all" else (name,)))
    for name in named:
        if name not in known:
            parser.error(f"found {name!r}; expected some of {', '.join((*known, 'all'))}")
    measured: dict[str, Callable[[], Iterable[Figure]]] = {
        "gnmds": plan_geometry.gnmds,
        "gradient": plan_geometry.gradient,
        "grid": plan_geometry.grid,
        "correlation": plan_geometry.correlation,
        "grid-full": lambda: plan_geometry.grid_full(sample_only=given.sample, output=given.output),
        "precision": plan_annotators.figures,
        "halves": plan_allocation.split_half,
        "update": plan_allocation.update,
        "kinds-peer": plan_labels.peer,
        "kinds-map": plan_labels.regularities,
        "kinds-time": plan_labels.question,
        "exchange": plan_exchange.figures,
    }
    printed: dict[str, Callable[[], Iterable[tuple[str, str]]]] = {
        "kinds-example": lambda: [("kinds-example", plan_labels.example())],
        "photos": plan_photos.printed,
    }
    needs_data = {"precision", "halves", "update", "photos", "exchange"} & set(named)
    if needs_data and "SFUMATO_DATA" not in os.environ:
        print(f"skipped, because SFUMATO_DATA is not set: {', '.join(sorted(needs_data))}")
        named = dict.fromkeys(name for name in named if name not in needs_data)
    for name in named:
        print(f"-- {name} (load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores)", flush=True)
        if name in printed:
            for block, text in printed[name]():
                print(text, flush=True)
                if given.write:
                    write(given.write / ("plan.md" if name == "photos" else METHODS), block, text)
            continue
        found = []
        for figure in measured[name]():
            figure.show()
            found.append(figure)
        if given.write and name.startswith("kinds-"):
            write(given.write / METHODS, name, f"{_table(found)}\n\nMeasured by `python bench/plan.py {name}`.")


def _table(figures: list[Figure]) -> str:
    rows = [[f.what, f"{'at most' if f.at_most else 'at least'} {f.required:.3g}{f.unit}", f"{f.measured:.3g}{f.unit}"]
            for f in figures]  # fmt: skip
    return markdown(["figure", "required", "measured"], rows)


if __name__ == "__main__":
    main()
