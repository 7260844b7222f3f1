"""Uncertainty from few votes: bias of dissent, mutual information, correlations and floors, and coverage of intervals.

The votes of CIFAR-10H, Fashion-MNIST-H and ChaosNLI are populations. Their shares are the truth; a study draws items
and votes from them. The beliefs about an image of CIFAR-10S are a population of which a study draws three. Simulated
people differ in what they lean to, so that intervals have to cover other people.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.special import digamma, softmax
from scipy.stats import norm

from sfumato.evaluation.matched_labels import MatchedLabels
from sfumato.evaluation.metrics import (
    Brier,
    DissentDifference,
    DissentPearson,
    EntropyDifference,
    KLDivergence,
    TotalVariation,
)
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.bootstrap import Bootstrap
from sfumato.tables.counts import Counts
from sfumato.tables.mean_doubt import mean_doubt

GOAL = (
    "Dissent from 2 votes should have a bias of at most 2%, mutual information from 3 beliefs of at most 8%, the "
    "correlation with a model from 4 votes of at most 0.03, and 90% intervals should contain the truth in 85 to 95% of "
    "studies. Floors have no interval; their bias is relative to the mean score of the crowd's own distribution."
)
HEAD = ("figure", "data", "items", "answers per item", "truth", "mean", "bias", "coverage")
LEVEL = 0.9
DRAWS = 200


@dataclass(frozen=True)
class Cell:
    """One row: a study is a function of its number and gives an estimate, the ends of its interval, and the truth."""

    figure: str
    data: str
    n_items: int
    answers: int
    study: Callable[[Cell, np.random.Generator], tuple[float, float, float, float]]
    relative: bool = True


# --- populations ---


@lru_cache
def population(name: str) -> np.ndarray:
    """The shares of the votes about every item of a published set."""
    folder = Path(os.environ["SFUMATO_DATA"])
    if name == "ChaosNLI":
        with gzip.open(folder / "chaosnli-snli/chaosNLI_snli.jsonl.gz") as file:
            counts = np.array([[json.loads(line)["label_counter"].get(k, 0) for k in "enc"] for line in file], float)
    else:
        counts = np.load(folder / {"CIFAR-10H": "cifar10h", "Fashion-MNIST-H": "fashion-mnist-h"}[name] / "counts.npz")
        counts = counts["counts"].astype(float)
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


@lru_cache
def predictions(name: str) -> np.ndarray:
    """Predictions of a model for the same items: ResNet-110, RoBERTa, or a simulated one."""
    folder, shares = Path(os.environ["SFUMATO_DATA"]), population(name)
    if name == "CIFAR-10H":
        probs = np.load(folder / "cifar10-model-predictions/probs.npz")["resnet_110"].astype(float)
    elif name == "ChaosNLI":
        with gzip.open(folder / "chaosnli-snli/roberta-base-0.jsonl.gz") as file:
            probs = {row["uid"]: row["probs"] for row in map(json.loads, file)}
        with gzip.open(folder / "chaosnli-snli/chaosNLI_snli.jsonl.gz") as file:
            own = np.array([np.ravel(probs[json.loads(line)["uid"]]) for line in file])
        probs = own[:, [0, 2, 1]]
    else:
        rng = np.random.default_rng(0)
        probs = softmax(2 * np.log(shares + 0.05) + rng.normal(0, 1, shares.shape), axis=1)
    probs = np.clip(probs, 1e-9, 1)
    return np.asarray(probs / probs.sum(axis=1, keepdims=True))


@lru_cache
def beliefs_of_images() -> list[np.ndarray]:
    """The beliefs about each image of CIFAR-10S."""
    found = np.load(Path(os.environ["SFUMATO_DATA"]) / "cifar10s/t2clamp_redist10.npz")
    return [found["soft_labels"][found["image_index"] == image] for image in np.unique(found["image_index"])]


def entropy(probs: np.ndarray) -> np.ndarray:
    return np.asarray(-(probs * np.log(np.where(probs > 0, probs, 1))).sum(axis=-1))


def gini(probs: np.ndarray) -> np.ndarray:
    return np.asarray(1 - (probs**2).sum(axis=-1))


# --- studies ---


def _shown(figure: Any, truth: float) -> tuple[float, float, float, float]:
    return figure.value, figure.interval.low, figure.interval.high, truth


def votes_of_crowd(cell: Cell, rng: np.random.Generator) -> tuple[float, float, float, float]:
    """Dissent of Counts."""
    shares = population(cell.data)
    counts = rng.multinomial(cell.answers, shares[rng.integers(0, len(shares), cell.n_items)])
    found = mean_doubt(Counts.from_numpy(range(cell.n_items), counts, _names(counts)), level=LEVEL)
    return _shown(found.dissent, float(gini(shares).mean()))


LEAN = 0.8
"""The standard deviation of what simulated people lean to, on the scale of logits."""


def _logits(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.asarray(np.eye(4)[rng.integers(0, 4, n)] * rng.gamma(2, 1, n)[:, None] + rng.normal(0, 0.5, (n, 4)))


@lru_cache
def _mean_beliefs() -> np.ndarray:
    """The mean beliefs of a large crowd of people who lean, about many items."""
    rng = np.random.default_rng(0)
    logits = _logits(rng, 20_000)
    return np.asarray(np.mean([softmax(logits + rng.normal(0, LEAN, 4), axis=1) for _ in range(1000)], axis=0))


def votes_of_people(cell: Cell, rng: np.random.Generator) -> tuple[float, float, float, float]:
    """Dissent of votes by 20 people who lean to some classes."""
    n_people = 20
    who = np.argsort(rng.random((cell.n_items, n_people)), axis=1)[:, : cell.answers].ravel()
    item = np.repeat(np.arange(cell.n_items), cell.answers)
    logits = _logits(rng, cell.n_items)[item] + rng.normal(0, LEAN, (n_people, 4))[who]
    votes = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    found = mean_doubt(Beliefs.from_numpy(item, who, votes, _names(logits)), level=LEVEL)
    return _shown(found.dissent, float(gini(_mean_beliefs()).mean()))


def beliefs_of_people(cell: Cell, rng: np.random.Generator) -> tuple[float, float, float, float]:
    """Mutual information of beliefs drawn from those about images of CIFAR-10S."""
    images = beliefs_of_images()
    drawn = [images[k] for k in rng.integers(0, len(images), cell.n_items)]
    probs = np.concatenate([each[rng.integers(0, len(each), cell.answers)] for each in drawn])
    truth = np.mean([entropy(each.mean(axis=0)) - entropy(each).mean() for each in images])
    return _between(cell, probs, float(truth), rng)


def simulated_beliefs(cell: Cell, rng: np.random.Generator) -> tuple[float, float, float, float]:
    """Mutual information of Dirichlet beliefs around the mean belief of an item; its entropies are known."""
    concentration, n_classes, sparseness = {
        "Dirichlet, 3 classes": (3.0, 3, 1.0), "Dirichlet, 10 classes": (10.0, 10, 0.15),
        "Dirichlet, 10 classes, more apart": (3.0, 10, 0.15),
    }[cell.data]  # fmt: skip

    def means(rng: np.random.Generator, n: int) -> np.ndarray:
        return np.maximum(rng.dirichlet(np.full(n_classes, sparseness), n), 1e-8)

    many = means(np.random.default_rng(0), 100_000)
    many /= many.sum(axis=1, keepdims=True)
    own = (many * (digamma(concentration + 1) - digamma(concentration * many + 1))).sum(axis=1)
    gamma = rng.standard_gamma(np.repeat(concentration * means(rng, cell.n_items), cell.answers, axis=0))
    probs = np.maximum(gamma, 1e-300)
    return _between(cell, probs / probs.sum(axis=1, keepdims=True), float((entropy(many) - own).mean()), rng)


def _between(
    cell: Cell, probs: np.ndarray, truth: float, rng: np.random.Generator
) -> tuple[float, float, float, float]:
    n_people = 40
    who = np.argsort(rng.random((cell.n_items, n_people)), axis=1)[:, : cell.answers].ravel()
    item = np.repeat(np.arange(cell.n_items), cell.answers)
    found = mean_doubt(Beliefs.from_numpy(item, who, probs, _names(probs)), level=LEVEL).entropy
    assert found is not None
    return _shown(found.between, truth)


def _matched(cell: Cell, rng: np.random.Generator) -> tuple[MatchedLabels, np.ndarray]:
    shares, model = population(cell.data), predictions(cell.data)
    rows = rng.integers(0, len(shares), cell.n_items)
    people = rng.multinomial(cell.answers, shares[rows]) / cell.answers
    items = pa.array([str(row) for row in range(len(rows))])
    n = np.full(len(rows), cell.answers)
    return MatchedLabels(items, tuple(_names(people)), model[rows], people, n_annotators=n), shares[rows]


def _metric(of: Any, cell: Cell, rng: np.random.Generator, truth: float) -> tuple[float, float, float, float]:
    matched, _ = _matched(cell, rng)
    return _shown(of.estimate(matched, Bootstrap.of(len(matched), level=LEVEL, draws=DRAWS, rng=rng)), truth)


def _correlation(cell: Cell, rng: np.random.Generator) -> tuple[float, float, float, float]:
    truth = np.corrcoef(gini(population(cell.data)), gini(predictions(cell.data)))[0, 1]
    return _metric(DissentPearson(), cell, rng, float(truth))


def _dissent_difference(cell: Cell, rng: np.random.Generator) -> tuple[float, float, float, float]:
    truth = gini(predictions(cell.data)).mean() - gini(population(cell.data)).mean()
    return _metric(DissentDifference(), cell, rng, float(truth))


def _entropy_difference(cell: Cell, rng: np.random.Generator) -> tuple[float, float, float, float]:
    """The estimate has no interval: the one over items alone, which is not shown to users, is measured here."""
    truth = float(entropy(predictions(cell.data)).mean() - entropy(population(cell.data)).mean())
    matched, _ = _matched(cell, rng)
    found = EntropyDifference().estimate(matched, Bootstrap.of(len(matched), level=LEVEL, draws=DRAWS, rng=rng))
    assert found.linear is not None
    blocks = found.linear.blocks
    half = float(norm.ppf((1 + LEVEL) / 2) * blocks.std(ddof=1) / np.sqrt(len(blocks)))
    return found.value, found.value - half, found.value + half, truth


def floor(cell: Cell, rng: np.random.Generator) -> tuple[float, float, float, float]:
    """A floor, and the score of the crowd's own distribution against the same votes."""
    matched, shares = _matched(cell, rng)
    of = {"KL floor": KLDivergence(), "Brier floor": Brier(), "total variation floor": TotalVariation()}[cell.figure]
    draws = Bootstrap.of(len(matched), level=LEVEL, draws=100, rng=rng)
    own = MatchedLabels(matched.items, matched.classes, shares, matched.people)
    return of.estimate(matched, draws).floor, np.nan, np.nan, of.estimate(own, draws).value


def _names(probs: np.ndarray) -> list[str]:
    return [f"class-{k}" for k in range(probs.shape[1])]


SETS = ("CIFAR-10H", "Fashion-MNIST-H", "ChaosNLI")
CELLS = [
    *(Cell("dissent", name, n, 2, votes_of_crowd) for name in SETS for n in (100, 1000)),
    *(Cell("dissent", "simulated people", n, 2, votes_of_people) for n in (100, 500)),
    Cell("dissent", "simulated people", 200, 5, votes_of_people),
    Cell("mutual information", "CIFAR-10S", 200, 3, beliefs_of_people),
    *(
        Cell("mutual information", f"Dirichlet, {name}", 100, 3, simulated_beliefs)
        for name in ("3 classes", "10 classes", "10 classes, more apart")
    ),
    *(Cell("correlation with a model", name, n, 4, _correlation, relative=False) for name in SETS for n in (500, 1000)),
    *(Cell("dissent difference", name, 500, 2, _dissent_difference, relative=False) for name in SETS),
    *(
        Cell("entropy difference, over items alone", name, 1000, m, _entropy_difference, relative=False)
        for name in SETS
        for m in (3, 5)
    ),
    *(Cell(f"{name} floor", data, 1000, 5, floor) for name in ("KL", "Brier", "total variation") for data in SETS),
]  # fmt: skip


def simulate(n_studies: int, processes: int) -> list[list[str]]:
    with ProcessPoolExecutor(processes) as pool:
        return list(pool.map(_row, range(len(CELLS)), [n_studies] * len(CELLS)))


def results(cell: Cell, n_studies: int) -> np.ndarray:
    """Estimate, ends and truth of every study."""
    number = CELLS.index(cell) if cell in CELLS else len(CELLS)
    return np.array([cell.study(cell, np.random.default_rng([number, study])) for study in range(n_studies)])


def _row(number: int, n_studies: int) -> list[str]:
    cell = CELLS[number]
    value, low, high, truth = results(cell, n_studies).T
    mean, true = float(np.nanmean(value)), float(truth.mean())
    bias = f"{100 * (mean / true - 1):+.1f}%" if cell.relative else f"{mean - true:+.3f}"
    share = float(((low <= truth) & (truth <= high)).mean())
    coverage = "" if np.isnan(low).all() else f"{share:.2f}"
    return [
        cell.figure, cell.data, f"{cell.n_items:,}", str(cell.answers), f"{true:.3f}", f"{mean:.3f}", bias, coverage
    ]  # fmt: skip
