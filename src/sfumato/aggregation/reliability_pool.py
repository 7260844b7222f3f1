"""The reliability pool: the mean of the beliefs, without annotators whose answers do not depend on the item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import expit

from sfumato.aggregation.aggregation import (
    Aggregation,
    Fitted,
    PreviousAggregation,
    refuse_anonymous,
    refuse_gold,
)
from sfumato.aggregation.aggregation_options import AggregationInputs
from sfumato.aggregation.answer_matrix import AnswerMatrix
from sfumato.aggregation.passes import mean_of
from sfumato.labeling.shared_deviations import FEWEST_VOTES
from sfumato.tables.beliefs import Beliefs, CodedBeliefs
from sfumato.tables.counts import Counts
from sfumato.tables.errors import warn
from sfumato.tables.estimand import Estimand
from sfumato.tables.setting_checks import at_least, bad_setting

PRIOR_ANNOTATORS = 10
"""The prior of the shares and of the spread of reliability counts as many annotators."""
USUAL_SPREAD, SMALLEST_SPREAD = 0.35, 0.1
"""The standard deviation of the reliability of attentive annotators, relative to its mean: of the prior, and at
least."""
EM_STEPS = 50
MOST_CLASSES, N_SAMPLED = 256, 64
LOWERED = 0.8
"""An annotator with less than this share of the weight of the others has a lowered weight."""
MOST_CHECKED = 200_000
"""Camps are looked for in as many answers."""


@dataclass(frozen=True)
class ReliabilityPool:
    """Mean of the beliefs; annotators whose answers do not depend on the item count little.

    The distance of an answer is the squared distance between its direction and the direction of the mean of the other
    answers to the item, `|q/|q| - c/|c||^2 / 2`, from 0 to 1. Directions are used because a nearly uniform belief has a
    smaller plain distance to any consensus than a confident belief that disagrees. As in a chance-corrected coefficient
    of agreement, the reliability of an annotator is 1 - distance / distance from the answers to other items: 0 for
    people who answer at random or always the same.

    The weight is the probability that the annotator is attentive, in a mixture of careless annotators (reliability 0,
    with the standard error of independent answers) and attentive ones (a normal distribution, estimated with a prior
    share `careless`), but at least `least`. People who see some items differently from the majority are attentive, and
    keep their weight; if a camp of them loses weight all the same, a warning says so. Each of the `rounds` uses the
    weights of the previous round.

    Prefer it to `mean` if some annotators may answer carelessly; otherwise the result is nearly the same.
    """

    careless: float = 0.1
    least: float = 0.1
    rounds: int = 3

    name: ClassVar[str] = "reliability-pool"
    estimand: ClassVar[Estimand] = Estimand.JUDGMENT

    def __post_init__(self) -> None:
        for name, value in (("careless", self.careless), ("least", self.least)):
            if not 0 < value < 1:
                raise bad_setting(name, value, "a share above 0 and below 1")
        at_least("rounds", self.rounds, 1)

    def aggregate(self, beliefs: Beliefs | Counts, inputs: AggregationInputs | None = None) -> Aggregation:
        return self.fit(AnswerMatrix.of(beliefs, inputs))

    def fit(self, answers: AnswerMatrix, previous: PreviousAggregation | None = None) -> Aggregation:  # noqa: ARG002
        refuse_anonymous(answers, self.name)
        refuse_gold(answers, self.name)
        found = self.reliability(answers)
        if found.weight.min() < LOWERED * found.weight.max():
            warn_of_camps(answers, self.name, found.weight)
        labels = Fitted(mean_of(answers.weighted(found.weight)))
        unknown = np.isnan(found.value)
        usual = float(found.value[~unknown].mean()) if not unknown.all() else 0.0
        # Of annotators without a common item nothing is known: they have the mean.
        reliability = np.where(unknown, usual, found.value)
        return Aggregation.of(self, answers, labels, weight=found.weight, reliability=reliability)

    def reliability(self, answers: AnswerMatrix) -> AnnotatorReliability:
        """The reliability and the weight of each annotator; weights are 1 on average over the answers."""
        weight = np.ones(answers.n_annotators)
        for _ in range(self.rounds):
            agreement = AgreementBeyondChance.of(answers.weighted(weight))
            weight = np.maximum(agreement.attentive(self.careless), self.least)
            weight *= answers.answers_of.sum() / float(answers.answers_of @ weight)
        return AnnotatorReliability(agreement.reliability, weight)


def warn_of_camps(answers: AnswerMatrix, name: str, weight: Float[np.ndarray, "annotators"] | None = None) -> None:
    """Warn if there are camps of annotators (`sfumato agreement --camps`) and the method `name` lowers the influence
    of the smaller one: always, or if its mean `weight` is lower."""
    if len(answers.key) < FEWEST_VOTES * answers.n_items:
        return
    from sfumato.labeling.camps import camps_of

    used = answers
    if len(answers.key) > MOST_CHECKED:
        used = answers.part(0, int(np.searchsorted(answers.starts, MOST_CHECKED, side="right")) - 1)
    hard = used.key % used.n_classes if used.soft is None else None
    sizes = used.n_items, used.n_annotators, used.n_classes
    coded = CodedBeliefs(used.item, used.annotator, hard, used.soft, *sizes)
    found = camps_of(coded, used.annotators, used.items, used.classes, rng=np.random.default_rng(0))
    if not found.found:
        return
    second = found.members.probability_2 > 0.5
    if weight is not None and weight[second].mean() >= LOWERED * weight[~second].mean():
        return
    remedy = (
        f"{name} lowers the influence of the smaller one; use mean to count everybody, or aggregate each camp alone"
    )
    warn(f"{found.sentence()}; {remedy}")


@dataclass(frozen=True, eq=False)
class AnnotatorReliability:
    """Of each annotator: the agreement with the others beyond chance (NaN if nobody answered the same items), and the
    weight."""

    value: Float[np.ndarray, "annotators"]
    weight: Float[np.ndarray, "annotators"]


@dataclass(frozen=True, eq=False)
class AgreementBeyondChance:
    """Per annotator: the number of answers that others answered too, the sum of their agreement beyond chance, the
    variance of the sum if answers did not depend on the item, and the sum of the distances expected then; `within` is
    the variance of the agreement of an answer within annotators."""

    n: Float[np.ndarray, "annotators"]
    gain: Float[np.ndarray, "annotators"]
    chance_variance: Float[np.ndarray, "annotators"]
    chance_distance: Float[np.ndarray, "annotators"]
    within: float

    @classmethod
    def of(cls, answers: AnswerMatrix) -> AgreementBeyondChance:
        n_classes = answers.n_classes
        # With many classes their covariance is too large: the spread is that of some answers.
        is_exact = n_classes <= MOST_CLASSES
        total, squares, n_compared = np.zeros(n_classes), np.zeros((n_classes if is_exact else 0,) * 2), 0
        some: list[np.ndarray] = []
        for first, last in answers.blocks():
            block = answers.part(first, last)
            others = _directions(others_of(block, block.probs()))[_compared(block)]
            total += others.sum(axis=0)
            if is_exact:
                squares += others.T @ others
            else:
                some.append(others[:: max(len(others) // N_SAMPLED, 1)])
            n_compared += len(others)
        usual = total / max(n_compared, 1)
        spread = squares / max(n_compared, 1) - np.outer(usual, usual) if is_exact else np.zeros((0, 0))
        sampled = np.empty((0, n_classes)) if is_exact else np.concatenate(some)
        sampled = sampled[:: max(len(sampled) // N_SAMPLED, 1)]
        sums, gain_squares = np.zeros((4, answers.n_annotators)), np.zeros(answers.n_annotators)
        for first, last in answers.blocks():
            block = answers.part(first, last)
            belief, compared = block.probs(), _compared(block)
            own = _directions(belief)[compared]
            gain = (own * (_directions(others_of(block, belief))[compared] - usual)).sum(axis=1)
            variance = ((own @ spread) * own).sum(axis=1) if is_exact else (own @ sampled.T).var(axis=1)
            of_answer = (np.ones(len(gain)), gain, variance, 1 - own @ usual)
            who = block.annotator[compared]
            sums += [np.bincount(who, each, answers.n_annotators) for each in of_answer]
            gain_squares += np.bincount(who, gain**2, answers.n_annotators)
        n, gain_of = sums[0], sums[1]
        free = np.maximum(n - 1, 0).sum()
        within = (gain_squares - gain_of**2 / np.maximum(n, 1)).sum() / max(free, 1)
        return cls(n, gain_of, np.maximum(sums[2], 0), sums[3], max(float(within), 0.0))

    @property
    def known(self) -> Bool[np.ndarray, "annotators"]:
        """Whether the annotator has answers that can agree or disagree with those of others."""
        return (self.n > 0) & (self.chance_distance > 1e-9) & (self.chance_variance > 1e-18)

    @property
    def reliability(self) -> Float[np.ndarray, "annotators"]:
        return np.where(self.known, self.gain / np.where(self.known, self.chance_distance, 1), np.nan)

    def attentive(self, careless: float) -> Float[np.ndarray, "annotators"]:
        """The probability that each annotator is attentive, by EM; 1 if nothing is known."""
        known = self.known
        attentive = np.ones(len(known))
        if not known.any():
            return attentive
        value, scale = self.reliability[known], self.chance_distance[known] ** 2
        by_chance, error = self.chance_variance[known] / scale, self.within * self.n[known] / scale
        mean = max(float(np.median(value)), 1e-3)
        spread, share = (USUAL_SPREAD * mean) ** 2, careless
        for _ in range(EM_STEPS):
            variance = spread + error
            log_odds = np.log((1 - share) / share) + (
                _log_normal(value - mean, variance) - _log_normal(value, by_chance)
            )
            probability = expit(log_odds)
            mean = max(float((probability / variance) @ value / max((probability / variance).sum(), 1e-12)), 1e-3)
            beyond = float(probability @ ((value - mean) ** 2 - error)) + PRIOR_ANNOTATORS * (USUAL_SPREAD * mean) ** 2
            spread = max(beyond / (probability.sum() + PRIOR_ANNOTATORS), (SMALLEST_SPREAD * mean) ** 2)
            share = ((1 - probability).sum() + PRIOR_ANNOTATORS * careless) / (len(value) + PRIOR_ANNOTATORS)
        attentive[known] = probability
        return attentive


def _log_normal(apart: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """The logarithm of the normal density, without the constant."""
    return np.asarray(-0.5 * (apart**2 / variance + np.log(variance)))


def _compared(block: AnswerMatrix) -> Bool[np.ndarray, "rows"]:
    """Whether others answered the item too."""
    return np.asarray(block.n_annotators_of[block.item] > 1)


def _directions(beliefs: Float[np.ndarray, "rows classes"]) -> Float[np.ndarray, "rows classes"]:
    return np.asarray(beliefs / np.maximum(np.linalg.norm(beliefs, axis=1, keepdims=True), 1e-300))


def others_of(block: AnswerMatrix, belief: Float[np.ndarray, "rows classes"]) -> Float[np.ndarray, "rows classes"]:
    """For every answer, the weighted mean of the other annotators' answers to its item; uniform without others."""
    weighed = block.weights()[:, None] * belief
    sums = np.zeros((block.n_items, block.n_classes))
    np.add.at(sums, block.item, weighed)
    rest = np.maximum(sums[block.item] - block.of_author(weighed), 0.0)
    mass = rest.sum(axis=1, keepdims=True)
    alone = (block.n_annotators_of[block.item] == 1)[:, None] | (mass <= 0)
    return np.where(alone, 1 / block.n_classes, rest / np.where(mass > 0, mass, 1.0))
