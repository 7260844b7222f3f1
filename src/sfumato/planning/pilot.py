"""A pilot (answers about some items), the prior over items fitted to it, and populations of items drawn from either.
Used by all planning functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int, Num

from sfumato.aggregation.answer_matrix import AggregationInputs, AnswerMatrix
from sfumato.aggregation.bayes import vote_counts
from sfumato.aggregation.dirichlet_mixture import DirichletMixture, first_guess, fit_mixture
from sfumato.labeling.default_labeler import as_votes
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.errors import BadSetting, BadTable, show, warn
from sfumato.tables.growable_array import freeze
from sfumato.tables.settings import at_least
from sfumato.tables.soft_labels import Estimand, SoftLabels

MOST_COMPONENTS = 40
ITEMS_A_COMPONENT = 5
MOST_FITTED = 5_000
ITERATIONS = 400
TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Pilot:
    """How often each class was chosen for each item of a pilot; a belief counts for each class by its probability."""

    counts: Float[np.ndarray, "items classes"]

    def __post_init__(self) -> None:
        freeze(self, "counts")

    @classmethod
    def of(cls, table: Beliefs | Annotations | SoftLabels) -> Pilot:
        """The answers in a table; labels need the number of annotators, and must describe people's judgments.

        All answers of an annotator about an item count as one.
        """
        if not len(table):
            raise _no_answers("no rows")
        if isinstance(table, Annotations):
            table = as_votes(table)
        if isinstance(table, SoftLabels):
            return cls(_counts_of_labels(table))
        return cls(vote_counts(AnswerMatrix.of(table, AggregationInputs(average_repeats=True))))

    @property
    def n_items(self) -> int:
        return len(self.counts)

    @property
    def answers_per_item(self) -> float:
        """Mean answers per item."""
        return float(self.counts.sum() / len(self.counts))

    @cached_property
    def prior(self) -> DirichletMixture:
        """The mixture of Dirichlets with the highest likelihood, fitted as in `bayes`.

        It has one component per five items, at most 40, and is fitted to at most 5,000 items, evenly spread.
        """
        counts = self.subsample(MOST_FITTED).counts
        n_components = min(MOST_COMPONENTS, max(2, len(counts) // ITEMS_A_COMPONENT))
        start = first_guess(counts, n_components)
        return fit_mixture(counts, start, iterations=ITERATIONS, tolerance=TOLERANCE).prior

    def refit_prior(self, prior: DirichletMixture, iterations: int) -> DirichletMixture:
        """The prior of these answers, starting from that of similar ones, in a few steps."""
        return fit_mixture(self.subsample(MOST_FITTED).counts, prior, iterations=iterations, tolerance=TOLERANCE).prior

    def subsample(self, most: int) -> Pilot:
        """At most `most` of its items, evenly spread."""
        if self.n_items <= most:
            return self
        return Pilot(self.counts[np.linspace(0, self.n_items - 1, most).astype(np.int64)])


def dirichlet(alpha: Sequence[float], n_classes: int = 0) -> DirichletMixture:
    """An assumed prior if there is no pilot: one Dirichlet; a single `alpha` is used for each of `n_classes`.

    With 1 every distribution is equally probable; below 1 people mostly agree, above 1 they mostly do not. Under a
    symmetric one two people disagree about an item with probability `(K - 1) alpha / (K alpha + 1)`.
    """
    values = np.asarray(alpha, np.float64).ravel()
    if len(values) == 1:
        values = np.full(at_least("classes", n_classes, 2), values[0])
    if len(values) < 2 or not np.isfinite(values).all() or not (values > 0).all() or n_classes not in (0, len(values)):
        raise BadSetting(
            f"a Dirichlet of {show(values.tolist())}" + (f" for {n_classes} classes" if n_classes else ""),
            "finite numbers above 0, one per class, for at least two classes",
            "give one number per class, or one for all and the number of classes",
            "bad-prior",
        )
    return DirichletMixture(np.ones(1), values[None])


def _counts_of_labels(labels: SoftLabels) -> Float[np.ndarray, "items classes"]:
    if labels.n_annotators is None:
        raise BadTable(
            "labels without the number of annotators",
            "a number of annotators for every item",
            "give the beliefs of the labels, or a column n_annotators",
            "no-counts",
        )
    if labels.estimand is Estimand.TRUTH:
        raise BadTable(
            f"labels that say {labels.estimand.value}",
            f"labels that say {Estimand.PEOPLE.value}",
            "give the beliefs themselves, or labels by `mean`",
            "mixed-targets",
        )
    asked = labels.n_annotators > 0
    if not asked.any():
        raise _no_answers("0 annotators behind every label")
    counts = labels.probs[asked] * labels.n_annotators[asked, None]
    whole = np.round(counts)
    if np.abs(counts - whole).max() < 1e-3:
        return np.asarray(whole)
    warn(
        "the labels are not shares of whole answers and are read as fractions of votes; if they were smoothed, "
        "disagreement is underestimated: give the beliefs instead"
    )
    return np.asarray(counts)


def _no_answers(found: str) -> BadTable:
    return BadTable(
        found, "a pilot with at least one answer", "collect some answers first, or assume a prior", "no-rows"
    )


QUICK_COMPONENTS = 60
QUICK_ITEMS_A_COMPONENT = 20
"""With fewer items, fewer components (but one per class): a prior with more of them fits noise."""
QUICK_MOST_FITTED = 10_000
"""The prior is fitted to at most this many items, evenly spread over those with answers."""
QUICK_ITERATIONS, QUICK_TOLERANCE = 100, 1e-5
FINENESS = 20
"""Fractions of votes are rounded to this part of a vote for the fit, so that fewer distinct rows remain."""


def fit_prior(counts: Num[np.ndarray, "items classes"]) -> DirichletMixture:
    """A mixture of Dirichlets fitted to the counts, deterministic.

    Less precise than `aggregation.Bayes` and many times faster, for a prior that is fitted again as answers arrive.
    Without answers it is one Dirichlet under which two people mostly agree. One more item of any distribution is added:
    with few items the fit alone would be overconfident, and would stop asking after two answers.
    """
    answered = counts[counts.sum(axis=1) > 0]
    if not len(answered):
        answered = counts[:1]
    kept = np.linspace(0, len(answered) - 1, min(QUICK_MOST_FITTED, len(answered))).astype(np.int64)
    rows = np.round(answered[kept] * FINENESS) / FINENESS
    components = min(QUICK_COMPONENTS, max(len(rows) // QUICK_ITEMS_A_COMPONENT, rows.shape[1] + 1))
    fitted = fit_mixture(
        rows, first_guess(rows, components), iterations=QUICK_ITERATIONS, tolerance=QUICK_TOLERANCE
    ).prior
    return _cautious(fitted, len(answered), float(answered.sum()))


def _cautious(fitted: DirichletMixture, n_items: int, n_answers: float) -> DirichletMixture:
    """The prior limited to the certainty that this many items and answers allow, with one more item of any
    distribution.

    `n` items with `m` answers each cannot distinguish a component whose parameters sum to much more than `m sqrt(n /
    2)` from one where all items are equal, and the most likely fit often is the latter: the sum is limited.
    """
    share = fitted.weights / fitted.weights.sum()
    mass = fitted.alpha.sum(axis=1)
    most = 1 + n_answers / max(n_items, 1) * np.sqrt(share * n_items / 2)
    unlike_any = 1 / (1 + n_items)
    return DirichletMixture(
        np.append(share * (1 - unlike_any), unlike_any),
        np.concatenate([fitted.alpha * np.minimum(1, most / mass)[:, None], np.ones((1, fitted.alpha.shape[1]))]),
    )


def check_counts(counts: np.ndarray) -> Float[np.ndarray, "items classes"]:
    """The counts as numbers of votes, or an error."""
    found = np.asarray(counts, np.float64)
    if found.ndim != 2 or not len(found):
        raise BadTable(
            f"counts of shape {found.shape}",
            "items x classes, with at least one item",
            "give one row per item and one column per class",
            "wrong-shape",
        )
    if found.shape[1] < 2:
        raise BadTable(
            f"{found.shape[1]} class",
            "at least two classes",
            "name every class that could be chosen, also those without answers",
            "one-class",
        )
    if not (np.isfinite(found) & (found >= 0)).all():
        raise BadTable(
            "counts below 0 or not finite",
            "how often each class was chosen, 0 or more",
            "count the answers again",
            "bad-count",
        )
    return found


@dataclass(frozen=True, eq=False)
class Population:
    """Possible distributions of items, and the prior with which answers about them are read.

    `item` is the item of the pilot for which each was drawn; all items have equally many draws.
    """

    prior: DirichletMixture
    probs: Float[np.ndarray, "draws classes"]
    item: Int[np.ndarray, "draws"]

    @classmethod
    def of_pilot(cls, pilot: Pilot, prior: DirichletMixture, n_draws: int, rng: np.random.Generator) -> Population:
        """At least `n_draws` distributions, equally many per item of a pilot, from its posterior.

        Together they are closer to the truth than draws from the prior (one more step of EM over all distributions): on
        CIFAR-10H the probability that two people differ is 3% too high instead of 6%.
        """
        n_times = -(-n_draws // pilot.n_items)
        counts, place = np.unique(pilot.counts, axis=0, return_inverse=True)
        item = np.repeat(np.arange(pilot.n_items), n_times)
        row = place.ravel()[item]
        edges = np.cumsum(prior.given(counts).weights, axis=1)
        edges[:, -1] = np.inf
        component = np.empty(len(row), np.int64)
        for first in range(0, len(row), 2**14):
            part = slice(first, first + 2**14)
            component[part] = (rng.random(len(row[part]))[:, None] >= edges[row[part]]).sum(axis=1)
        return cls(prior, _dirichlet_rows(prior.alpha[component] + counts[row], rng), item)

    @classmethod
    def of_prior(cls, prior: DirichletMixture, n_draws: int, rng: np.random.Generator) -> Population:
        """`n_draws` distributions, spread evenly over the components by their weights."""
        edges = np.cumsum(prior.weights) / prior.weights.sum()
        component = np.searchsorted(edges, (np.arange(n_draws) + rng.random()) / n_draws)
        alpha = prior.alpha[np.minimum(component, len(edges) - 1)]
        return cls(prior, _dirichlet_rows(alpha, rng), np.arange(n_draws))

    @property
    def n_items(self) -> int:
        return int(self.item[-1]) + 1

    def by_item(self, values: Float[np.ndarray, "draws answers"]) -> Float[np.ndarray, "items answers"]:
        """The mean of `values` per item."""
        return np.asarray(values.reshape(self.n_items, -1, values.shape[1]).mean(axis=1))


def _dirichlet_rows(alpha: Float[np.ndarray, "draws classes"], rng: np.random.Generator) -> np.ndarray:
    """A draw from the Dirichlet of every row.

    In logarithms, as `G(a) = G(a + 1) U^(1/a)`, because gamma variates of small parameters underflow.
    """
    logs = np.log(rng.standard_gamma(alpha + 1)) + np.log(1 - rng.random(alpha.shape)) / alpha
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))
