"""False verdicts, and the power to find a true difference, of comparisons over seeds, items and people.

Two targets whose losses differ by item and by run, with skewed losses. Without people: the test on arrays of losses,
seeds x items. With people: predictions of two models that are tilted to opposite classes, votes of people who lean to
some classes, and the comparison as `sf.compare` makes it; over all people and items neither model is better.
"""

from __future__ import annotations

from itertools import product
from multiprocessing import get_context

import numpy as np
from scipy.stats import t as student

from sfumato.evaluation.comparison import compare_runs
from sfumato.evaluation.metrics import CrossEntropy
from sfumato.evaluation.run_predictions import RunPredictions
from sfumato.evaluation.run_scores import measure_runs
from sfumato.evaluation.variance_components import Contributions, VarianceComponents
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.soft_labels import SoftLabels

GOAL = (
    "Without a difference a verdict should appear in at most 6% of studies (nominal 5%), and a difference of 3 "
    "standard errors should be found in at least 70%. Without people: over five combinations of the variation between "
    "runs (standard deviation 0 to 0.05) and of lasting differences between items (0 or 0.3)."
)
HEAD = ["seeds", "items", "people", "leaning", "false verdicts", "largest", "found", "least", "by the simpler rule"]
SEEDS, ITEMS = (3, 6, 10), (50, 200, 1000)
SPREADS = ((0.0, 0.3), (0.02, 0.3), (0.05, 0.3), (0.05, 0.0), (0.0, 0.0))
"""Standard deviations of runs, and of lasting item effects."""
PEOPLE, LEANINGS = (5, 10, 30), (0.0, 0.4, 0.8)
NOISE = 0.4
CLASSES = ("a", "b", "c", "d")
TILT = 0.3 * np.array([1.0, 0.0, 0.0, -1.0])


def losses(rng: np.random.Generator, shape: tuple[int, int], run_sd: float, item_sd: float) -> np.ndarray:
    """The losses of two targets, targets x seeds x items: skewed, with lasting item effects and run effects."""
    seeds, items = shape
    base = rng.gamma(0.5, 1, items)
    item = item_sd * (rng.gamma(0.7, 1, (2, 1, items)) - 0.7)
    run = rng.normal(0, run_sd, (2, seeds, 1)) if run_sd else 0.0
    return np.asarray(base + item + run + NOISE * rng.standard_normal((2, seeds, items)) * np.sqrt(base + 0.1))


def contributions(values: np.ndarray) -> Contributions:
    """Of losses, seeds x items."""
    mean = values.mean(axis=1)
    return Contributions(mean, values - mean[:, None])


def is_found(both: np.ndarray) -> bool:
    """Whether there is a verdict at the level of 95%."""
    one, other = contributions(both[0]), contributions(both[1])
    return VarianceComponents.of_difference(one, other, is_paired=True).p < 0.05


def cell(n_seeds: int, n_items: int, run_sd: float, item_sd: float, studies: int) -> list[float]:
    """False verdicts, differences found, and false verdicts of a t-test over seeds alone, as shares of studies."""
    rng = np.random.default_rng([n_seeds, n_items, int(100 * run_sd), int(10 * item_sd)])
    error = np.sqrt(2 * run_sd**2 / n_seeds + 1.4 * item_sd**2 / n_items + 2 * NOISE**2 * 0.6 / (n_seeds * n_items))
    shift = np.array([0.0, 3 * error])[:, None, None]
    found = np.zeros(3)
    for _ in range(studies):
        both = losses(rng, (n_seeds, n_items), run_sd, item_sd)
        apart = (both[0] - both[1]).mean(axis=1)
        t = abs(apart.mean()) / (apart.std(ddof=1) / np.sqrt(n_seeds))
        found += is_found(both), is_found(both + shift), t > student.ppf(0.975, n_seeds - 1)
    return [float(each) for each in found / studies]


def people_study(rng: np.random.Generator, n_seeds: int, n_items: int, n_people: int, leaning: float) -> list[bool]:
    """Whether two equally good models get a verdict: for people at large, and if the people are taken as fixed."""
    items = [str(i) for i in range(n_items)]
    truth = rng.normal(0, 1.5, (n_items, 4))
    liked = truth[:, None] + rng.normal(0, leaning, (n_people, 4)) if leaning else truth[:, None]
    votes = (liked + rng.gumbel(size=(n_items, n_people, 4))).argmax(axis=2)
    answers = Beliefs.from_votes(
        item=np.repeat(items, n_people),
        annotator=np.tile([f"p{j}" for j in range(n_people)], n_items),
        label=np.array(CLASSES)[votes.ravel()],
        classes=CLASSES,
    )
    runs = []
    for name, sign in (("one", 1), ("two", -1)):
        own = truth + rng.normal(0, 0.3, truth.shape) + sign * TILT
        for seed in range(n_seeds):
            logits = own + rng.normal(0, 0.05, (1, 4)) + rng.normal(0, 0.15, truth.shape)
            probs = np.exp(logits)
            table = SoftLabels.from_numpy(items, probs / probs.sum(axis=1, keepdims=True), CLASSES, 0)
            runs.append(RunPredictions(name, "", seed, table))
    labels = SoftLabels.from_numpy(items, np.stack([(votes == k).mean(axis=1) for k in range(4)], axis=1), CLASSES)
    found = []
    for people in (answers, labels):
        measured = measure_runs(runs, people=people, metrics=[CrossEntropy()], resamples=100)
        found.append(bool(compare_runs(measured, baseline="one").differences[0].verdict))
    return found


def people_cell(n_people: int, leaning: float, n_items: int, studies: int) -> list[float]:
    rng = np.random.default_rng([n_people, int(10 * leaning), n_items])
    found = [people_study(rng, 3, n_items, n_people, leaning) for _ in range(studies)]
    return [float(each) for each in np.mean(found, axis=0)]


def simulate(studies: int, processes: int) -> list[list[str]]:
    plain = [(s, n, *spread, studies) for s, n, spread in product(SEEDS, ITEMS, SPREADS)]
    crowds = [(n, leaning, 200, studies) for n, leaning in product(PEOPLE, LEANINGS)]
    with get_context("spawn").Pool(processes) as pool:
        found = dict(zip(plain, pool.starmap(cell, plain, chunksize=1), strict=True))
        with_people = pool.starmap(people_cell, crowds, chunksize=1)
    rows = []
    for n_seeds, n_items in product(SEEDS, ITEMS):
        own = np.array([each for key, each in found.items() if key[:2] == (n_seeds, n_items)])
        rows.append(
            [
                f"{n_seeds}",
                f"{n_items:,}",
                "fixed",
                "",
                f"{own[:, 0].mean():.1%}",
                f"{own[:, 0].max():.1%}",
                f"{own[:, 1].mean():.0%}",
                f"{own[:, 1].min():.0%}",
                f"{own[:, 2].max():.0%} (t over seeds)",
            ]
        )
    for (n_people, leaning, n_items, _), (at_large, fixed) in zip(crowds, with_people, strict=True):
        rows.append(
            [
                "3",
                f"{n_items}",
                f"{n_people}",
                f"{leaning}",
                f"{at_large:.1%}",
                "",
                "",
                "",
                f"{fixed:.0%} (people fixed)",
            ]
        )
    return rows
