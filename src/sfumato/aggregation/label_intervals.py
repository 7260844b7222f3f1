"""Intervals around the probabilities of aggregated labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Float
from scipy.special import stdtrit

from sfumato.aggregation.aggregation import Aggregation
from sfumato.aggregation.dirichlet_mixture import DistinctRows
from sfumato.aggregation.empirical_bayes import BLOCK, Bayes, as_fractional_votes
from sfumato.tables.base_table import Table
from sfumato.tables.errors import warn
from sfumato.tables.estimand import Estimand
from sfumato.tables.growable_array import freeze
from sfumato.tables.setting_checks import between_0_and_1
from sfumato.tables.soft_labels import SoftLabels

CREDIBLE = "credible interval, with the uncertainty of the prior"
SAMPLED = "confidence interval over other annotators"
FEWEST_ITEMS = 20
"""With fewer items the intervals of `bayes` contain the truth less often than they should."""
SMALLEST_SET = "smallest set of classes that contains the truth with this probability, if the model is right"


@dataclass(frozen=True, eq=False, repr=False)
class Intervals(Table):
    """One row per item and class: the label's probability and its interval.

    `kind` says what the interval means. `expected_error`, if the method has one, is the expected KL divergence (nats)
    between the true distribution and the label.
    """

    labels: SoftLabels
    low: Float[np.ndarray, "items classes"]
    high: Float[np.ndarray, "items classes"]
    level: float
    kind: str
    expected_error: Float[np.ndarray, "items"] | None = None

    classes = ()

    def __post_init__(self) -> None:
        freeze(self, "low", "high", "expected_error")

    def chunk(self, start: int, stop: int, *, wide: bool) -> pa.Table:  # noqa: ARG002
        row, k = np.divmod(np.arange(start, stop), len(self.labels.classes))
        columns: dict[str, Any] = {
            "item": self.labels.items.take(pa.array(row)),
            "class": pa.array(self.labels.classes).take(pa.array(k)),
            "value": pa.array(self.labels.probs[row, k]),
            "low": pa.array(self.low[row, k]),
            "high": pa.array(self.high[row, k]),
            "level": pa.array(np.full(len(row), self.level)),
            "kind": pa.array([self.kind] * len(row), pa.string()),
        }
        if self.expected_error is not None:
            columns["expected_error"] = pa.array(self.expected_error[row])
        return pa.table(columns)

    def __len__(self) -> int:
        return len(self.labels) * len(self.labels.classes)


def intervals(aggregation: Aggregation, level: float = 0.9) -> Intervals:
    """Intervals for every probability of the labels; the kind depends on the method.

    `bayes`: credible intervals from each item's posterior, with equal probability below and above; limits within
    0.001 of 0 or 1 are 0 or 1. Other estimates of how people judge: confidence intervals
    for other annotators from the same crowd, by Student's t on the spread of the beliefs about the item, with one
    additional uniform belief so that they are never of width 0. Estimates of what is true: the smallest set of classes
    with `level` of the probability; a class in the set has the interval 0 to 1, one outside has low = high = 0. Sets
    are correct only if the model is: shared errors of annotators make them too small; `calibrate` corrects this.
    """
    between_0_and_1("level", level)
    if aggregation.estimand is Estimand.TRUTH:
        return _smallest_sets(aggregation, level)
    if isinstance(aggregation.by, Bayes):
        return _credible(aggregation, level)
    return _sampled(aggregation, level)


def _credible(aggregation: Aggregation, level: float) -> Intervals:
    answers, prior = as_fractional_votes(aggregation.answers), aggregation.model.pooled
    if answers.n_items < FEWEST_ITEMS:
        warn(
            f"intervals of bayes may be too narrow: its prior is fitted on {answers.n_items} "
            f"item{'s' * (answers.n_items != 1)} only; give at least {FEWEST_ITEMS} items, or compare with the "
            "intervals of mean"
        )
    shape = aggregation.labels.probs.shape
    low, high, error = np.empty(shape), np.empty(shape), np.empty(shape[0])
    for first in range(0, answers.n_items, BLOCK):
        last = min(first + BLOCK, answers.n_items)
        distinct = DistinctRows.of(answers.part(first, last).vote_counts())
        posterior = prior.given(distinct.rows)
        limits = posterior.limits(level)
        low[first:last], high[first:last] = limits.low[distinct.place], limits.high[distinct.place]
        error[first:last] = posterior.expected_kl()[distinct.place]
    return Intervals(aggregation.labels, low, high, level, CREDIBLE, error)


def _sampled(aggregation: Aggregation, level: float) -> Intervals:
    answers, probs = aggregation.answers, aggregation.labels.probs
    if "weight" in aggregation.annotators.measures:
        answers = answers.weighted(aggregation.annotators.measures["weight"])
    low, high = np.empty(probs.shape), np.empty(probs.shape)
    for first, last in answers.blocks():
        block = answers.part(first, last)
        belief, weight, item = block.probs(), block.weights(), block.item
        share = weight / np.bincount(item, weight)[item]
        # The effective number of annotators; one more, with a uniform belief, keeps the spread above 0.
        n_voices = 1 / np.bincount(item, share**2)[:, None]
        spread = np.zeros((block.n_items, block.n_classes))
        np.add.at(spread, item, share[:, None] * (belief - probs[first:last][item]) ** 2)
        spread = (n_voices * spread + np.abs(1 / block.n_classes - probs[first:last])) / (n_voices + 1)
        margin = stdtrit(n_voices, (1 + level) / 2) * np.sqrt(spread / n_voices)
        low[first:last] = np.maximum(probs[first:last] - margin, 0)
        high[first:last] = np.minimum(probs[first:last] + margin, 1)
    return Intervals(aggregation.labels, low, high, level, SAMPLED)


def _smallest_sets(aggregation: Aggregation, level: float) -> Intervals:
    probs = aggregation.labels.probs
    order = np.argsort(-probs, axis=1, kind="stable")
    before = np.cumsum(np.take_along_axis(probs, order, axis=1), axis=1) - np.take_along_axis(probs, order, axis=1)
    inside = np.zeros(probs.shape, dtype=bool)
    # 0.6 + 0.3 is below 0.9 by rounding; it counts as enough.
    np.put_along_axis(inside, order, before < level - 1e-12, axis=1)
    return Intervals(aggregation.labels, np.zeros(probs.shape), inside.astype(np.float64), level, SMALLEST_SET)
