"""The mixture pool: Dawid-Skene and a reliability pool, mixed by how well they predict held-out annotators."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from jaxtyping import Float
from scipy.special import expit

from sfumato.aggregation.aggregation import Aggregation, Fitted, PreviousAggregation, refuse_anonymous, refuse_gold
from sfumato.aggregation.aggregation_options import AggregationInputs
from sfumato.aggregation.answer_matrix import AnswerMatrix
from sfumato.aggregation.dawid_skene import Confusions, DawidSkene
from sfumato.aggregation.em import check_iterations
from sfumato.aggregation.passes import mean_of, tempered
from sfumato.aggregation.reliability_pool import ReliabilityPool, others_of, warn_of_camps
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.counts import Counts
from sfumato.tables.estimand import Estimand
from sfumato.tables.setting_checks import not_negative, share

SMOOTHED = 1e-3
"""Predictions are scored with this share of the uniform distribution, so that no single vote decides."""
SCORE_POWER = 3
LARGE_WEIGHT = 0.5
"""From this weight of the posterior on, labels move clearly to the view of most people."""
MOST_LOG_ODDS = 10.0
"""The largest log-odds of the weight."""


@dataclass(frozen=True, eq=False)
class PoolMixture:
    """The confusion matrices of the Dawid-Skene part, its weight, and the temperature of its posterior."""

    confusions: Confusions
    weight: float
    temperature: float


@dataclass(frozen=True)
class MixturePool:
    """Mixture of soft Dawid-Skene and a reliability pool.

    The pool keeps uncertainty but also errors; the posterior corrects errors but loses uncertainty. Both are computed
    for every answer without its annotator, and the `weight` of the posterior maximizes the log score of the held-out
    annotators, weighted by the third power of their weight so that careless annotators have little influence. So does
    its temperature, because it is overconfident: from 1 to the number of answers per item, at which it has the evidence
    of one answer. A given `weight` is used at temperature 1. Dawid-Skene runs on fractional votes with `prior`.

    The best of the pools on CIFAR-10S, with and without spam (docs/aggregate.md); not useful with one or two answers
    per item.
    """

    weight: float | None = None
    prior: float = 20.0
    iterations: int = 100
    tolerance: float = 1e-6

    name: ClassVar[str] = "mixture-pool"
    estimand: ClassVar[Estimand] = Estimand.JUDGMENT

    def __post_init__(self) -> None:
        if self.weight is not None:
            share("weight", self.weight)
        not_negative("prior", self.prior)
        check_iterations(self.iterations, self.tolerance)

    def aggregate(self, beliefs: Beliefs | Counts, inputs: AggregationInputs | None = None) -> Aggregation:
        return self.fit(AnswerMatrix.of(beliefs, inputs))

    def fit(self, answers: AnswerMatrix, previous: PreviousAggregation | None = None) -> Aggregation:
        refuse_anonymous(answers, self.name)
        refuse_gold(answers, self.name)
        model = DawidSkene(self.prior, self.iterations, self.tolerance, "fractional", temperature=1.0)
        truth = model.fit(answers, None if previous is None else replace(previous, model=previous.model.confusions))
        reliability = ReliabilityPool().reliability(answers).weight
        weighed = answers.weighted(reliability)
        weight, temperature = self.weight, 1.0
        if weight is None:
            weight, temperature = _best_mixture(answers, weighed, truth.model, truth.labels.probs)
        if weight >= LARGE_WEIGHT:
            warn_of_camps(answers, self.name)
        posterior = tempered(np.log(np.maximum(truth.labels.probs, 1e-300)), temperature)
        probs = weight * posterior + (1 - weight) * mean_of(weighed)
        fitted = Fitted(probs, PoolMixture(truth.model, weight, temperature), truth.objective, truth.converged)
        accuracy = truth.annotators.measures["accuracy"]
        found = Aggregation.of(self, answers, fitted, weight=reliability, accuracy=accuracy)
        note = f"{weight:.2f} soft Dawid-Skene at temperature {temperature:.2f}, {1 - weight:.2f} reliability pool"
        return replace(found, notes=(note,))


def _best_mixture(
    answers: AnswerMatrix, weighed: AnswerMatrix, model: Confusions, posterior: Float[np.ndarray, "items classes"]
) -> tuple[float, float]:
    """The weight and temperature of the posterior that best predict each belief from the answers of others."""
    from scipy.optimize import minimize

    log_rows = np.log(model.rows).reshape(-1, answers.n_classes, answers.n_classes)
    by_model, by_pool, beliefs, counts = [], [], [], []
    for first, last in answers.blocks(numbers_per_row=answers.n_classes**2):
        block, of_pool = answers.part(first, last), weighed.part(first, last)
        compared = block.n_annotators_of[block.item] > 1
        belief = block.probs()
        # The posterior without an annotator is the posterior minus the annotator's evidence.
        evidence = np.einsum("rl,rlc->rc", belief, log_rows[block.annotator])
        evidence = block.of_author(evidence * block.weights()[:, None])
        by_model.append((np.log(np.maximum(posterior[first:last], 1e-300))[block.item] - evidence)[compared])
        by_pool.append(others_of(of_pool, belief)[compared])
        beliefs.append(belief[compared])
        counts.append(of_pool.weights()[compared] ** SCORE_POWER)
    log_model, pool, belief, count = (np.concatenate(part) for part in (by_model, by_pool, beliefs, counts))
    if not len(count):
        return 0.0, 1.0

    def loss(setting: Float[np.ndarray, "2"]) -> float:
        weight = expit(setting[0])
        p = weight * tempered(log_model, np.exp(setting[1])) + (1 - weight) * pool
        return -float(count @ (belief * np.log((1 - SMOOTHED) * p + SMOOTHED / answers.n_classes)).sum(axis=1))

    # At the number of answers per item, the posterior has the evidence of one answer: no temperature is higher.
    highest = np.log(max(len(answers.key) / answers.n_items, 1.0))
    limits, options = [(-MOST_LOG_ODDS, MOST_LOG_ODDS), (0.0, highest)], {"xatol": 1e-3, "fatol": 1e-6 * count.sum()}
    best = minimize(loss, np.zeros(2), method="Nelder-Mead", bounds=limits, options=options).x
    return float(expit(best[0])), float(np.exp(best[1]))
