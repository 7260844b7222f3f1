"""The protocol of an agreement measure, and its value with the interval over annotators and items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from sfumato.labeling.agreement.agreement_table import AgreementFigure
from sfumato.tables.errors import warn
from sfumato.tables.two_way import (
    FISHER_Z,
    NO_PARTS,
    LeaveOneOut,
    TwoWay,
    VarianceParts,
    share_over_items,
    two_way,
)

if TYPE_CHECKING:
    from sfumato.labeling.agreement.item_answers import ItemAnswers

ALL_ALIKE = "every answer is the same, so no disagreement is expected by chance"
NOBODY_TO_COMPARE = "no item was answered by two different people"
NOBODY_TWICE = "nobody answered about the same item twice"
NO_ANNOTATORS = "counts have no annotators"
MISSING = {"first": NOBODY_TO_COMPARE, "repeats": NOBODY_TWICE}
"""Why a measure that compares these answers cannot be computed."""


@runtime_checkable
class AgreementMeasure(Protocol):
    """A number about the answers that is quickly computed again without one item, one annotator or one answer."""

    @property
    def name(self) -> str: ...

    @property
    def undefined(self) -> str:
        """Why the value can be undefined although there are answers to compare."""

    @property
    def compares(self) -> str:
        """The answers it uses: the attribute `first` or `repeats` of `ItemAnswers`."""

    @property
    def default_for(self) -> tuple[str, ...]:
        """For what it is computed by default: `hard` or `soft` beliefs, or `ordered` classes, for which it leads."""

    @property
    def bounds(self) -> tuple[float, float]:
        """The smallest and the largest possible value.

        A measure with `is_share = True` is a mean over items of values from 0 to 1, with the interval of a share.
        """

    def leave_one_out(self, answers: ItemAnswers) -> LeaveOneOut:
        """The value, and the values without each item, annotator and answer; NaN if undefined.

        Usually `answers.first.design.function_of_sums(...)` or `answers.repeats.design.mean(...)`.
        """


def figure_of(
    measure: AgreementMeasure, answers: ItemAnswers, *, level: float, annotators_known: bool
) -> AgreementFigure:
    """The value of `measure` with its interval; NaN, with a warning, if it cannot be computed."""
    used = getattr(answers, measure.compares)
    counted = (used.n_items, used.design.n_people if annotators_known else 0, len(used.item))
    if not used.n_items:
        warn(f"{measure.name} cannot be computed: {MISSING[measure.compares]}")
        return _row(measure.name, (np.nan,) * 3, (0, 0, 0), "none: nothing to compare", NO_PARTS)
    found = over_people_and_items(measure, answers, level=level)
    if np.isnan(found.value):
        warn(f"{measure.name} is undefined: {measure.undefined}")
    between = found.or_over_items("" if annotators_known else NO_ANNOTATORS)
    return _row(measure.name, (found.value, between.low, between.high), counted, between.kind, found.parts)


def over_people_and_items(measure: AgreementMeasure, answers: ItemAnswers, *, level: float) -> TwoWay:
    """The value with its interval: of a share on the logit scale; of a coefficient, which can be below 0, on the scale
    of Fisher's z, and without the bias of few items."""
    left_out = measure.leave_one_out(answers)
    if getattr(measure, "is_share", False):
        return share_over_items(left_out, level=level)
    is_coefficient = measure.bounds[0] < 0
    scale = FISHER_Z if is_coefficient else None
    return two_way(left_out, level=level, bounds=measure.bounds, scale=scale, unbiased=is_coefficient)


def _row(
    name: str,
    value: tuple[float, float, float],
    counted: tuple[int, int, int],
    kind: str,
    parts: VarianceParts,
) -> AgreementFigure:
    return AgreementFigure(
        name, *value, *counted, kind, parts.items, parts.people, parts.answers, parts.these_people,
        parts.twice_the_items, parts.twice_the_people,
    )  # fmt: skip
