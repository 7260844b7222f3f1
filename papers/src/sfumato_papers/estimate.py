"""Estimate: a figure of ours, with what it may vary by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.evaluation.paired_tests import t_interval
from sfumato.tables.bootstrap import Interval

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

    def holds(self, value: float, slack: float = 0.0) -> bool:
        """Whether the interval has `value` in it, or comes within `slack` of it."""
        return bool(self.low - slack <= value <= self.high + slack)

    @classmethod
    def within(cls, value: float, interval: Interval) -> Estimate:
        return cls(float(value), float(interval.low), float(interval.high), interval.kind)

    @classmethod
    def over_seeds(cls, values: Sequence[float], *, level: float = LEVEL) -> Estimate:
        """The mean over trainings, with the t interval for another one."""
        found = np.asarray(values, np.float64)
        return cls.within(float(found.mean()), t_interval(found, level))
