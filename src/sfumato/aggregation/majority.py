"""Majority vote, and votes weighted by agreement with the majority: wawa and zero-based skill."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.aggregation.aggregation import Aggregation, Fitted, PreviousAggregation, distances, refuse_anonymous
from sfumato.aggregation.aggregation_options import AggregationInputs
from sfumato.aggregation.answer_matrix import AnswerMatrix
from sfumato.aggregation.em import Iterations, check_iterations
from sfumato.aggregation.passes import mean_of
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.counts import Counts
from sfumato.tables.estimand import Estimand
from sfumato.tables.setting_checks import share

HALVE_EVERY = 20
"""The rate of zero-based skill halves after this many rounds."""


@dataclass(frozen=True)
class Majority:
    """The class most people chose.

    All probability on the class with the most votes, ties shared: a strong baseline, without uncertainty. For the
    shares of votes use `mean`: they estimate how people judge, not what is true. Beliefs count as fractional votes.
    """

    name: ClassVar[str] = "majority"
    estimand: ClassVar[Estimand] = Estimand.TRUTH

    def aggregate(self, beliefs: Beliefs | Counts, inputs: AggregationInputs | None = None) -> Aggregation:
        return self.fit(AnswerMatrix.of(beliefs, inputs))

    def fit(self, answers: AnswerMatrix, previous: PreviousAggregation | None = None) -> Aggregation:
        probs = _winners(answers) if previous is None else previous.refreshed(answers, _winners)
        return Aggregation.of(self, answers, Fitted(probs), agreement=1 - distances(answers, probs))


@dataclass(frozen=True)
class Wawa:
    """Annotators weighted by agreement with the majority.

    One step without iterations (the default of several annotation platforms). Its shares are not calibrated
    probabilities: prefer `one-coin` if that matters. Soft beliefs count as fractional votes.
    """

    name: ClassVar[str] = "wawa"
    estimand: ClassVar[Estimand] = Estimand.TRUTH

    def aggregate(self, beliefs: Beliefs | Counts, inputs: AggregationInputs | None = None) -> Aggregation:
        return self.fit(AnswerMatrix.of(beliefs, inputs))

    def fit(self, answers: AnswerMatrix, previous: PreviousAggregation | None = None) -> Aggregation:  # noqa: ARG002
        refuse_anonymous(answers, self.name)
        votes = answers.as_votes()
        skill = _agreement_with(_winners(votes), votes)
        return Aggregation.of(self, answers, Fitted(mean_of(votes.weighted(skill))), agreement=skill)


@dataclass(frozen=True)
class ZeroBasedSkill:
    """As wawa, with weights updated over several rounds.

    Skills start just above chance; each round moves them by `rate` towards the agreement with the weighted vote, and
    the rate halves every twenty rounds. Unlike `wawa` it separates annotators who agree with the majority equally
    often. Soft beliefs count as fractional votes.
    """

    rate: float = 1.0
    iterations: int = 100
    tolerance: float = 1e-6

    name: ClassVar[str] = "zero-based-skill"
    estimand: ClassVar[Estimand] = Estimand.TRUTH

    def __post_init__(self) -> None:
        share("rate", self.rate)
        check_iterations(self.iterations, self.tolerance)

    def aggregate(self, beliefs: Beliefs | Counts, inputs: AggregationInputs | None = None) -> Aggregation:
        return self.fit(AnswerMatrix.of(beliefs, inputs))

    def fit(self, answers: AnswerMatrix, previous: PreviousAggregation | None = None) -> Aggregation:  # noqa: ARG002
        refuse_anonymous(answers, self.name)
        votes = answers.as_votes()
        skill = np.full(votes.n_annotators, 1 / votes.n_classes + 1e-5)
        rate = self.rate
        iterations = Iterations(self, votes.progress)
        for iteration in iterations:
            if iteration % HALVE_EVERY == 0:
                rate /= 2
            step = rate * (_agreement_with(_winners(votes.weighted(skill)), votes) - skill)
            skill = skill + step
            moved = float(np.abs(step).max())
            iterations.report(-moved, moved=moved)
        probs = mean_of(votes.weighted(skill))
        fitted = Fitted(probs, None, tuple(iterations.objective), iterations.converged)
        return Aggregation.of(self, answers, fitted, skill=skill)


def _winners(votes: AnswerMatrix) -> Float[np.ndarray, "items classes"]:
    """All probability on the class with the largest share of the votes, ties shared evenly."""
    shares = mean_of(votes)
    # Sums of the same weights in another order differ in the last bits; they count as ties.
    wins = (shares >= shares.max(axis=1, keepdims=True) * (1 - 1e-9)).astype(np.float64)
    return np.asarray(wins / wins.sum(axis=1, keepdims=True))


def _agreement_with(chosen: Float[np.ndarray, "items classes"], votes: AnswerMatrix) -> Float[np.ndarray, "annotators"]:
    """The share of each annotator's votes for the chosen class, ties by their share."""
    agreed = np.zeros(votes.n_annotators)
    total = np.zeros(votes.n_annotators)
    for first, last in votes.blocks():
        block = votes.part(first, last)
        weight, who = block.weights(), block.annotator
        right = chosen[first:last][block.item, block.key % block.n_classes]
        agreed += np.bincount(who, weight * right, minlength=votes.n_annotators)
        total += np.bincount(who, weight, minlength=votes.n_annotators)
    return agreed / total
