"""A pilot: what people said about some items already, and the prior over items that follows from it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from sfumato.aggregation.answer_matrix import AggregationInputs, AnswerMatrix
from sfumato.aggregation.bayes import vote_counts
from sfumato.aggregation.dirichlet_mixture import DirichletMixture, first_guess, fit_mixture
from sfumato.labeling.default_labeler import as_votes
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.errors import BadSetting, BadTable, SfumatoWarning, show
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
    """How often each class was named for each item of a pilot; a belief counts for each class by its mass."""

    counts: Float[np.ndarray, "items classes"]

    def __post_init__(self) -> None:
        freeze(self, "counts")

    @classmethod
    def of(cls, table: Beliefs | Annotations | SoftLabels) -> Pilot:
        """The answers in a table; labels must say how many people stand behind them, and how people judge.

        All answers of a person about an item count as one.
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
    def answers_an_item(self) -> float:
        """How many answers an item has, on average."""
        return float(self.counts.sum() / len(self.counts))

    @cached_property
    def prior(self) -> DirichletMixture:
        """The mixture of Dirichlets that makes the answers most probable, as `bayes` fits it.

        It has a component for every five items, at most 40: a small pilot cannot tell more apart. At most 5,000 items,
        evenly spread, are looked at.
        """
        counts = self.thinned(MOST_FITTED).counts
        n_components = min(MOST_COMPONENTS, max(2, len(counts) // ITEMS_A_COMPONENT))
        start = first_guess(counts, n_components)
        return fit_mixture(counts, start, iterations=ITERATIONS, tolerance=TOLERANCE).prior

    def fitted_from(self, prior: DirichletMixture, iterations: int) -> DirichletMixture:
        """The prior of these answers, found from that of nearly the same ones in a few steps."""
        return fit_mixture(self.thinned(MOST_FITTED).counts, prior, iterations=iterations, tolerance=TOLERANCE).prior

    def thinned(self, most: int) -> Pilot:
        """At most so many of its items, evenly spread."""
        if self.n_items <= most:
            return self
        return Pilot(self.counts[np.linspace(0, self.n_items - 1, most).astype(np.int64)])


def dirichlet(alpha: Sequence[float], n_classes: int = 0) -> DirichletMixture:
    """A prior to assume where there is no pilot: one Dirichlet; a single `alpha` stands for each of `n_classes`.

    1 makes every distribution as probable as any other; below 1 people mostly agree, above 1 they mostly do not. Under
    a symmetric one two people disagree about an item with probability `(K - 1) alpha / (K alpha + 1)`.
    """
    values = np.asarray(alpha, np.float64).ravel()
    if len(values) == 1:
        values = np.full(at_least("classes", n_classes, 2), values[0])
    if len(values) < 2 or not np.isfinite(values).all() or not (values > 0).all() or n_classes not in (0, len(values)):
        raise BadSetting(
            f"found a Dirichlet of {show(values.tolist())}" + (f" for {n_classes} classes" if n_classes else ""),
            expected="finite numbers above 0, one a class, for at least two classes",
            fix="give one number a class, or one for all and the number of classes",
            code="bad-prior",
        )
    return DirichletMixture(np.ones(1), values[None])


def _counts_of_labels(labels: SoftLabels) -> Float[np.ndarray, "items classes"]:
    if labels.n_annotators is None:
        raise BadTable(
            "found labels that do not say how many people stand behind them",
            expected="a number of annotators for every item",
            fix="give the beliefs the labels were made from, or a column n_annotators",
            code="no-counts",
        )
    if labels.estimand is Estimand.TRUTH:
        raise BadTable(
            f"found labels that say {labels.estimand.value}",
            expected=f"labels that say {Estimand.PEOPLE.value}",
            fix="give the beliefs themselves, or labels by `mean`",
            code="mixed-targets",
        )
    asked = labels.n_annotators > 0
    if not asked.any():
        raise _no_answers("0 annotators behind every label")
    counts = labels.probs[asked] * labels.n_annotators[asked, None]
    whole = np.round(counts)
    if np.abs(counts - whole).max() < 1e-3:
        return np.asarray(whole)
    warnings.warn(
        "the labels are no shares of whole answers: taken as fractions of votes, which says too little about how far "
        "people differ where the labels were smoothed; the beliefs themselves say more",
        SfumatoWarning,
        stacklevel=4,
    )
    return np.asarray(counts)


def _no_answers(found: str) -> BadTable:
    return BadTable(
        f"found {found}",
        expected="a pilot with at least one answer",
        fix="ask some people about some items first, or assume a prior",
        code="no-rows",
    )
