"""Learning curves: a downstream metric at more answers per item, extrapolated from runs with fewer; and exchange rates
from models trained on few and on many answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import stdtr

from sfumato.planning.exchange_rates import ExchangeRate, ExchangeRates, votes_worth
from sfumato.planning.goals import Goal
from sfumato.tables.columns import numbers
from sfumato.tables.errors import BadSetting, BadTable, listing, warn
from sfumato.tables.files.table_file import Rows, check_columns, read_rows
from sfumato.tables.growable_array import freeze
from sfumato.tables.setting_checks import above_0, between_0_and_1

EXPONENTS = np.geomspace(0.1, 3, 120)
FAR, TOO_FAR = 3.0, 10.0
"""A curve may be read up to 3 times the most answers of any run; up to 10 times with a warning."""
FEWEST_SIZES = 3


@dataclass(frozen=True)
class Predicted:
    """The metric at `n_answers`: the curve with its interval, and the prediction interval of one new run."""

    n_answers: float
    value: float
    low: float
    high: float
    run_low: float
    run_high: float


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """`a + b M^-c`, fitted to runs with M answers per item; `c` is the exponent, `a` the limit.

    For every exponent on a grid (or only for 1, the law of an estimate's variance) a and b follow by least squares, and
    an exponent is weighted by its profile likelihood, `RSS(c)^(-(n - 2) / 2)`. Predictions are a mixture of Student's t
    distributions around these lines, so uncertainty about the exponent widens the interval. No interval covers a curve
    that changes its shape.

    Give the seeds if runs share them: each seed's level is then estimated, and its variance is part of the prediction
    for a new run. On 200 simulated curves each (5 sizes, 4 seeds) 95% intervals covered the truth 90 to 98% of the
    time, within the runs and up to 6 times beyond; down to 80% when seeds mattered and were not given. (Cortes et al.
    1994, *Learning curves*; Viering and Loog 2023, *The shape of learning curves*, on when not to trust them.)
    """

    n_answers: Float[np.ndarray, "runs"]
    value: Float[np.ndarray, "runs"]
    exponents: Float[np.ndarray, "exponents"]
    weight: Float[np.ndarray, "exponents"]
    coefficients: Float[np.ndarray, "exponents 2"]
    covariance: Float[np.ndarray, "exponents 2 2"]
    variance: Float[np.ndarray, "exponents"]
    seed_variance: float
    n_seeds: int
    freedom: int

    def __post_init__(self) -> None:
        freeze(self, "n_answers", "value")

    @property
    def best(self) -> tuple[float, float, float]:
        """a, b and c of the most likely curve."""
        i = int(np.argmax(self.weight))
        return float(self.coefficients[i, 0]), float(self.coefficients[i, 1]), float(self.exponents[i])

    def at(self, n_answers: float, level: float = 0.95) -> Predicted:
        """The metric at `n_answers` answers per item; beyond 3 times those of any run a warning, beyond 10 an error."""
        above_0("n_answers", n_answers)
        between_0_and_1("level", level)
        reach = n_answers / float(self.n_answers.max())
        if reach > TOO_FAR:
            raise BadSetting(
                f"n_answers = {n_answers:g}, {reach:.0f} times the most of any run",
                f"at most {TOO_FAR * self.n_answers.max():g}, {TOO_FAR:g} times the most",
                "run with more answers first: this far out, the result depends on the shape of the curve",
                "too-far",
            )
        if reach > FAR:
            warn(
                f"{n_answers:g} answers are {reach:.1f} times the most of any run: the interval is valid only if the "
                "curve keeps its shape"
            )
        row = np.stack([np.ones(len(self.exponents)), n_answers**-self.exponents], axis=1)
        mean = (row * self.coefficients).sum(axis=1)
        of_curve = np.einsum("ei,eij,ej->e", row, self.covariance, row) + self.seed_variance / max(self.n_seeds, 1)
        of_run = of_curve + self.variance + self.seed_variance
        tails = ((1 - level) / 2, (1 + level) / 2)
        low, high = (self._quantile(mean, of_curve, tail) for tail in tails)
        run_low, run_high = (self._quantile(mean, of_run, tail) for tail in tails)
        return Predicted(n_answers, float(self.weight @ mean), low, high, run_low, run_high)

    def _quantile(
        self, mean: Float[np.ndarray, "exponents"], variance: Float[np.ndarray, "exponents"], tail: float
    ) -> float:
        """A quantile of the mixture of Student's t distributions, by bisection."""
        error = np.sqrt(np.maximum(variance, 1e-300))
        low, high = float((mean - 1e3 * error).min()), float((mean + 1e3 * error).max())
        for _ in range(80):
            middle = (low + high) / 2
            below = float(self.weight @ stdtr(self.freedom, (middle - mean) / error))
            low, high = (middle, high) if below < tail else (low, middle)
        return (low + high) / 2


def fit_learning_curve(
    n_answers: Sequence[float] | np.ndarray,
    value: Sequence[float] | np.ndarray,
    seed: Sequence[Any] | np.ndarray | None = None,
    *,
    fixed: bool = False,
) -> LearningCurve:
    """The curve through runs: answers per item, metric, and optionally the seed of each run.

    With `fixed` the curve is `a + b / M`: prefer it with only three sizes, or if theory says so.
    """
    m, y = np.asarray(n_answers, np.float64), np.asarray(value, np.float64)
    if not (m.ndim == 1 and m.shape == y.shape and np.isfinite(y).all() and np.isfinite(m).all() and (m > 0).all()):
        raise BadTable(
            f"{len(m)} numbers of answers and {len(y)} values",
            "equally many of both, all finite, answers above 0",
            "give one row per run",
            "bad-runs",
        )
    exponents = np.ones(1) if fixed else EXPONENTS
    codes = np.unique(np.asarray(seed), return_inverse=True)[1] if seed is not None else np.zeros(len(m), np.int64)
    n_seeds = int(codes.max(initial=0)) + 1
    # The level of a seed can be separated from the curve only if each seed ran at several sizes.
    apart = n_seeds > 1 and len(np.unique(np.stack([codes.astype(np.float64), m]), axis=1).T) >= 2 * n_seeds
    freedom = len(m) - 2 - (n_seeds - 1 if apart else 0) - (0 if fixed else 1)
    if len(np.unique(m)) < FEWEST_SIZES or freedom < 1:
        raise BadTable(
            f"{len(m)} runs with {len(np.unique(m))} different numbers of answers",
            f"at least {FEWEST_SIZES} different ones, and more runs than parameters",
            "run with more numbers of answers, or with more seeds",
            "too-few-runs",
        )
    level_of = np.eye(n_seeds)[codes] if apart else np.ones((len(m), 1))
    coefficients, covariance = np.empty((len(exponents), 2)), np.empty((len(exponents), 2, 2))
    rss, of_seeds = np.empty(len(exponents)), np.empty(len(exponents))
    average = np.ones(level_of.shape[1]) / level_of.shape[1]
    for i, c in enumerate(exponents):
        design = np.column_stack([level_of, m**-c])
        inverse = np.linalg.pinv(design.T @ design)
        solved = inverse @ design.T @ y
        rss[i] = ((y - design @ solved) ** 2).sum()
        onto = np.zeros((2, len(solved)))
        onto[0, :-1], onto[1, -1] = average, 1
        coefficients[i], covariance[i] = onto @ solved, onto @ inverse @ onto.T
        noise = rss[i] / freedom * len(average) / len(m)
        of_seeds[i] = max(solved[:-1].var(ddof=1) - noise, 0.0) if apart else 0.0
    rss = np.maximum(rss, 1e-24 * max(float(y @ y), 1e-300))
    log_weight = -(freedom + 1) / 2 * np.log(rss)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    variance = rss / freedom
    return LearningCurve(
        m, y, exponents, weight, coefficients, covariance * variance[:, None, None], variance,
        float(weight @ of_seeds), n_seeds if apart else 0, freedom,
    )  # fmt: skip


def read_runs(source: str | Path | Any, *, fixed: bool = False) -> LearningCurve:
    """The curve through a table of runs (a file, or any Arrow object): `n_answers, value[, seed]`."""
    return fit_learning_curve(*_read(source, ("n_answers", "value")).get("", ([], [], None)), fixed=fixed)


POINTS = 30


def exchange_from_runs(source: str | Path | Any, *, hard: str = "choice") -> dict[str, ExchangeRates]:
    """What answers of each kind are worth for calibration, from a table of runs: `kind, n_answers, value[, seed]`.

    `value` is the metric, such as a calibration error; whether smaller is better follows from the curve of the hard
    votes. A learning curve is fitted to each kind; the result is the number of votes with the same value as each number
    of rich answers, up to 3 times the most votes of any run. The interval combines the worst of one curve with the best
    of the other: it is wider than 95%, and covered the truth in 59 of 60 simulated comparisons.
    """
    by_kind = _read(source, ("kind", "n_answers", "value"))
    if hard not in by_kind or len(by_kind) < 2:
        raise BadTable(
            f"runs with labels of {listing(list(by_kind)) or 'no kind'}",
            f"runs with hard votes, of kind {hard}, and with another kind",
            f"train models on hard votes too, and name their kind {hard}",
            "bad-runs",
        )
    curves = {kind: fit_learning_curve(*runs) for kind, runs in by_kind.items()}
    votes = curves.pop(hard)
    steps = np.geomspace(votes.n_answers.min(), FAR * votes.n_answers.max(), POINTS)
    middle, low, high = _values(votes, steps)
    sign = -1.0 if middle[-1] < middle[0] else 1.0
    # With this sign more is better, and the worst of a curve is its lower end.
    worst, best = np.sort(sign * np.stack([low, high]), axis=0)
    result = {}
    for kind, curve in curves.items():
        n_answers = np.unique(curve.n_answers)
        value, below, above = _values(curve, n_answers)
        least, most = np.sort(sign * np.stack([below, above]), axis=0)
        worth = votes_worth(steps, sign * middle[None], sign * value[None])[0]
        fewest = votes_worth(steps, best[None], least[None])[0]
        greatest = votes_worth(steps, worst[None], most[None])[0]
        result[kind] = ExchangeRates(
            tuple(
                ExchangeRate(
                    kind, Goal.CALIBRATION, "the metric of the runs", round(float(m)), float(worth[i]),
                    float(fewest[i]), float(greatest[i]), int(steps[-1]), len(curve.value), "measured in runs",
                )
                for i, m in enumerate(n_answers)
            )
        )  # fmt: skip
    return result


def _read(source: Any, columns: tuple[str, ...]) -> dict[str, tuple[list[float], list[float], list[str] | None]]:
    """The numbers of answers, values and seeds of each kind's runs; without a column `kind`, under an empty name."""
    rows = read_rows(source) if isinstance(source, (str, Path)) else Rows.of(source)
    check_columns(rows, columns)
    runs: dict[str, list[tuple[float, float, str]]] = {}
    start, seeded = 0, False
    for chunk in rows.chunks:
        m, y = (numbers(rows, name, chunk.column(name), start).tolist() for name in ("n_answers", "value"))
        seeded = "seed" in chunk.column_names
        kinds = chunk.column("kind").to_pylist() if "kind" in columns else [""] * len(chunk)
        seeds = chunk.column("seed").to_pylist() if seeded else [None] * len(chunk)
        for kind, *run in zip(map(str, kinds), m, y, map(str, seeds), strict=True):
            runs.setdefault(kind, []).append((run[0], run[1], run[2]))
        start += len(chunk)
    return {
        kind: ([m for m, _, _ in some], [y for _, y, _ in some], [s for _, _, s in some] if seeded else None)
        for kind, some in runs.items()
    }


def _values(curve: LearningCurve, n_answers: Float[np.ndarray, "steps"]) -> Float[np.ndarray, "3 steps"]:
    """The curve, and the ends of its interval."""
    found = [curve.at(float(m)) for m in np.minimum(n_answers, FAR * curve.n_answers.max())]
    return np.array([[each.value, each.low, each.high] for each in found]).T
