"""The protocol of an agreement measure, the result table, and how it is computed with bootstrap intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int

from sfumato.labeling.agreement.item_answers import ItemAnswers
from sfumato.tables.bootstrap import Bootstrap, Interval, check_resampling
from sfumato.tables.errors import warn
from sfumato.tables.growable_array import freeze
from sfumato.tables.table import Table

NOBODY_TO_COMPARE = "no item was answered by two different people"
NOBODY_TWICE = "nobody answered about the same item twice"
MISSING = {"first": NOBODY_TO_COMPARE, "repeats": NOBODY_TWICE}
"""Why a measure that compares these answers cannot be computed."""


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

    def sums(
        self, answers: ItemAnswers, block: Int[np.ndarray, "items"], n_blocks: int
    ) -> Float[np.ndarray, "blocks sums"]:
        """The sums of every block."""

    def value(self, totals: Float[np.ndarray, "resamples sums"]) -> Float[np.ndarray, "resamples"]:
        """The value from the sums over all items, one per row; NaN if undefined."""


def block_sums(
    values: Float[np.ndarray, "items"], block: Int[np.ndarray, "items"], n_blocks: int
) -> Float[np.ndarray, "blocks"]:
    """The sum of `values` in every block."""
    return np.asarray(np.bincount(block, weights=values, minlength=n_blocks), dtype=np.float64)


def ratio(
    above: Float[np.ndarray, "resamples"], below: Float[np.ndarray, "resamples"]
) -> Float[np.ndarray, "resamples"]:
    """`above / below`, NaN where `below` is 0."""
    return np.asarray(np.divide(above, below, out=np.full(len(above), np.nan), where=below > 0))


@dataclass(frozen=True, eq=False, repr=False)
class AgreementTable(Table):
    """One row per measure: its value, its interval from `low` to `high` with its method, and the numbers of items and
    answers used (for test-retest, the repeated answers). NaN if it could not be computed."""

    measure: tuple[str, ...]
    value: Float[np.ndarray, "measures"]
    low: Float[np.ndarray, "measures"]
    high: Float[np.ndarray, "measures"]
    n_items: Int[np.ndarray, "measures"]
    n_answers: Int[np.ndarray, "measures"]
    interval: tuple[str, ...]

    classes = ()

    def __post_init__(self) -> None:
        freeze(self, "value", "low", "high", "n_items", "n_answers")

    def chunk(self, start: int, stop: int, *, wide: bool) -> pa.Table:  # noqa: ARG002
        columns: dict[str, Any] = {"measure": pa.array(self.measure[start:stop], pa.string())}
        for name in ("value", "low", "high"):
            columns[name] = pa.array(getattr(self, name)[start:stop], pa.float64(), from_pandas=True)
        columns["n_items"] = pa.array(self.n_items[start:stop])
        columns["n_answers"] = pa.array(self.n_answers[start:stop])
        columns["interval"] = pa.array(self.interval[start:stop], pa.string())
        return pa.table(columns)

    def __len__(self) -> int:
        return len(self.measure)


@dataclass(frozen=True)
class AgreementFigure:
    """A row of the table."""

    measure: str
    value: float
    interval: Interval
    n_items: int
    n_answers: int


def agreement_of(
    answers: ItemAnswers,
    measures: Sequence[AgreementMeasure],
    members: Sequence[AgreementMeasure],
    *,
    level: float,
    resamples: int,
    rng: np.random.Generator,
) -> AgreementTable:
    """The values of `measures` or, if empty, of those `members` that apply."""
    check_resampling(level, resamples)
    kind = "soft" if answers.is_soft else "hard"
    chosen = measures or [
        each for each in members if kind in each.default_for and getattr(answers, each.compares).n_items
    ]
    if not chosen:
        warn("found nothing to compare: no item has two answers; give several people the same items")
    # One seed for all: on the same items every measure has the same resamples, independent of the other measures.
    seed = int(rng.integers(2**62))
    figures = [
        _figure(measure, answers, level=level, resamples=resamples, rng=np.random.default_rng(seed))
        for measure in chosen
    ]
    return AgreementTable(
        tuple(each.measure for each in figures),
        np.array([each.value for each in figures], dtype=np.float64),
        np.array([each.interval.low for each in figures], dtype=np.float64),
        np.array([each.interval.high for each in figures], dtype=np.float64),
        np.array([each.n_items for each in figures], dtype=np.int64),
        np.array([each.n_answers for each in figures], dtype=np.int64),
        tuple(each.interval.kind for each in figures),
    )


def _figure(
    measure: AgreementMeasure, answers: ItemAnswers, *, level: float, resamples: int, rng: np.random.Generator
) -> AgreementFigure:
    used = getattr(answers, measure.compares)
    n_items = used.n_items
    if not n_items:
        warn(f"{measure.name} cannot be computed: {MISSING[measure.compares]}")
        return AgreementFigure(measure.name, np.nan, Interval(np.nan, np.nan, "none: nothing to compare"), 0, 0)
    bootstrap = Bootstrap.of(n_items, level=level, draws=resamples, rng=rng, n_sums=measure.n_sums(answers))
    sums = measure.sums(answers, bootstrap.block, bootstrap.n_blocks)
    value = float(measure.value(sums.sum(axis=0, keepdims=True))[0])
    if np.isnan(value):
        warn(f"{measure.name} is undefined: {measure.undefined}")
        interval = Interval(np.nan, np.nan, "none: undefined")
    else:
        interval = bootstrap.interval(sums, measure.value)
    return AgreementFigure(measure.name, value, interval, n_items, len(used.item))
