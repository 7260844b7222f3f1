"""Planned power to tell two networks apart, and the share of simulated studies with a verdict.

The released predictions of three networks on the 10,000 images of CIFAR-10H. `sfumato plan models` plans from all
images and votes. A study draws images with replacement and some of each image's votes without replacement; the verdict
is that of `sfumato evaluate` (its test of a difference, without tables and intervals), with people taken as fixed,
because the published votes have no annotators.
"""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import combinations, product
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pyarrow as pa

from coverage_rows.bayes_loss import published_counts
from sfumato.evaluation.matched_labels import MatchedLabels
from sfumato.evaluation.metric_scores import metric_from_name
from sfumato.evaluation.people_jackknife import plain
from sfumato.evaluation.scored_metric import ScoredMetric, ScoredRun
from sfumato.evaluation.variance_components import Contributions, VarianceComponents
from sfumato.planning.model_power import ModelDifference, drawn_votes, pilot_difference
from sfumato.tables.soft_labels import SoftLabels

GOAL = (
    "The share of studies with a verdict for the better network should be within 0.05 of the planned power. The number "
    "of images is the one that the plan needs for a power of 0.8, half of it and a quarter of it."
)
HEAD = ["networks", "metric", "answers per image", "images", "planned", "realized"]
NETWORKS = {"ResNet-110": "resnet_110", "PreResNet-110": "preresnet_110", "DenseNet": "densenet_bc_L190_k40"}
CLASSES = tuple(str(k) for k in range(10))
SETTINGS = tuple(
    product(combinations(NETWORKS, 2), (("accuracy", 3, 1), ("cross_entropy", 5, 2), ("total_variation", 10, 4)))
)
"""Pairs of networks; metric, answers per image, and by how much the number of images is divided."""
POWER, LEVEL = 0.8, 0.95


def simulate(studies: int, processes: int) -> list[list[str]]:
    rows = []
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        for pair, (metric, n_answers, part) in SETTINGS:
            planned = difference(pair, metric)
            n_images = max((planned.items_needed(n_answers, POWER) or 0) // part, 20)
            each = -(-studies // (4 * processes))
            cells = [(pair, metric, n_images, n_answers, each, seed) for seed in range(4 * processes)]
            found = np.mean(list(pool.map(verdicts, *zip(*cells, strict=True))))
            power = planned.power(n_images, n_answers)
            rows.append([" - ".join(pair), metric, f"{n_answers}", f"{n_images:,}", f"{power:.3f}", f"{found:.3f}"])
    return rows


@cache
def predictions() -> dict[str, np.ndarray]:
    with np.load(Path(os.environ["SFUMATO_DATA"]) / "cifar10-model-predictions" / "probs.npz") as file:
        found = {name: file[key].astype(np.float64) for name, key in NETWORKS.items()}
    return {name: each / each.sum(axis=1, keepdims=True) for name, each in found.items()}


def tables(pair: tuple[str, str], rows: np.ndarray) -> dict[str, SoftLabels]:
    items = [str(i) for i in range(len(rows))]
    return {name: SoftLabels.from_numpy(items, predictions()[name][rows], CLASSES, 0) for name in pair}


def labels(votes: np.ndarray) -> SoftLabels:
    n = votes.sum(axis=1)
    return SoftLabels.from_numpy([str(i) for i in range(len(votes))], votes / n[:, None], CLASSES, n)


@cache
def difference(pair: tuple[str, str], metric: str) -> ModelDifference:
    counts = published_counts("CIFAR-10H")
    return pilot_difference(labels(counts), tables(pair, np.arange(len(counts))), metric_from_name(metric))


def verdicts(pair: tuple[str, str], metric: str, n_images: int, n_answers: int, studies: int, seed: int) -> float:
    """The share of studies with a verdict for the network that is better over all images."""
    counts, rng = published_counts("CIFAR-10H"), np.random.default_rng([n_images, n_answers, seed])
    chosen, sign = metric_from_name(metric), np.sign(difference(pair, metric).mean_and_sd(n_answers)[0])
    items = pa.array([str(i) for i in range(n_images)])
    found = 0
    for _ in range(studies):
        rows = rng.integers(0, len(counts), n_images)
        shares = drawn_votes(counts[rows], np.full(n_images, n_answers), rng) / n_answers
        n = np.full(n_images, n_answers, np.int32)
        sides = [
            ScoredRun(MatchedLabels(items, CLASSES, predictions()[name][rows], shares, None, n), plain(n_images))
            for name in pair
        ]
        one, other = (contributions(side.score(chosen)) for side in sides)
        parts = VarianceComponents.of_difference(one, other, is_paired=True)
        found += bool(parts.p < 1 - LEVEL and np.sign(parts.value) == sign)
    return found / studies


def contributions(scored: ScoredMetric) -> Contributions:
    assert scored.items is not None
    return Contributions(np.array([scored.estimate.value]), scored.items[None])
