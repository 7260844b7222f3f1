"""Numbers, intervals, names and comparisons as text, the same in every section of a report."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, final

import numpy as np
from jaxtyping import Float
from scipy.special import bdtr, bdtrik

from sfumato.tables.scores import Difference

if TYPE_CHECKING:
    from sfumato.tables.mean_doubt import MeanDoubt, MeanFigure

WORDS = {
    "accuracy": "accuracy",
    "accuracy_original": "accuracy against the original label",
    "second_best_accuracy": "accuracy of the second choice",
    "cross_entropy": "cross-entropy",
    "kl_divergence": "KL divergence",
    "brier": "Brier score",
    "ece": "expected calibration error",
    "rms_calibration": "RMS calibration error",
    "aurc": "area under risk and coverage",
    "dissent_pearson": "correlation of model and human uncertainty",
    "entropy_pearson": "correlation of entropies",
}
"""The names of metrics in a report."""
AT_LARGE, THESE_PEOPLE = "for people at large", "for these people"
"""Which people an interval is for: it is over people too, or the crowd is taken as fixed."""
JOIN = "\u00a0"
"""A no-break space."""


def metric_title(metric: str) -> str:
    return WORDS.get(metric, metric.replace("_", " "))


def capitalized(text: str) -> str:
    """The text with its first letter in upper case; the others stay as they are."""
    return f"{text[:1].upper()}{text[1:]}"


def number_text(value: float, *, signed: bool = False) -> str:
    """A number with three decimals and a true minus sign; with `signed`, a plus sign too."""
    text = f"{value:+.3f}" if signed else f"{value:.3f}"
    return text.replace("-", "−")


def p_text(value: float) -> str:
    """A p value with three decimals."""
    return f"<{JOIN}0.001" if value < 0.001 else f"{value:.3f}"


def interval_text(low: float, high: float, *, signed: bool = False) -> str:
    """Both ends of an interval; a dash if there is none."""
    if low != low or high != high:
        return "–"
    return f"{number_text(low, signed=signed)}{JOIN}to{JOIN}{number_text(high, signed=signed)}"


def covered_text(difference: Difference) -> str:
    """What the interval of a difference covers, and for which people: `4 seeds and 40 items; for these people`."""
    names = [counted(difference.n_items, "item")]
    if difference.n_seeds > 1:
        names.insert(0, counted(difference.n_seeds, "seed"))
    if difference.se_people == difference.se_people:
        names.append("people")
    elif difference.n_seeds == 1:
        names[-1] += ", one prediction each"
    joined = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return f"{joined}; {AT_LARGE if difference.se_people == difference.se_people else THESE_PEOPLE}"


def result_text(difference: Difference) -> str:
    """The result of the test, the same in every section: `better`, `worse` or `differs`; or no evidence of a
    difference, with the smallest difference that would have been found."""
    if difference.verdict:
        return difference.verdict
    if not difference.is_tested:
        return f"not tested: {difference.covers.removeprefix('none: ')}"
    return f"no evidence of a difference (detectable: {detectable_text(difference)})"


def detectable_text(difference: Difference) -> str:
    """The smallest difference that would have been found, with two digits."""
    return f"{difference.detectable:.2g}"


def values_text(difference: Difference, level: float) -> str:
    """`0.300 and 0.410, difference −0.110 (95% CI −0.150 to −0.070; 4 seeds and 40 items)`."""
    both = f"{number_text(difference.value)} and {number_text(difference.baseline_value)}"
    interval = f"{level:.0%} CI {interval_text(difference.low, difference.high, signed=True)}"
    known = f"not tested: {difference.covers.removeprefix('none: ')}"
    known = f"{interval}; {covered_text(difference)}" if difference.is_tested else known
    return f"{both}, difference{JOIN}{number_text(difference.difference, signed=True)} ({known})"


def comparison_sentence(difference: Difference, level: float, where: str = "") -> str:
    """Two targets compared by one metric; `where` states a subset of items or a condition."""
    metric, both = metric_title(difference.metric), f"`{difference.target}` and `{difference.baseline}`{where}"
    no_evidence = difference.is_tested and not difference.verdict
    start = f"No evidence of a difference in {metric} between" if no_evidence else f"{capitalized(metric)} of"
    end = (
        f" A difference of {detectable_text(difference)} would have been found with a probability of 80%."
        if no_evidence
        else ""
    )
    return f"{start} {both}: {values_text(difference, level)}.{end}"


LONGEST_NAME = 28
DIRECTIONS = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
"""Characters that change the writing direction; in a name they would also reverse the sentence around it."""


def shorten(text: str, most: int = LONGEST_NAME) -> str:
    """The text without direction characters, cut with an ellipsis if it is long."""
    plain = "".join(each for each in text if unicodedata.bidirectional(each) not in DIRECTIONS)
    return plain if len(plain) <= most else f"{plain[: most - 1].rstrip()}…"


def short_names(names: Sequence[str], most: int = LONGEST_NAME) -> list[str]:
    """Names short enough for an axis; names that would be equal when cut get a number."""
    short = [shorten(name, most) for name in names]
    return [name if short.count(name) == 1 else f"{shorten(name, most - 4)} {i + 1}" for i, name in enumerate(short)]


def counted(n: int, what: str) -> str:
    """`1 item`, `2,000 items`."""
    return f"{n:,} {what}{'s' * (n != 1)}"


LEVEL = 0.95
SHARE = (0.0, 1.0)
POSITIVE = (0.0, math.inf)
"""Bounds of means: of shares and distances, and of times."""


@final
@dataclass(frozen=True)
class DisplayedEstimate:
    """A value and its 95% interval, NaN if unknown; `n` is the number of observations."""

    value: float
    low: float
    high: float
    n: int

    def percent(self, decimals: int | None = None) -> str:
        """`1.2% (0.9% to 1.6%)`."""
        known = 1 if self.low != self.low else _places(100 * (self.high - self.low))
        places = known if decimals is None else decimals
        return self._with_interval(lambda value: f"{100 * value:.{places}f}%")

    def text(self, decimals: int | None = None, unit: str = "") -> str:
        """`0.32 (0.29 to 0.35)`, with as many decimals as the width of the interval suggests."""
        places = _places(self.high - self.low) if decimals is None else decimals
        return self._with_interval(lambda value: f"{value:,.{places}f}", unit)

    def interval(self, decimals: int) -> str:
        """`0.29 to 0.35`; empty if there is no interval."""
        return f"{self.low:.{decimals}f} to {self.high:.{decimals}f}" if self.low == self.low else ""

    def _with_interval(self, shown: Callable[[float], str], unit: str = "") -> str:
        if self.value != self.value:
            return "unknown"
        interval = f" ({shown(self.low)} to {shown(self.high)})" if self.low == self.low else ""
        return shown(self.value) + (f" {unit}" if unit else "") + interval


def mean_figure(found: MeanFigure, n: int) -> DisplayedEstimate:
    """A mean over `n` items with the interval that it has."""
    return DisplayedEstimate(found.value, found.interval.low, found.interval.high, n)


NOT_IDENTIFIABLE = "No item has answers of two annotators: how much people disagree is not identifiable."


def for_whom(found: MeanDoubt) -> str:
    """Which people the intervals are for."""
    return THESE_PEOPLE if found.is_crowd_fixed else AT_LARGE


def dissent_sentence(found: MeanDoubt, note: str = "") -> str:
    """`Two people give different answers in 14% of cases (95% CI 10% to 19%).`, or of draws from their beliefs; `note`
    stands after the interval."""
    if found.dissent is None:
        return NOT_IDENTIFIABLE
    share = mean_figure(found.dissent, found.n_measured)
    value, _, interval = share.percent().partition(" (")
    after = f"; {note}" if note else ""
    between = f" ({100 * found.level:g}% CI {interval.removesuffix(')')}{after})" if interval else ""
    differ = "Two people give different answers" if found.within is None else "Draws from two people's beliefs differ"
    return f"{differ} in {value} of cases{between}."


def intervals_sentence(found: MeanDoubt) -> str:
    """What the intervals are over: `Intervals are over people and items.`"""
    return f"Intervals are {found.over}."


def doubt_lines(found: MeanDoubt) -> list[str]:
    """The mean figures, and what their intervals cover: what `sfumato doubt` and `print(sf.mean_doubt(...))` show."""

    def shown(figure: MeanFigure, *, nats: bool = False) -> str:
        estimate = mean_figure(figure, found.n_items)
        return estimate.text(unit="nats") if nats else estimate.percent()

    only = f", {found.n_measured:,} with at least two annotators" if 0 < found.n_measured < found.n_items else ""
    lines = [f"{counted(found.n_items, 'item')}{only}. {dissent_sentence(found)}"]
    if found.within is not None:
        text = f"Within annotators (two draws from one belief differ): {shown(found.within)}"
        rest = "" if found.between is None else f"; between annotators (the rest): {shown(found.between)}"
        lines.append(f"{text}{rest}.")
    if found.entropy is not None:
        total, within, between = found.entropy.total, found.entropy.within, found.entropy.between
        lines.append(f"Mean entropy: {shown(total, nats=True)}; {found.entropy.method}, model-based.")
        if within is not None and between is not None:
            both = f"within annotators {shown(within, nats=True)}, between annotators {shown(between, nats=True)}"
            lines.append(f"Of this, {both}.")
    return [*lines, intervals_sentence(found)] if found.dissent is not None or found.within is not None else lines


def share_of(n: int, of: int) -> DisplayedEstimate:
    """The share `n / of` with Wilson's score interval."""
    if not of:
        return DisplayedEstimate(np.nan, np.nan, np.nan, 0)
    low, high = _wilson(n / of, of)
    return DisplayedEstimate(n / of, 0.0 if n == 0 else low, 1.0 if n == of else high, of)


def mean_of(values: Float[np.ndarray, "values"], bounds: tuple[float, float]) -> DisplayedEstimate:
    """The mean with an interval within `bounds`, the smallest and largest possible value; none for fewer than two.

    Wilson's interval for the share of the way between the bounds, with the number of values that would give the
    observed standard error (as Franco et al. 2019 do for shares in surveys). It is the normal interval if the mean is
    far from both bounds. Without an upper bound, the normal interval of the logarithm of the mean.
    """
    n = len(values)
    if not n:
        return DisplayedEstimate(np.nan, np.nan, np.nan, 0)
    mean, (least, most) = float(values.mean()), bounds
    if n < 2:
        return DisplayedEstimate(mean, np.nan, np.nan, n)
    # Without Bessel's correction, so that a mean of zeros and ones has the interval of a share.
    error = float(values.std()) / math.sqrt(n)
    if math.isinf(most):
        if mean - least <= 0:
            return DisplayedEstimate(mean, np.nan, np.nan, n)
        factor = math.exp(min(NormalDist().inv_cdf((1 + LEVEL) / 2) * error / (mean - least), 700.0))
        return DisplayedEstimate(mean, least + (mean - least) / factor, least + (mean - least) * factor, n)
    width = most - least
    share = min(max((mean - least) / width, 0.0), 1.0)
    # Values that are all at a bound say as much as n answers of yes or no.
    at_bound = min(share, 1 - share) < 1e-12
    effective = n if at_bound else share * (1 - share) * (width / error) ** 2 if error > 1e-12 * width else math.inf
    low, high = _wilson(share, effective)
    return DisplayedEstimate(least + share * width, least + low * width, least + high * width, n)


def _wilson(share: float, n: float) -> tuple[float, float]:
    """Wilson's score interval (1927), which stays within 0 and 1 and works for small counts."""
    if math.isinf(n):
        return share, share
    z = NormalDist().inv_cdf((1 + LEVEL) / 2)
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    reach = z / (1 + z**2 / n) * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    # At the bounds and for very many values only rounding errors are cut.
    return min(max(middle - reach, 0.0), share), max(min(middle + reach, 1.0), share)


def median_of(values: Float[np.ndarray, "values"]) -> DisplayedEstimate:
    """The median with a distribution-free interval from order statistics, of at least 95%.

    No interval if there are too few values (Conover 1999, section 3.2).
    """
    n = len(values)
    if not n:
        return DisplayedEstimate(np.nan, np.nan, np.nan, 0)
    ordered = np.sort(values)
    below = _binomial_quantile((1 - LEVEL) / 2, n)
    low, high = (float(ordered[below - 1]), float(ordered[n - below])) if below >= 1 else (np.nan, np.nan)
    return DisplayedEstimate(float(np.median(ordered)), low, high, n)


def _binomial_quantile(share: float, n: int) -> int:
    """The smallest number of heads in `n` fair tosses that at least `share` of all series do not exceed."""
    most = math.ceil(float(bdtrik(share, n, 0.5)))
    return most - 1 if most > 0 and bdtr(most - 1, n, 0.5) >= share else most


def _places(width: float) -> int:
    """The decimals that show about two digits of an interval of this width."""
    if width != width or width <= 0:
        return 2
    return int(min(max(1 - np.floor(np.log10(width)), 0), 4))
