"""False verdicts, and the power to find a true difference, of comparisons over seeds, items and people.

Two targets whose losses differ by item and by run, with skewed losses. Without people: the test on arrays of losses,
seeds x items. With people: predictions of two models that are tilted to opposite classes, votes of people who lean to
some classes, and the comparison as `sf.compare` makes it; over all people and items neither model is better.

`at most` is the power of a t-test that knows how large the variances are relative to each other, and so which degrees
of freedom it has. If runs vary and items do not, it is the best unbiased test.

Rows of the world `other` are confirmation: no rule was changed after they were simulated. Losses are lognormal, their
noise has a Laplace distribution, and the runs of one target may vary more than those of the other, or be alike for the
same seed.
"""

from __future__ import annotations

from itertools import product
from multiprocessing import get_context

import numpy as np
from scipy.stats import nct
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
    "runs (standard deviation 0 to 0.05) and of lasting differences between items (0 or 0.3), in the world `other` "
    "over those with runs that vary. `at most` is the power of a t-test that knows the ratios of the variances. The "
    "world `other` has half as many studies, with people a third."
)
HEAD = [
    "world", "seeds", "items", "people", "leaning", "false verdicts", "largest", "found", "least", "at most",
    "least at most", "other rules",
]  # fmt: skip
TIMES = 8
SEEDS, ITEMS = (3, 6, 10), (50, 200, 1000)
SPREADS = ((0.0, 0.3), (0.02, 0.3), (0.05, 0.3), (0.05, 0.0), (0.0, 0.0))
"""Standard deviations of runs, and of lasting item effects."""
OTHER_SEEDS, OTHER_ITEMS = (3, 4, 5, 7), 100
OTHER_SPREADS = ((0.02, 0.3), (0.05, 0.3), (0.05, 0.0))
OTHER_RUNS = ((1.0, 0.0), (4.0, 0.0), (25.0, 0.0), (1.0, 0.5))
"""How many times larger the variance of the runs of one target is, and their correlation for the same seed."""
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


def other_losses(
    rng: np.random.Generator, shape: tuple[int, int], spread: tuple[float, float], runs: tuple[float, float]
) -> np.ndarray:
    """The same in the world `other`."""
    (seeds, items), (run_sd, item_sd), (ratio, alike) = shape, spread, runs
    base = rng.lognormal(0, 0.5, items)
    item = item_sd * (rng.lognormal(0, 0.6, (2, 1, items)) - np.exp(0.18))
    run = np.sqrt(1 - alike) * rng.normal(size=(2, seeds, 1)) + np.sqrt(alike) * rng.normal(size=(1, seeds, 1))
    run *= run_sd * np.sqrt(np.array([1.0, ratio]) * 2 / (1 + ratio))[:, None, None]
    return np.asarray(base + item + run + 0.3 * base * rng.laplace(0, np.sqrt(0.5), (2, seeds, items)))


def other_cell(n_seeds: int, spread: tuple[float, float], runs: tuple[float, float], studies: int) -> list[float]:
    """False verdicts and differences found, as the rule is, if seeds were always paired, and never."""
    rng = np.random.default_rng([n_seeds, *(int(100 * each) for each in (*spread, *runs))])
    (run_sd, item_sd), (ratio, alike) = spread, runs
    of_runs = 2 * run_sd**2 * (1 - alike * 2 * np.sqrt(ratio) / (1 + ratio))
    of_items = 2 * item_sd**2 * (np.exp(0.36) - 1) * np.exp(0.36)
    error = np.sqrt(of_runs / n_seeds + of_items / OTHER_ITEMS + 0.18 * np.exp(0.5) / (n_seeds * OTHER_ITEMS))
    shift = np.array([0.0, 3 * error])[:, None, None]
    found = np.zeros(4)
    for _ in range(studies):
        both = other_losses(rng, (n_seeds, OTHER_ITEMS), spread, runs)
        one, other = contributions((both + shift)[0]), contributions((both + shift)[1])
        paired = VarianceComponents.of(one.minus(other)).p < 0.05
        apart = VarianceComponents.of_difference(one, other, is_paired=False).p < 0.05
        found += is_found(both), is_found(both + shift), paired, apart
    return [float(each) for each in found / studies]


def most_power(n_seeds: int, n_items: int, run_sd: float, item_sd: float) -> float:
    """The power of a t-test at 3 standard errors with the degrees of freedom of the true variances."""
    runs, items, noise = 2 * run_sd**2 / n_seeds, 1.4 * item_sd**2 / n_items, 2 * NOISE**2 * 0.6 / (n_seeds * n_items)
    of_runs = (runs + noise) ** 2 / (2 * (n_seeds - 1)) if run_sd else 0.0
    df = (runs + items + noise) ** 2 / (of_runs + (items + noise) ** 2 / (n_items - 1))
    needed = student.ppf(0.975, df)
    return float(nct.sf(needed, df, 3) + nct.cdf(-needed, df, 3))


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
    others = [
        (s, spread, runs, max(studies // 2, 1)) for s, runs, spread in product(OTHER_SEEDS, OTHER_RUNS, OTHER_SPREADS)
    ]
    crowds = [(n, leaning, 200, max(studies // 3, 1)) for n, leaning in product(PEOPLE, LEANINGS)]
    with get_context("spawn").Pool(processes) as pool:
        found = dict(zip(plain, pool.starmap(cell, plain, chunksize=1), strict=True))
        elsewhere = dict(zip(others, pool.starmap(other_cell, others, chunksize=1), strict=True))
        with_people = pool.starmap(people_cell, crowds, chunksize=1)
    rows = []
    for n_seeds, n_items in product(SEEDS, ITEMS):
        own = np.array([each for key, each in found.items() if key[:2] == (n_seeds, n_items)])
        most = [most_power(n_seeds, n_items, *spread) for spread in SPREADS]
        rule = f"t over seeds: {own[:, 2].max():.0%} false"
        rows.append(["usual", f"{n_seeds}", f"{n_items:,}", "fixed", "", *_shares(own), *_most(most), rule])
    for n_seeds, (ratio, alike) in product(OTHER_SEEDS, OTHER_RUNS):
        own = np.array([each for key, each in elsewhere.items() if key[0] == n_seeds and key[2] == (ratio, alike)])
        which = f"other, runs {ratio:g} : 1" if not alike else f"other, runs correlated {alike:g}"
        rule = f"paired: {own[:, 2].mean():.0%} found, not paired: {own[:, 3].mean():.0%}"
        rows.append([which, f"{n_seeds}", f"{OTHER_ITEMS}", "fixed", "", *_shares(own), "", "", rule])
    for (n_people, leaning, n_items, _), (at_large, fixed) in zip(crowds, with_people, strict=True):
        rule = f"people fixed: {fixed:.0%} false"
        cells = ["people", "3", f"{n_items}", f"{n_people}", f"{leaning}", f"{at_large:.1%}"]
        rows.append([*cells, "", "", "", "", "", rule])
    return rows


def _shares(own: np.ndarray) -> list[str]:
    """The mean and the largest share of false verdicts, and the mean and the least of differences found."""
    return [f"{own[:, 0].mean():.1%}", f"{own[:, 0].max():.1%}", f"{own[:, 1].mean():.0%}", f"{own[:, 1].min():.0%}"]


def _most(most: list[float]) -> list[str]:
    return [f"{np.mean(most):.0%}", f"{min(most):.0%}"]
