"""A pilot (answers about some items), and the prior over items: fitted to it, or assumed. Used by all planning
functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from sfumato.aggregation.aggregation_options import AggregationInputs
from sfumato.aggregation.answer_matrix import AnswerMatrix
from sfumato.aggregation.bagged_prior import fit_bagged_prior
from sfumato.aggregation.dirichlet_mixture import DirichletMixture
from sfumato.labeling.default_labeler import as_votes
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.counts import Counts
from sfumato.tables.errors import BadSetting, BadTable, no_rows, show, warn
from sfumato.tables.estimand import Estimand, check_estimand
from sfumato.tables.growable_array import freeze
from sfumato.tables.setting_checks import at_least
from sfumato.tables.soft_labels import SoftLabels

MOST_FITTED = 5_000
NO_ANSWERS = "a pilot with at least one answer", "collect some answers first, or assume a prior"


@dataclass(frozen=True, eq=False)
class Pilot:
    """How often each class was chosen for each item of a pilot; a belief counts for each class by its probability."""

    counts: Float[np.ndarray, "items classes"]

    def __post_init__(self) -> None:
        freeze(self, "counts")

    @classmethod
    def of(cls, table: Beliefs | Annotations | Counts | SoftLabels) -> Pilot:
        """The answers in a table; labels need the number of annotators, and must describe people's judgments.

        All answers of an annotator about an item count as one.
        """
        if not len(table):
            raise no_rows(*NO_ANSWERS)
        if isinstance(table, Counts):
            return cls(table.counts.astype(np.float64))
        if isinstance(table, Annotations):
            table = as_votes(table.counted())
        if isinstance(table, SoftLabels):
            return cls(_counts_of_labels(table))
        return cls(AnswerMatrix.of(table, AggregationInputs(average_repeats=True)).vote_counts())

    @property
    def n_items(self) -> int:
        return len(self.counts)

    @property
    def answers_per_item(self) -> float:
        """Mean answers per item."""
        return float(self.counts.sum() / len(self.counts))

    @cached_property
    def prior(self) -> DirichletMixture:
        """The prior that `bayes` fits, from at most 5,000 items, evenly spread."""
        return fit_bagged_prior(self.subsample(MOST_FITTED).counts).pooled

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
    fix = "give the beliefs themselves, or labels by `mean`"
    check_estimand(labels, (Estimand.JUDGMENT,), "labels of a pilot", fix, any_estimand=None, where=labels.path)
    asked = labels.n_annotators > 0
    if not asked.any():
        raise no_rows(*NO_ANSWERS, found="0 annotators behind every label")
    counts = labels.probs[asked] * labels.n_annotators[asked, None]
    whole = np.round(counts)
    if np.abs(counts - whole).max() < 1e-3:
        return np.asarray(whole)
    warn(
        "the labels are not shares of whole answers and are read as fractions of votes; if they were smoothed, "
        "disagreement is underestimated: give the beliefs instead"
    )
    return np.asarray(counts)
