"""Findings: a published figure or sentence, and the result of the rerun. Every part of a paper returns these.

Also the columns of charts, made of rows of estimates.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.evaluation.paired_tests import t_interval
from sfumato.tables.bootstrap import Interval


@dataclass(frozen=True)
class Published:
    """A figure as it is printed: `0.596`, `84`, `511,400`. Its last digit is what can be compared with."""

    text: str
    unit: str = ""

    def __post_init__(self) -> None:
        assert _NUMBER.fullmatch(self.text), f"{self.text!r} is no number as a paper prints one"

    @property
    def value(self) -> float:
        return float(self.text.replace(",", ""))

    @property
    def half_unit(self) -> float:
        """Half a unit of the last digit: numbers no further off round to what is printed."""
        digits, _, exponent = self.text.replace(",", "").lower().partition("e")
        return 0.5 * 10.0 ** (int(exponent or 0) - _places(digits))

    def less(self, other: Published) -> Published:
        """The difference of two printed figures, as precise as the less precise of them."""
        places = min(_places(self.text), _places(other.text))
        return Published(f"{self.value - other.value:.{places}f}", self.unit)

    def __str__(self) -> str:
        return f"{self.text}{self.unit}"


_NUMBER = re.compile(r"[+-]?(\d{1,3}(,\d{3})+|\d+)?(\.\d+)?(e[+-]?\d+)?", re.IGNORECASE)


def _places(text: str) -> int:
    return len(text.partition(".")[2])


LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """A figure with its interval; `covers` says what the interval is about (another training, other items).

    Without `covers` a figure is exact: it was counted or computed from the released data, and would come out again. One
    training has no interval, and `covers` says so; nothing is shown by it then.
    """

    value: float
    low: float = np.nan
    high: float = np.nan
    covers: str = ""

    @property
    def is_exact(self) -> bool:
        return not self.covers

    @property
    def leaves_out_0(self) -> bool:
        """Whether it is shown to differ from 0."""
        return self.value != 0 if self.is_exact else bool(self.low > 0 or self.high < 0)

    @property
    def is_below_0(self) -> bool:
        return self.leaves_out_0 and self.value < 0

    @property
    def is_above_0(self) -> bool:
        return self.leaves_out_0 and self.value > 0

    def holds(self, value: float, slack: float = 0.0) -> bool:
        """Whether the interval has `value` in it, or comes within `slack` of it."""
        return bool(self.low - slack <= value <= self.high + slack)

    def times(self, factor: float) -> Estimate:
        low, high = sorted((factor * self.low, factor * self.high))
        return Estimate(factor * self.value, low, high, self.covers)

    def signed(self, places: int = 3) -> str:
        """`-0.223 (-0.250 to -0.196)`."""
        return f"{self.value:+.{places}f} ({self.low:+.{places}f} to {self.high:+.{places}f})"

    @classmethod
    def within(cls, value: float, interval: Interval) -> Estimate:
        return cls(float(value), float(interval.low), float(interval.high), interval.kind)

    @classmethod
    def over_seeds(cls, values: Iterable[float]) -> Estimate:
        """The mean over trainings, with the t interval for another one."""
        found = np.asarray(list(values), np.float64)
        return cls.within(float(found.mean()), t_interval(found, LEVEL))

    @classmethod
    def paired(cls, one: Mapping[int, float], other: Mapping[int, float]) -> Estimate:
        """The mean of `one` less `other` over the seeds that both have, with the t interval for another training."""
        return cls.over_seeds(one[seed] - other[seed] for seed in sorted(one.keys() & other.keys()))


def in_words(found: Mapping[str, Estimate], *, percent: bool = False, between: str = ", ") -> str:
    """Every estimate with its name: `LeNet -0.223 (-0.250 to -0.196), ...`; with `percent`, in points."""
    factor, places = (100, 1) if percent else (1, 3)
    return between.join(f"{name} {each.times(factor).signed(places)}" for name, each in found.items())


@dataclass(frozen=True)
class Change:
    """How a figure differs from that of a reference: as published, and as measured, paired where it can be."""

    reference: str
    """What it is measured from, by the name of its row."""
    published: Published
    ours: Estimate
    reference_value: Published | None = None
    """The reference's own figure as published, where there is one."""


@dataclass(frozen=True)
class Reference:
    """What the other rows of a table are measured from: its figure as published, and ours by seed."""

    name: str
    published: Published | None
    values: Mapping[int, float]


@dataclass(frozen=True)
class Finding:
    """One cell of a published table, next to ours. `ours` is None where `needs` names data that is not public."""

    row: str
    column: str
    published: Published | None
    ours: Estimate | None = None
    change: Change | None = None
    how: str = ""
    """The definition, where the paper's words leave it open; or what came out when it was read another way."""
    needs: str = ""
    places: int = 3
    """Decimals to show."""

    @classmethod
    def exact(
        cls,
        row: str,
        column: str,
        published: str | None,
        value: float,
        *,
        unit: str = "",
        places: int = 0,
        how: str = "",
    ) -> Finding:
        """A figure that was counted or computed from the released data; `published` as the paper prints it."""
        figure = None if published is None else Published(published, unit)
        return cls(row, column, figure, Estimate(float(value)), how=how, places=places)

    @classmethod
    def over_seeds(
        cls,
        row: str,
        column: str,
        published: Published | None,
        values: Mapping[int, float],
        *,
        reference: Reference | None = None,
        how: str = "",
        places: int = 3,
    ) -> Finding:
        """The mean over trainings, by seed; its change from a reference that was trained with the same seeds."""
        change = None
        if reference is not None and published is not None and reference.published is not None:
            ours = Estimate.paired(values, reference.values)
            change = Change(reference.name, published.less(reference.published), ours, reference.published)
        return cls(row, column, published, Estimate.over_seeds(values.values()), change, how, places=places)


@dataclass(frozen=True)
class Statement:
    """Something a paper says without a figure, and whether it holds here. `holds` is computed, never written."""

    row: str
    says: str
    holds: bool = False
    ours: str = ""
    """The figures that decide it."""
    how: str = ""
    needs: str = ""

    @classmethod
    def all_below_0(
        cls, row: str, says: str, found: Mapping[str, Estimate], how: str = "", *, between: str = ", "
    ) -> Statement:
        """Holds where every one of the estimates is shown to be below 0."""
        return cls(row, says, all(each.is_below_0 for each in found.values()), in_words(found, between=between), how)


def chart_columns(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> dict[str, list[Any]]:
    """The values of `rows` by column. An estimate fills three columns: its own, `low` and `high`."""
    columns: dict[str, list[Any]] = {}
    for row in rows:
        for name, value in zip(names, row, strict=True):
            if isinstance(value, Estimate):
                columns.setdefault(name, []).append(value.value)
                columns.setdefault("low", []).append(value.low)
                columns.setdefault("high", []).append(value.high)
            else:
                columns.setdefault(name, []).append(value)
    return columns


def with_intervals(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> dict[str, Any]:
    """The columns of a chart whose rows have an estimate each, and which of them are the ends of its interval."""
    return {"data": chart_columns(names, rows), "low": "low", "high": "high"}
