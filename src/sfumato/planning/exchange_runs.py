"""Exchange from runs: what answers are worth to a model, from models trained on few and on many of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from sfumato.planning.exchange import votes_worth
from sfumato.planning.exchange_rates import ExchangeRate, ExchangeRates
from sfumato.planning.goals import Goal
from sfumato.planning.learning_curve import FAR, LearningCurve, fit_learning_curve
from sfumato.tables.columns import check_columns, numbers
from sfumato.tables.errors import BadTable, listing
from sfumato.tables.files import Rows, read_rows

POINTS = 30


def exchange_from_runs(source: str | Path | Any, *, hard: str = "choice") -> dict[str, ExchangeRates]:
    """What answers of each kind are worth for calibration, from a table of runs: `kind, n_answers, value[, seed]`.

    `value` is what the models were trained to be good at, a calibration error for one; whether less of it is better is
    told by the curve of the hard votes, which more of them must improve. A learning curve is fitted to each kind, and
    the votes are found that reach what each number of rich answers reached, up to 3 times the most votes of any run.
    The interval joins the worst of one curve with the best of the other: it is wider than 95%, and held the truth
    in 59 of 60 simulated comparisons.
    """
    by_kind = _by_kind(read_rows(source) if isinstance(source, (str, Path)) else Rows.of(source))
    if hard not in by_kind or len(by_kind) < 2:
        raise BadTable(
            f"found runs with labels of {listing(list(by_kind)) or 'no kind'}",
            expected=f"runs with hard votes, of kind {hard}, and with another kind",
            fix=f"train models on hard votes too, and call their kind {hard}",
            code="bad-runs",
        )
    curves = {kind: fit_learning_curve(*runs) for kind, runs in by_kind.items()}
    votes = curves.pop(hard)
    steps = np.geomspace(votes.n_answers.min(), FAR * votes.n_answers.max(), POINTS)
    middle, low, high = _read(votes, steps)
    sign = -1.0 if middle[-1] < middle[0] else 1.0
    # Turned so that more is better: then the worst of a curve is its lower end.
    worst, best = np.sort(sign * np.stack([low, high]), axis=0)
    result = {}
    for kind, curve in curves.items():
        n_answers = np.unique(curve.n_answers)
        value, below, above = _read(curve, n_answers)
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


def _by_kind(rows: Rows) -> dict[str, tuple[list[float], list[float], list[str] | None]]:
    """The numbers of answers, values and seeds of each kind's runs."""
    check_columns(rows, ("kind", "n_answers", "value"))
    runs: dict[str, list[tuple[float, float, str]]] = {}
    start, seeded = 0, False
    for chunk in rows.chunks:
        m = numbers(rows, "n_answers", chunk.column("n_answers"), start)
        y = numbers(rows, "value", chunk.column("value"), start)
        seeded = "seed" in chunk.column_names
        seeds = chunk.column("seed").to_pylist() if seeded else [None] * len(chunk)
        for kind, *run in zip(chunk.column("kind").to_pylist(), m.tolist(), y.tolist(), map(str, seeds), strict=True):
            runs.setdefault(str(kind), []).append((run[0], run[1], run[2]))
        start += len(chunk)
    return {
        kind: ([m for m, _, _ in some], [y for _, y, _ in some], [s for _, _, s in some] if seeded else None)
        for kind, some in runs.items()
    }


def _read(curve: LearningCurve, n_answers: Float[np.ndarray, "steps"]) -> Float[np.ndarray, "3 steps"]:
    """The curve, and the ends of its interval."""
    found = [curve.at(float(m)) for m in np.minimum(n_answers, FAR * curve.n_answers.max())]
    return np.array([[each.value, each.low, each.high] for each in found]).T
