"""The error of labels from M answers: closed forms for given distributions, and error measures (`MEASURES`) under a
prior over items."""

# ruff: noqa: ARG002

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int
from scipy.special import betainc, gammaln

from sfumato.aggregation.dirichlet_mixture import DirichletMixture
from sfumato.planning.answer_simulation import SimulatedPosterior, answered, simulate_answers
from sfumato.planning.item_prior import Population
from sfumato.tables.columns import check_probs
from sfumato.tables.errors import unknown
from sfumato.tables.setting_checks import at_least

NUMBERS_AT_ONCE = 2**20
"""Items are computed in blocks of this many numbers, so that intermediate results fit into memory."""


def expected_tv(
    probs: Float[np.ndarray, "items classes"], n_answers: Sequence[int]
) -> Float[np.ndarray, "items answers"]:
    """The expected total variation between each distribution and the shares of M answers drawn from it.

    Exact, from the mean absolute deviation of a binomial (De Moivre 1730; Diaconis and Zabell 1991, *Closed form
    summation for classical distributions*): `sum_j v_j (1 - p_j) Binom(v_j; M, p_j) / M` with `v_j = floor(M p_j) + 1`.
    The normal approximation is a fifth too high at ten answers. For plain shares; with a prior, as in `bayes`, fewer
    answers are needed: see `DivergenceError`.
    """
    many = _checked(probs, n_answers)
    log_factorial = gammaln(np.arange(many.max() + 2) + 1.0)
    result = np.empty((len(probs), len(many)))
    at_once = max(1, NUMBERS_AT_ONCE // probs.shape[1])
    for first in range(0, len(probs), at_once):
        rows = slice(first, first + at_once)
        part = probs[rows]
        place = np.nonzero((part > 0) & (part < 1))
        p = part[place]
        log_p, log_rest = np.log(p), np.log1p(-p)
        for i, m in enumerate(many):
            v = np.minimum(np.floor(m * p).astype(np.int64) + 1, m)
            log_term = log_factorial[m] - log_factorial[v - 1] - log_factorial[m - v] + v * log_p
            deviation = np.exp(log_term + (m - v + 1) * log_rest) / m
            result[rows, i] = np.bincount(place[0], weights=deviation, minlength=len(part))
    return result


def expected_l2(
    probs: Float[np.ndarray, "items classes"], n_answers: Sequence[int]
) -> Float[np.ndarray, "items answers"]:
    """The expected squared distance between each distribution and the shares of M answers: `(1 - |p|^2) / M`.

    Prefer `expected_tv` for a value that reads as a share of people.
    """
    many = _checked(probs, n_answers)
    return np.asarray((1 - (probs**2).sum(axis=1, keepdims=True)) / many)


def _checked(probs: Float[np.ndarray, "items classes"], n_answers: Sequence[int]) -> Int[np.ndarray, "answers"]:
    check_probs(probs)
    for m in n_answers:
        at_least("n_answers", m, 1)
    return np.asarray(n_answers, np.int64)


CELLS = 1000


@dataclass(frozen=True)
class TotalVariationError:
    """The total variation between the shares of the answers and the item's distribution; the default.

    For given items the closed form `expected_tv`. Under a prior its expectation over the Beta marginals of each
    component, by quadrature over `cells` cells: `f(p) = p (1 - p) g(p)`, so `E f = a b / (A (A + 1)) E g` under Beta(a
    + 1, b + 1), where g is smooth. With 1,000 cells it is within 0.1% of the exact double sum.
    """

    cells: int = CELLS
    name: ClassVar[str] = "tv"
    title: ClassVar[str] = "total variation"
    uses_prior: ClassVar[bool] = False
    """Whether the label is the posterior mean; otherwise it is the shares of the answers."""

    def of_items(
        self, items: Population, n_answers: Sequence[int], rng: np.random.Generator
    ) -> Float[np.ndarray, "draws answers"]:
        """The expected error after each of these numbers of answers about each of these items."""
        return expected_tv(items.probs, n_answers)

    def of_prior(self, prior: DirichletMixture, most: int, rng: np.random.Generator) -> Float[np.ndarray, "answers"]:
        """The expected error after 1, 2, ... `most` answers about an item from this prior."""
        edges = np.sin(np.linspace(0, np.pi / 2, self.cells + 1)) ** 2
        middle = np.sin((np.arange(self.cells) + 0.5) * np.pi / 2 / self.cells) ** 2
        two = np.stack([middle, 1 - middle], axis=1)
        # Two classes deviate equally: half of their sum is the part of one class.
        smooth = expected_tv(two, range(1, most + 1)) / 2 / (middle * (1 - middle))[:, None]
        mass = prior.alpha.sum(axis=1)
        result = np.zeros(most)
        for k in range(prior.alpha.shape[1]):
            a, b = prior.alpha[:, k], mass - prior.alpha[:, k]
            within = np.diff(betainc(a[:, None] + 1, b[:, None] + 1, edges), axis=1)
            result += (prior.weights * a * b / (mass * (mass + 1))) @ within @ smooth
        return result

    def of_answers(self, known: SimulatedPosterior) -> Float[np.ndarray, "draws"]:
        """The actual error of each item's label after simulated answers."""
        return np.asarray(np.abs(known.counts / known.n_answers - known.probs).sum(axis=1) / 2)


@dataclass(frozen=True)
class SquaredError:
    """The squared distance between the shares of the answers and the item's distribution: `(1 - E |p|^2) / M`, exact.

    Prefer it if the label is used with a squared loss (the Brier score of a model against it is too high by this
    amount).
    """

    name: ClassVar[str] = "l2"
    title: ClassVar[str] = "squared distance"
    uses_prior: ClassVar[bool] = False

    def of_items(
        self, items: Population, n_answers: Sequence[int], rng: np.random.Generator
    ) -> Float[np.ndarray, "draws answers"]:
        return expected_l2(items.probs, n_answers)

    def of_prior(self, prior: DirichletMixture, most: int, rng: np.random.Generator) -> Float[np.ndarray, "answers"]:
        return np.asarray((1 - prior.weights @ expected_squares(prior)) / np.arange(1, most + 1))

    def of_answers(self, known: SimulatedPosterior) -> Float[np.ndarray, "draws"]:
        return np.asarray(((known.counts / known.n_answers - known.probs) ** 2).sum(axis=1))


@dataclass(frozen=True)
class DivergenceError:
    """The KL divergence of the item's distribution from the posterior mean under the prior, in nats.

    The expected loss of `bayes` if the prior is correct (it is fitted to all answers, so this holds with many items),
    and the cross-entropy lost by a model trained on its labels. Given the counts it has a closed form, `H(mean) - E
    H(p)`; the mean over counts uses `draws` simulated items of a prior, with a standard error of about 1.5% at 4,000.
    Given items are each simulated once.
    """

    draws: int = 4000
    name: ClassVar[str] = "kl"
    title: ClassVar[str] = "KL divergence"
    uses_prior: ClassVar[bool] = True

    def of_items(
        self, items: Population, n_answers: Sequence[int], rng: np.random.Generator
    ) -> Float[np.ndarray, "draws answers"]:
        known = (answered(items.probs, m, rng, items.prior) for m in n_answers)
        return np.stack([self.of_answers(each) for each in known], axis=1)

    def of_prior(self, prior: DirichletMixture, most: int, rng: np.random.Generator) -> Float[np.ndarray, "answers"]:
        items = Population.of_prior(prior, self.draws, rng)
        errors = [known.expected_kl for known in simulate_answers(items.probs, most, rng, prior)]
        return np.array([each.mean() for each in errors if each is not None])

    def of_answers(self, known: SimulatedPosterior) -> Float[np.ndarray, "draws"]:
        assert known.mean is not None
        return divergence(known.probs, known.mean)


def divergence(probs: Float[np.ndarray, "items classes"], labels: Float[np.ndarray, "items classes"]) -> np.ndarray:
    """The KL divergence of each distribution from its label, in nats."""
    p, q = np.maximum(probs, 1e-300), np.maximum(labels, 1e-300)
    return np.asarray((probs * np.log(p / q)).sum(axis=1))


@dataclass(frozen=True)
class WrongClass:
    """The probability that the most frequent class among M answers is not the item's most probable one.

    By simulation: each given item is answered once. Ties are broken at random. For one class per item; on items that
    divide people almost evenly, more answers change it little.
    """

    draws: int = 10_000
    name: ClassVar[str] = "wrong_class"
    title: ClassVar[str] = "share of wrong classes"
    uses_prior: ClassVar[bool] = False

    def of_items(
        self, items: Population, n_answers: Sequence[int], rng: np.random.Generator
    ) -> Float[np.ndarray, "draws answers"]:
        return np.stack([self.of_answers(answered(items.probs, m, rng)) for m in n_answers], axis=1)

    def of_prior(self, prior: DirichletMixture, most: int, rng: np.random.Generator) -> Float[np.ndarray, "answers"]:
        items = Population.of_prior(prior, self.draws, rng)
        return np.asarray([self.of_answers(known).mean() for known in simulate_answers(items.probs, most, rng)])

    def of_answers(self, known: SimulatedPosterior) -> Float[np.ndarray, "draws"]:
        return wrong_class(known.counts, known.probs)


def wrong_class(
    counts: Float[np.ndarray, "items classes"], probs: Float[np.ndarray, "items classes"]
) -> Float[np.ndarray, "items"]:
    """The probability, per item, that the most frequent class (ties at random) is not the most probable one."""
    leads = counts >= counts.max(axis=1, keepdims=True) - 1e-9
    right = leads[np.arange(len(probs)), probs.argmax(axis=1)]
    return np.asarray(1 - right / leads.sum(axis=1))


ErrorMeasure = TotalVariationError | SquaredError | DivergenceError | WrongClass
"""The error of a label: expected for given items, expected under a prior, and actual after simulated answers."""
MEASURES: tuple[ErrorMeasure, ...] = (TotalVariationError(), SquaredError(), DivergenceError())


def measure_from_name(name: str) -> ErrorMeasure:
    known = {measure.name: measure for measure in MEASURES}
    if name not in known:
        raise unknown("measure", name, list(known))
    return known[name]


def expected_squares(prior: DirichletMixture) -> Float[np.ndarray, "components"]:
    """`E |p|^2` of each component: the probability that two people agree about an item."""
    mass = prior.alpha.sum(axis=1)
    return np.asarray((prior.alpha * (prior.alpha + 1)).sum(axis=1) / (mass * (mass + 1)))
