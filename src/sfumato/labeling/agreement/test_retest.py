"""Test-retest: agreement of an annotator's repeated answers with the first one, overall and per annotator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float

from sfumato.labeling.agreement.item_answers import ItemAnswers, Repeats, leading
from sfumato.labeling.agreement.measure_protocol import NOBODY_TWICE
from sfumato.tables.base_table import RecordTable
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.two_way import LeaveOneOut


@dataclass(frozen=True)
class RetestSameClass:
    """The share of repeated answers with the same most probable class as the first answer.

    Every later answer is compared with the first. If classes are tied, one in common is enough: 50 / 50 and then
    60 / 40 is the same class. `retest-total-variation` also measures changes that keep the class.
    """

    name: ClassVar[str] = "retest-same-class"
    undefined: ClassVar[str] = NOBODY_TWICE
    compares: ClassVar[str] = "repeats"
    default_for: ClassVar[tuple[str, ...]] = ("hard", "soft")
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def leave_one_out(self, answers: ItemAnswers) -> LeaveOneOut:
        return answers.repeats.design.mean(same_class(answers.repeats).astype(np.float64))


@dataclass(frozen=True)
class RetestTotalVariation:
    """The mean total variation between an annotator's first and later belief about an item.

    Mean over pairs of `sum_c |p_c - q_c| / 2`. Compare it with `total-variation` to see how much of the distance
    between annotators is inconsistency within them. For hard votes it is 1 - `retest-same-class`.
    """

    name: ClassVar[str] = "retest-total-variation"
    undefined: ClassVar[str] = NOBODY_TWICE
    compares: ClassVar[str] = "repeats"
    default_for: ClassVar[tuple[str, ...]] = ("hard", "soft")
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def leave_one_out(self, answers: ItemAnswers) -> LeaveOneOut:
        return answers.repeats.design.mean(distances_moved(answers.repeats))


def same_class(repeats: Repeats) -> Bool[np.ndarray, "pairs"]:
    """Whether both answers of each pair have a most probable class in common."""
    before, after = repeats.before, repeats.after
    if before.hard is not None and after.hard is not None:
        return np.asarray(before.hard == after.hard)
    return np.asarray((leading(before.probs()) & leading(after.probs())).any(axis=1))


def distances_moved(repeats: Repeats) -> Float[np.ndarray, "pairs"]:
    """The total variation between both answers of each pair."""
    before, after = repeats.before, repeats.after
    if before.hard is not None and after.hard is not None:
        return np.asarray(before.hard != after.hard, np.float64)
    return np.asarray(np.abs(before.probs() - after.probs()).sum(axis=1) / 2)


@dataclass(frozen=True)
class AnnotatorRetest:
    """One annotator's repeated answers: how many, how many with the same most probable class, and the mean total
    variation from the first answer."""

    annotator: str
    n_repeats: int
    n_same_class: int
    total_variation: float


@dataclass(frozen=True, eq=False, repr=False)
class RetestByAnnotator(RecordTable):
    """One row per annotator with repeated answers, in order of first appearance."""

    people: tuple[AnnotatorRetest, ...]

    record = AnnotatorRetest


def retest_by_annotator(beliefs: Beliefs) -> RetestByAnnotator:
    """Test-retest agreement per annotator; `RetestSameClass` and `RetestTotalVariation` are the same over all.

    Every later answer is compared with the annotator's first answer about the item. If several classes are most
    probable, one in common counts as the same.
    """
    pairs = ItemAnswers.of(beliefs).repeats
    who, names = pairs.before.annotator, beliefs.annotator.names.to_pylist()
    n_pairs = np.bincount(who, minlength=len(names))
    n_same, far = (
        np.bincount(who, weights=each, minlength=len(names)) for each in (same_class(pairs), distances_moved(pairs))
    )
    return RetestByAnnotator(
        tuple(
            AnnotatorRetest(
                names[person], int(n_pairs[person]), int(n_same[person]), float(far[person] / n_pairs[person])
            )
            for person in np.flatnonzero(n_pairs)
        )
    )
