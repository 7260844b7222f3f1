"""Log-loss of `bayes` less that of the best constant, on votes that people really gave.

Of each item's votes some are drawn; the labels from them predict the other votes of the item. The constant is added to
every count and chosen in hindsight on the votes that score it, which favors it. Larger sets are simulated less often.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from sfumato.aggregation.bagged_prior import fit_bagged_prior
from sfumato.aggregation.dirichlet_mixture import DistinctRows

GOAL = (
    "At most 0.01 everywhere. In brackets: two standard errors over the studies. 500 items and more: a fifth of the"
    " studies, at 5,000 items a twentieth, but at least two."
)
VOTES = (2, 3, 5, 10)
HEAD = ("set", "classes", "items", *(f"{votes} votes" for votes in VOTES))
SETS = ("CIFAR-10H", "Fashion-MNIST-H", "ChaosNLI", "sentiment-sp-amt", "dog", "rte")
ITEMS = (50, 100, 200, 500, 1000, 5000)
CONSTANTS = np.geomspace(0.001, 3, 40)
FEWEST_HELD_OUT = 5


def simulate(n_studies: int, processes: int) -> list[list[str]]:
    cells = [(name, n) for name in SETS for n in ITEMS if n <= 1.05 * len(published_counts(name))]
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        return list(pool.map(_row, *zip(*cells, strict=True), [n_studies] * len(cells)))


def _row(name: str, n: int, n_studies: int) -> list[str]:
    n_repeats = max(n_studies // (1 if n < 500 else 5 if n < 5000 else 20), 2)
    counts = published_counts(name)
    losses = [list(_losses(counts, n, votes, n_repeats)) if n > 50 or votes > 2 else [] for votes in VOTES]
    return [name, str(counts.shape[1]), f"{n:,}", *(_cell(each) for each in losses)]


def _cell(losses: list[float]) -> str:
    return f"{np.mean(losses):+.3f} ({2 * np.std(losses) / np.sqrt(len(losses)):.3f})" if losses else ""


def _losses(counts: np.ndarray, n: int, votes: int, n_repeats: int) -> Iterator[float]:
    """The differences in log-loss of simulated studies, if enough votes are left to score them."""
    if np.median(counts.sum(axis=1)) < votes + FEWEST_HELD_OUT:
        return
    enough = counts[counts.sum(axis=1) > votes]
    for seed in range(n_repeats):
        rng = np.random.default_rng([n, votes, seed])
        some = enough[rng.choice(len(enough), min(n, len(enough)), replace=False)]
        drawn = np.array([rng.multivariate_hypergeometric(row, votes) for row in some])
        yield excess_loss(drawn, some - drawn)


def excess_loss(drawn: np.ndarray, held: np.ndarray) -> float:
    """The log-loss of `held` votes under the labels that `bayes` makes of others, less that of the best constant."""
    shares = held / held.sum(axis=1, keepdims=True)
    of_constants = [
        -(shares * np.log((drawn + a) / (drawn + a).sum(axis=1, keepdims=True))).sum(axis=1).mean() for a in CONSTANTS
    ]
    distinct = DistinctRows.of(drawn.astype(np.float64))
    labels = fit_bagged_prior(drawn.astype(np.float64)).pooled.given(distinct.rows).mean()[distinct.place]
    return float(-(shares * np.log(labels)).sum(axis=1).mean() - min(of_constants))


def published_counts(name: str) -> np.ndarray:
    """The votes per item and class of a published set."""
    data = Path(os.environ["SFUMATO_DATA"])
    if name in ("CIFAR-10H", "Fashion-MNIST-H"):
        folder = {"CIFAR-10H": "cifar10h", "Fashion-MNIST-H": "fashion-mnist-h"}[name]
        return np.asarray(np.load(data / folder / "counts.npz")["counts"].astype(np.int64))
    if name == "ChaosNLI":
        with gzip.open(data / "chaosnli-snli" / "chaosNLI_snli.jsonl.gz", "rt") as lines:
            return np.array([json.loads(line)["label_count"] for line in lines], dtype=np.int64)
    votes = np.genfromtxt(data / "crowd" / f"{name}.csv.gz", delimiter=",", names=True, dtype=None, encoding="utf-8")
    item, label = (np.unique(votes[column], return_inverse=True)[1] for column in ("item", "label"))
    counts = np.zeros((item.max() + 1, label.max() + 1), dtype=np.int64)
    np.add.at(counts, (item, label), 1)
    return counts
