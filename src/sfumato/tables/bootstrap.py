"""Bootstrap over items for values that are functions of sums over items.

Items are grouped in blocks (one item each if there are few), blocks are drawn with replacement, and the value is
computed from the sums of each draw: the cost is blocks x draws, independent of what is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from jaxtyping import Float, Int, UInt16

from sfumato.tables.errors import BadSetting
from sfumato.tables.setting_checks import between_0_and_1

MOST_BLOCKS = 10_000
"""More blocks would change little: the error of an interval's width is under 1% with 10,000 blocks, and about 3% with
1,000 draws."""
FEWEST_BLOCKS = 100
FEWEST_DRAWS = 100
NUMBERS_AT_ONCE = 2**24
ADDED = 4
"""Items of average spread that are added to each standard error."""


Sums = Float[np.ndarray, "blocks sums"]
Statistic = Callable[[Float[np.ndarray, "draws sums"]], Float[np.ndarray, "draws"]]
"""Computes a value from sums over all items, one draw per row."""


@dataclass(frozen=True)
class Interval:
    """A confidence interval; `kind` says how it was computed, or why there is none (then both ends are NaN)."""

    low: float
    high: float
    kind: str

    def within(self, bounds: tuple[float, float]) -> Interval:
        """The same interval, cut at the smallest and the largest possible value."""
        low, high = np.clip((self.low, self.high), *bounds)
        return Interval(float(low), float(high), self.kind)


@dataclass(frozen=True, eq=False)
class BootstrapResult:
    """The interval and the draws of one value."""

    interval: Interval
    draws: Float[np.ndarray, "draws"]
    """The value in every draw, NaN if it is undefined."""


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Draws of items with replacement, the same for every value, so that values are paired."""

    block: Int[np.ndarray, "items"]
    """The block of every item: its own, or a random one; sizes differ by at most one."""
    n_blocks: int
    times_drawn: UInt16[np.ndarray, "draws blocks"]
    level: float

    @classmethod
    def of(cls, n_items: int, *, level: float, draws: int, rng: np.random.Generator, n_sums: int = 1) -> Bootstrap:
        """`draws` draws of `n_items` items; fewer blocks if many sums per item would need too much memory."""
        check_resampling(level, draws)
        n_blocks = min(n_items, MOST_BLOCKS, max(FEWEST_BLOCKS, NUMBERS_AT_ONCE // n_sums))
        block = np.arange(n_items) if n_items == n_blocks else rng.permutation(n_items) % n_blocks
        times_drawn = np.empty((draws, n_blocks), np.uint16)
        at_once = max(1, NUMBERS_AT_ONCE // 8 // max(n_blocks, 1))
        for start in range(0, draws, at_once):
            n = min(at_once, draws - start)
            drawn = rng.integers(0, n_blocks, (n, n_blocks)) + n_blocks * np.arange(n)[:, None]
            counts = np.bincount(drawn.ravel(), minlength=n * n_blocks)
            times_drawn[start : start + n] = counts.reshape(n, n_blocks)
        return cls(block, n_blocks, times_drawn, level)

    @property
    def n_items(self) -> int:
        return len(self.block)

    @property
    def draws(self) -> int:
        return len(self.times_drawn)

    @property
    def tails(self) -> tuple[float, float]:
        """The quantiles of the interval: 0.025 and 0.975 at a level of 0.95."""
        return (1 - self.level) / 2, (1 + self.level) / 2

    @property
    def over(self) -> str:
        """What is drawn, as text."""
        return "items" if self.n_blocks == self.n_items else f"{self.n_blocks:,} random groups of items"

    @property
    def normal_quantile(self) -> float:
        """The standard errors on each side of a normal interval: 1.96 at a level of 0.95."""
        return NormalDist().inv_cdf(self.tails[1])

    def normals(self, n: int) -> Float[np.ndarray, "draws n"]:
        """`n` standard normal numbers per draw, the same for the same draws."""
        return np.random.default_rng(self.times_drawn[0]).standard_normal((self.draws, n))

    def sums(self, *values: Float[np.ndarray, "items"]) -> Sums:
        """The sums of each of `values` in every block."""
        return np.stack([np.bincount(self.block, weights=each, minlength=self.n_blocks) for each in values], axis=1)

    def drawn(self, sums: Sums, value: Statistic) -> Float[np.ndarray, "draws"]:
        """The value in every draw; `value` computes it from sums over all items, one draw per row."""
        return np.concatenate([value(totals) for totals in self._totals(sums)])

    def interval(self, sums: Sums, value: Statistic) -> Interval:
        """The percentile bootstrap interval of the function `value` of the sums."""
        return self.resampled(sums, value).interval

    def resampled(self, sums: Sums, value: Statistic) -> BootstrapResult:
        """Percentile bootstrap (Efron and Tibshirani 1993).

        Draws with an undefined value are left out and counted in `kind`. If every draw gives the same value there is
        no interval: the bootstrap cannot estimate variation that does not occur in the sample.
        """
        draws = self.drawn(sums, value)
        if self.n_items < 2:
            return BootstrapResult(Interval(np.nan, np.nan, "none: only one item"), draws)
        defined = draws[~np.isnan(draws)]
        # Sums over the same items in another order differ in the last digits.
        if not len(defined) or np.ptp(defined) < 1e-12:
            return BootstrapResult(Interval(np.nan, np.nan, "none: every resample gives the same"), draws)
        low, high = np.quantile(defined, self.tails)
        n_left_out = len(draws) - len(defined)
        left_out = f", {n_left_out:,} of them undefined and left out" if n_left_out else ""
        kind = f"{100 * self.level:g}% percentile bootstrap over {self.over}, {self.draws:,} resamples{left_out}"
        return BootstrapResult(Interval(float(low), float(high), kind), draws)

    def resampled_ratio(self, sums: Float[np.ndarray, "blocks 2"]) -> BootstrapResult:
        """The first sum divided by the second, with the bootstrap-t interval (Hall 1992), which stays accurate if few
        items have most of the weight.

        Each draw gives its error in units of its own standard error. That would be infinite for a draw of equal items
        (39 of 40 correct, and the wrong one not drawn), so four items of average spread are added to every standard
        error, as Agresti & Coull (1998) add four to a proportion.
        """
        above, below = sums.T
        squares = np.stack([above, below, above**2, above * below, below**2], axis=1)
        whole = squares.sum(axis=0, keepdims=True)
        added = ADDED * float(_spread(whole)[0]) / self.n_blocks
        figure, error = _ratio_and_error(whole, added)
        draws, errors = _ratio_and_error(np.concatenate([*self._totals(squares)]), added)
        if self.n_items < 2:
            return BootstrapResult(Interval(np.nan, np.nan, "none: only one item"), draws)
        # Sums over the same items in another order differ in the last digits.
        if not error[0] > 1e-13 * max(1.0, abs(figure[0])):
            return BootstrapResult(Interval(np.nan, np.nan, "none: every resample gives the same"), draws)
        t = ((draws - figure) / errors)[~np.isnan(draws)]
        low, high = figure[0] - np.quantile(t, self.tails[::-1]) * error[0]
        kind = f"{100 * self.level:g}% bootstrap of t over {self.over}, {self.draws:,} resamples"
        return BootstrapResult(Interval(float(low), float(high), kind), draws)

    def _totals(self, sums: Sums) -> Iterator[Float[np.ndarray, "some_draws sums"]]:
        """The sums over the items of every draw, in parts."""
        at_once = max(1, NUMBERS_AT_ONCE // 8 // max(sums.shape))
        for start in range(0, self.draws, at_once):
            yield self.times_drawn[start : start + at_once].astype(np.float64) @ sums


def _ratio_and_error(
    totals: Float[np.ndarray, "draws 5"], added: float
) -> tuple[Float[np.ndarray, "draws"], Float[np.ndarray, "draws"]]:
    """A ratio of two sums and its standard error, from sums of `a`, `b`, `a^2`, `a b` and `b^2`."""
    a, b = totals[:, 0], totals[:, 1]
    some = b > 0
    figure = np.divide(a, b, out=np.full(len(a), np.nan), where=some)
    return figure, np.divide(np.sqrt(_spread(totals) + added), b, out=np.full(len(a), np.nan), where=some)


def _spread(totals: Float[np.ndarray, "draws 5"]) -> Float[np.ndarray, "draws"]:
    """The sum of squares of `a - r b`, r being the ratio of the sums of `a` and `b`."""
    a, b, aa, ab, bb = totals.T
    r = np.divide(a, b, out=np.full(len(a), np.nan), where=b > 0)
    left = np.maximum(aa - 2 * r * ab + r**2 * bb, 0.0)
    # Rounding errors of items that are all equal.
    return np.where(left <= 1e-13 * np.maximum(aa, r**2 * bb), 0.0, left)


def check_resampling(level: float, draws: int) -> None:
    """Raise unless the level and the number of draws allow an interval."""
    between_0_and_1("level", level)
    if draws < FEWEST_DRAWS:
        raise BadSetting(f"resamples = {draws}", f"at least {FEWEST_DRAWS}", "choose more resamples")
