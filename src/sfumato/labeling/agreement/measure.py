"""What every measure of agreement is: sums over items, and the figure they give.

The table of figures, and how it is made.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int

from sfumato.labeling.agreement.item_answers import ItemAnswers
from sfumato.tables.bootstrap import Bootstrap, Interval, check_resampling
from sfumato.tables.errors import SfumatoWarning
from sfumato.tables.growable_array import freeze
from sfumato.tables.table import Table

NOBODY_TO_COMPARE = "no item was answered by two different people"
NOBODY_TWICE = "nobody answered about the same item twice"


@runtime_checkable
class AgreementMeasure(Protocol):
    """A figure that depends on the answers only through sums over items.

    So a resample of items needs the sums alone, and the answers are looked at once. Items come joined in blocks (one
    item each while there are few): `block[i]` is the block of item `i`.
    """

    @property
    def name(self) -> str: ...

    @property
    def undefined(self) -> str:
        """Why the figure can be undefined though there is something to compare."""

    def by_default(self, answers: ItemAnswers) -> bool:
        """Whether the measure is worth giving unasked, once there is something to compare."""

    def missing(self, answers: ItemAnswers) -> str:
        """What there would have to be, in a sentence that says it is not there; empty where all is."""

    def n_items(self, answers: ItemAnswers) -> int:
        """Items that count."""

    def n_answers(self, answers: ItemAnswers) -> int:
        """Answers that count; for test-retest the later ones, that is the pairs."""

    def n_sums(self, answers: ItemAnswers) -> int:
        """How many sums an item has."""

    def sums(
        self, answers: ItemAnswers, block: Int[np.ndarray, "items"], n_blocks: int
    ) -> Float[np.ndarray, "blocks sums"]:
        """The sums of every block."""

    def value(self, totals: Float[np.ndarray, "resamples sums"]) -> Float[np.ndarray, "resamples"]:
        """The figure from the sums over all items, one a row; NaN where it is undefined."""


def block_sums(
    values: Float[np.ndarray, "items"], block: Int[np.ndarray, "items"], n_blocks: int
) -> Float[np.ndarray, "blocks"]:
    """The sum of `values` in every block."""
    return np.asarray(np.bincount(block, weights=values, minlength=n_blocks), dtype=np.float64)


def ratio(
    above: Float[np.ndarray, "resamples"], below: Float[np.ndarray, "resamples"]
) -> Float[np.ndarray, "resamples"]:
    """`above / below`, NaN where nothing stands below."""
    return np.asarray(np.divide(above, below, out=np.full(len(above), np.nan), where=below > 0))


@dataclass(frozen=True, eq=False, repr=False)
class AgreementTable(Table):
    """One row a measure: its value between `low` and `high`, from `n_answers` about `n_items` (for test-retest,
    `n_answers` are the repeated ones, that is the pairs). `interval` says how the interval was found.

    NaN is what could not be computed.
    """

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
    asked: Sequence[AgreementMeasure],
    offered: Sequence[AgreementMeasure],
    *,
    level: float,
    resamples: int,
    rng: np.random.Generator,
) -> AgreementTable:
    """The figures of the measures `asked` for or, without, of those `offered` that apply."""
    check_resampling(level, resamples)
    applicable = [each for each in offered if each.by_default(answers) and not each.missing(answers)]
    if not asked and not applicable:
        _warn("found nothing to compare: no item has two answers; give several people the same items")
    # One seed for all: on the same items every measure sees the same resamples, whichever others are asked for.
    seed = int(rng.integers(2**62))
    figures = [
        _figure(measure, answers, level=level, resamples=resamples, rng=np.random.default_rng(seed))
        for measure in asked or applicable
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
    if missing := measure.missing(answers):
        _warn(f"{measure.name} cannot be computed: {missing}")
        return AgreementFigure(measure.name, np.nan, Interval(np.nan, np.nan, "none: nothing to compare"), 0, 0)
    n_items = measure.n_items(answers)
    bootstrap = Bootstrap.of(n_items, level=level, draws=resamples, rng=rng, n_sums=measure.n_sums(answers))
    sums = measure.sums(answers, bootstrap.block, bootstrap.n_blocks)
    value = float(measure.value(sums.sum(axis=0, keepdims=True))[0])
    if np.isnan(value):
        _warn(f"{measure.name} is undefined: {measure.undefined}")
        between = Interval(np.nan, np.nan, "none: undefined")
    else:
        between = bootstrap.interval(sums, measure.value)
    return AgreementFigure(measure.name, value, between, n_items, measure.n_answers(answers))


def _warn(sentence: str) -> None:
    warnings.warn(sentence, SfumatoWarning, stacklevel=5)
