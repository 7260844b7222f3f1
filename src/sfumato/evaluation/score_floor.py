"""Floors of metrics: the score to compare a value with, and what it means or why there is none.

There are several kinds, and each states what it is:

- a bound: no predictions score better against the same labels (`cross_entropy`, `expected_accuracy`);
- the sampling error of votes (`brier`, `kl_divergence`, `jsd`, `total_variation`): even predictions equal to the
  crowd's distribution differ from a label made of a few votes;
- what chance adds to a calibration error: the expected value of a calibrated model with the same confidences.

The number of votes per class is binomial, so the sampling error of a class of known probability is exact. The
probabilities are estimated from the votes about all items (`tables.chosen_probability`): the shares of a few votes are
further apart than the probabilities, and a class without votes is not impossible. It assumes that the votes are random
samples. Where the same votes have chosen the items, they are not, and there is no floor. If items vary less than random
votes would, a constant prediction scores below the sampling error, and the floor is the score of the best constant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float
from scipy.special import gammaln

from sfumato.tables.chosen_probability import ChosenProbability, VoteAgreement

if TYPE_CHECKING:
    from sfumato.evaluation.matched_labels import MatchedLabels

Terms = Callable[[Float[np.ndarray, "nodes n"], Float[np.ndarray, "nodes n"]], Float[np.ndarray, "nodes n"]]
"""The contribution of a class of probability p (second) to a divergence, for each share of its votes (first)."""
Constant = Callable[[Float[np.ndarray, "items classes"]], float]
"""The score of the best constant prediction against labels."""


@dataclass(frozen=True)
class Floor:
    """The floor of a metric, NaN if there is none; `note` says what it is, or why there is none."""

    value: float = np.nan
    note: str = ""


BOUND = "no predictions score better against these labels"
OF_VOTES = "the expected score of the crowd's own distribution, because a label is a sample of votes"
OF_CONSTANT = "the score of the best constant prediction: items vary less than random votes would"
OF_CHANCE = "the expected value of a calibrated model with the same confidences; single values can be lower"
ONE_VOTE = "none: one vote per item does not show how much votes vary"
CHOSEN_BY_VOTES = "none: the same votes chose these items, so their labels are no random samples of votes"


def bound(value: float) -> Floor:
    """A score that no predictions can improve on."""
    return Floor(value, BOUND)


def chance_floor(matched: MatchedLabels, value: float) -> Floor:
    """What chance adds to a calibration error."""
    return Floor(np.nan, CHOSEN_BY_VOTES) if matched.chosen_by_votes else Floor(value, OF_CHANCE)


MOST_NUMBERS = 100
"""At most this many different numbers of votes per item are used; of more, an even sample."""
STANDARD_DEVIATIONS = 12


def floor_of_votes(matched: MatchedLabels, terms: Terms, constant: Constant) -> Floor:
    """The expected divergence between the crowd's distribution and the same number of votes drawn from it, a mean over
    items; at most the score of the best constant prediction.

    None if the votes chose the items, unless the labels are whole votes of a known number of people, and if no item has
    two votes.
    """
    if matched.chosen_by_votes:
        return Floor(np.nan, CHOSEN_BY_VOTES)
    counts = matched.vote_counts
    if counts is None:
        return Floor(np.nan, f"none: {matched.vote_problem}")
    votes = VoteAgreement.of(counts)
    if not votes.is_identifying:
        return Floor(np.nan, ONE_VOTE)
    probability, mass = ChosenProbability.fit(votes).nodes()
    numbers, times = np.unique(counts.sum(axis=1), return_counts=True)
    chosen = slice(None, None, 1 + len(numbers) // MOST_NUMBERS)
    expected = [_expected(n, probability, terms) @ (mass / probability) for n in numbers[chosen].tolist()]
    value = float(np.average(expected, weights=times[chosen]))
    # |p - q|^2 / 8 is at most each of the divergences: the constant is only computed where it can be smaller.
    if value <= brier_of_constant(matched.people) / 8:
        return Floor(value, OF_VOTES)
    least = constant(matched.people)
    return Floor(value, OF_VOTES) if value <= least else Floor(least, OF_CONSTANT)


def _expected(n: int, p: Float[np.ndarray, "nodes"], terms: Terms) -> Float[np.ndarray, "nodes"]:
    """The expected contribution of a class of each probability with `n` votes in all; its votes are binomial."""
    reach = min(n, int(STANDARD_DEVIATIONS * (1 + np.sqrt(n) / 2)))
    first = np.clip(np.rint(n * p) - reach, 0, max(n - 2 * reach, 0))
    drawn = first[:, None] + np.arange(min(2 * reach, n) + 1)
    p = np.broadcast_to(p[:, None], drawn.shape)
    logs = gammaln(n + 1) - gammaln(drawn + 1) - gammaln(n - drawn + 1) + drawn * np.log(p) + (n - drawn) * np.log1p(-p)
    return np.asarray((np.exp(logs) * terms(drawn / n, p)).sum(axis=1))


# --- the best constant prediction ---


def brier_of_constant(people: Float[np.ndarray, "items classes"]) -> float:
    """Of the mean label, which has the smallest squared distance."""
    return float(((people - people.mean(axis=0)) ** 2).sum(axis=1).mean())


def kl_of_constant(people: Float[np.ndarray, "items classes"]) -> float:
    """Of the mean label: its entropy minus the mean entropy of the labels."""
    mean = people.mean(axis=0)
    ratio = np.divide(people, mean, out=np.ones(people.shape), where=people > 0)
    return max(float((people * np.log(ratio)).sum(axis=1).mean()), 0.0)


HALVINGS = 60


def total_variation_of_constant(people: Float[np.ndarray, "items classes"]) -> float:
    """Of the quantiles of each class at the level at which they sum to 1: there all classes have the same slope."""
    ordered = np.sort(people, axis=0)
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if _quantiles(ordered, middle).sum() > 1 else (middle, high)
    below, above = _quantiles(ordered, low), _quantiles(ordered, high)
    # Between two values of a class the slope is constant: any point that makes the sum 1 is best.
    room = above.sum() - below.sum()
    share = np.clip((1 - below.sum()) / room, 0.0, 1.0) if room > 0 else 0.0
    best = below + share * (above - below)
    return float((np.abs(people - best).sum(axis=1) / 2).mean())


def _quantiles(ordered: Float[np.ndarray, "items classes"], level: float) -> Float[np.ndarray, "classes"]:
    return np.asarray(ordered[min(int(level * len(ordered)), len(ordered) - 1)])


STEPS = 30


def jsd_of_constant(people: Float[np.ndarray, "items classes"]) -> float:
    """By Newton's method in the simplex: the sum is convex, and separate for each class."""
    some = people[:, people.max(axis=0) > 0]
    p = some.mean(axis=0)
    for _ in range(STEPS):
        slope = np.log(2 * p / (p + some)).mean(axis=0) / 2
        curve = np.maximum((1 / p - 1 / (p + some)).mean(axis=0) / 2, 1e-300)
        step = (float((slope / curve).sum() / (1 / curve).sum()) - slope) / curve
        step *= min(1.0, 0.9 / max(float((-step / p).max()), 1e-300))
        p = p + step
        p /= p.sum()
        if np.abs(step).max() < 1e-12:
            break
    middle = (p + some) / 2
    logs = np.log(np.divide(some, middle, out=np.ones(some.shape), where=some > 0))
    return max(float(((some * logs + p * np.log(p / middle)).sum(axis=1) / 2).mean()), 0.0)
