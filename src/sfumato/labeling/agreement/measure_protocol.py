"""The protocol of an agreement measure, the result table, and how it is computed with bootstrap intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from sfumato.labeling.agreement.item_answers import ItemAnswers
from sfumato.tables.base_table import ColumnTable
from sfumato.tables.bootstrap import Bootstrap, Interval
from sfumato.tables.errors import warn

NOBODY_TO_COMPARE = "no item was answered by two different people"
NOBODY_TWICE = "nobody answered about the same item twice"
MISSING = {"first": NOBODY_TO_COMPARE, "repeats": NOBODY_TWICE}
"""Why a measure that compares these answers cannot be computed."""


Blocks = Int[np.ndarray, "items"]
"""The block of each item."""
Sums = Float[np.ndarray, "blocks sums"]
Totals = Float[np.ndarray, "resamples sums"]
Values = Float[np.ndarray, "resamples"]


@runtime_checkable
class AgreementMeasure(Protocol):
    """A number that depends on the answers only through sums over items, so resampling needs only the sums.

    Items are joined in blocks (one item each if there are few): `block[i]` is the block of item `i`.
    """

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
        """The beliefs, `hard` or `soft`, for which it is computed by default."""

    def n_sums(self, answers: ItemAnswers) -> int:
        """The number of sums per item."""

    def sums(self, answers: ItemAnswers, block: Blocks, n_blocks: int) -> Sums:
        """The sums of every block."""

    def value(self, totals: Totals) -> Values:
        """The value from the sums over all items, one per row; NaN if undefined."""


def block_sums(values: Float[np.ndarray, "items"], block: Blocks, n_blocks: int) -> Float[np.ndarray, "blocks"]:
    """The sum of `values` in every block."""
    return np.asarray(np.bincount(block, weights=values, minlength=n_blocks), dtype=np.float64)


def sums_and_counts(values: Float[np.ndarray, "values"], block: Int[np.ndarray, "values"], n_blocks: int) -> Sums:
    """The sum and the number of `values` in every block: the sums of a mean."""
    n_values = np.bincount(block, minlength=n_blocks).astype(np.float64)
    return np.column_stack([block_sums(values, block, n_blocks), n_values])


def mean(totals: Totals) -> Values:
    """The first sum divided by the second, NaN where that is 0."""
    above, below = totals[:, 0], totals[:, 1]
    return np.asarray(np.divide(above, below, out=np.full(len(above), np.nan), where=below > 0))


@dataclass(frozen=True, eq=False, repr=False)
class AgreementTable(ColumnTable):
    """One row per measure: its value, its interval from `low` to `high` with its method, and the numbers of items and
    answers used (for test-retest, the repeated answers). NaN if it could not be computed."""

    measure: tuple[str, ...]
    value: Float[np.ndarray, "measures"]
    low: Float[np.ndarray, "measures"]
    high: Float[np.ndarray, "measures"]
    n_items: Int[np.ndarray, "measures"]
    n_answers: Int[np.ndarray, "measures"]
    interval: tuple[str, ...]


@dataclass(frozen=True)
class AgreementFigure:
    """A row of the table."""

    measure: str
    value: float
    low: float
    high: float
    n_items: int
    n_answers: int
    interval: str


def figure_of(
    measure: AgreementMeasure, answers: ItemAnswers, *, level: float, resamples: int, rng: np.random.Generator
) -> AgreementFigure:
    """The value of `measure` with its interval; NaN, with a warning, if it cannot be computed."""
    used = getattr(answers, measure.compares)
    n_items = used.n_items
    if not n_items:
        warn(f"{measure.name} cannot be computed: {MISSING[measure.compares]}")
        return AgreementFigure(measure.name, np.nan, np.nan, np.nan, 0, 0, "none: nothing to compare")
    bootstrap = Bootstrap.of(n_items, level=level, draws=resamples, rng=rng, n_sums=measure.n_sums(answers))
    sums = measure.sums(answers, bootstrap.block, bootstrap.n_blocks)
    value = float(measure.value(sums.sum(axis=0, keepdims=True))[0])
    if np.isnan(value):
        warn(f"{measure.name} is undefined: {measure.undefined}")
        between = Interval(np.nan, np.nan, "none: undefined")
    else:
        between = bootstrap.interval(sums, measure.value)
    return AgreementFigure(measure.name, value, between.low, between.high, n_items, len(used.item), between.kind)
