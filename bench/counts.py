"""Votes per class from the file to the report, without a conversion: CPU time, and the same numbers as single votes.

    python bench/counts.py [N]          (default: 35,000 items, ten votes each, eight classes, as FERPlus)

The file is a wide CSV with a column that is not a class (`Usage`). Every step is done twice, from the counts and from
single votes (item, annotator, label) of the same people; the table has the CPU seconds of both and the largest
difference (of agreement, in the values). The whole, without the report, must take less than 60 s of CPU, and differ by
at most 1e-12.
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import sfumato as sf
from sfumato.importers import CountsImporter

CLASSES = ("neutral", "happiness", "surprise", "sadness", "anger", "disgust", "fear", "contempt")
N_VOTES = 10
MOST_SECONDS = 60.0
LARGEST_DIFFERENCE = 1e-12


def simulated(n_items: int, rng: np.random.Generator) -> np.ndarray:
    """Ten votes per face: most faces are clear, some are ambiguous."""
    clear = rng.dirichlet(np.full(len(CLASSES), 0.05), n_items)
    ambiguous = rng.dirichlet(np.full(len(CLASSES), 0.4), n_items)
    faces = np.where(rng.random((n_items, 1)) < 0.7, clear, ambiguous)
    return rng.multinomial(N_VOTES, faces / faces.sum(axis=1, keepdims=True))


def write_files(folder: Path, votes: np.ndarray, rng: np.random.Generator) -> None:
    """The counts, and predictions with four decimals, as people have them."""
    items = [f"fer{i:07}.png" for i in range(len(votes))]
    usage = rng.choice(["Training", "PublicTest", "PrivateTest"], len(votes))
    with (folder / "fer.csv").open("w") as file:
        file.write(",".join(["Usage", "Image name", *CLASSES]) + "\n")
        for item, use, row in zip(items, usage, votes, strict=True):
            file.write(",".join([use, item, *map(str, row)]) + "\n")
    predicted = (votes + 0.5 * rng.random(votes.shape)) / (votes + 0.5).sum(axis=1, keepdims=True)
    predicted /= predicted.sum(axis=1, keepdims=True)
    with (folder / "model.csv").open("w") as file:
        file.write(",".join(["item", *CLASSES]) + "\n")
        for item, row in zip(items, predicted, strict=True):
            file.write(",".join([item, *(f"{p:.4f}" for p in row)]) + "\n")


def single_votes(votes: np.ndarray) -> sf.Beliefs:
    """One row per vote; the annotators of an item are numbered."""
    item, label = (np.repeat(axis, votes.ravel()) for axis in np.indices(votes.shape).reshape(2, -1))
    person = np.concatenate([np.arange(n) for n in votes.sum(axis=1)])
    names = [f"fer{i:07}.png" for i in range(len(votes))]
    return sf.Beliefs.from_numpy([names[i] for i in item], [f"p{k}" for k in person], label, CLASSES)


def timed(step: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    return step(), time.process_time() - start


def plan_numbers(plan: Any) -> np.ndarray:
    return np.array([[point.value, point.answers, point.money] for point in plan.curve], float)


def main() -> None:
    n_items = int(sys.argv[1]) if len(sys.argv) > 1 else 35_000
    rng = np.random.default_rng(0)
    votes = simulated(n_items, rng)
    warnings.simplefilter("ignore", sf.SfumatoWarning)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_files(folder, votes, rng)
        imported, seconds = timed(lambda: CountsImporter(leave_out=("Usage",)).read(folder / "fer.csv").table)
        print(f"{'step':10} {'counts, s':>10} {'votes, s':>9} {'largest difference':>19}")
        assert np.array_equal(imported.counts, votes)
        print(f"{'import':10} {seconds:10.2f} {'-':>9} {0.0:19.1e}")
        total, worst = seconds, 0.0
        exploded = single_votes(votes)
        model = folder / "model.csv"
        steps: dict[str, tuple[Callable[[Any], Any], Callable[[Any], np.ndarray]]] = {
            "doubt": (sf.doubt, lambda doubt: doubt.total),
            # Intervals differ on purpose: those of counts take the crowd as fixed.
            "agreement": (sf.agreement, lambda table: table.value),
            "mean": (sf.aggregate, lambda labels: labels.probs),
            "majority": (lambda table: sf.aggregate(table, "majority"), lambda labels: labels.probs),
            "bayes": (lambda table: sf.aggregate(table, "bayes"), lambda labels: labels.probs),
            "evaluate": (
                lambda table: sf.evaluate(
                    predicted=model, people=table if isinstance(table, sf.Counts) else sf.aggregate(table)
                ),
                lambda scores: np.concatenate([scores.value, scores.low, scores.high, scores.floor]),
            ),
            "plan": (lambda table: sf.plan(pilot=table, budget=2_000), plan_numbers),
        }
        for name, (step, numbers) in steps.items():
            ours, seconds = timed(lambda step=step: step(imported))
            theirs, seconds_of_votes = timed(lambda step=step: step(exploded))
            one, other = numbers(ours), numbers(theirs)
            same = np.isclose(one, other, rtol=0, atol=0, equal_nan=True)
            difference = float(np.abs(one - other)[~same].max(initial=0.0))
            total, worst = total + seconds, max(worst, difference)
            print(f"{name:10} {seconds:10.2f} {seconds_of_votes:9.2f} {difference:19.1e}")
            if name == "bayes":
                ours.write(folder / "labels.parquet")
        imported.write(folder / "counts.parquet")
        (folder / "fer.csv").unlink()
        model.unlink()
        _, seconds = timed(lambda: sf.report(folder, title="Faces").save(folder / "report.html"))
        print(f"{'report':10} {seconds:10.2f} {'-':>9} {'-':>19}")
    verdict = "ok" if total <= MOST_SECONDS and worst <= LARGEST_DIFFERENCE else "MISSED"
    print(f"{n_items:,} items: {total:.1f} s of CPU without the report (at most {MOST_SECONDS:g}), "
          f"largest difference {worst:.1e} (at most {LARGEST_DIFFERENCE:g}): {verdict}")  # fmt: skip


if __name__ == "__main__":
    main()
