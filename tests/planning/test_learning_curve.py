"""Learning curves whose truth is known."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sfumato.planning.learning_curve import fit_learning_curve, read_runs
from sfumato.tables.errors import SfumatoError, SfumatoWarning

SIZES = np.repeat([1, 2, 4, 8, 16], 4)
SEEDS = np.tile(np.arange(4), 5)


def truth(m: object, c: float = 0.7) -> np.ndarray:
    return 0.3 + 0.5 * np.asarray(m, float) ** -c


def test_without_noise_the_curve_is_found() -> None:
    curve = fit_learning_curve(SIZES, truth(SIZES, 1.0), fixed=True)
    assert np.allclose(curve.best, (0.3, 0.5, 1.0))
    assert np.isclose(curve.at(40).value, truth(40, 1.0))
    free = fit_learning_curve(SIZES, truth(SIZES)).best
    assert np.allclose(free, (0.3, 0.5, 0.7), atol=0.02)


@pytest.mark.parametrize(("of_seed", "seeds"), [(0.0, None), (0.01, SEEDS)])
def test_intervals_hold_what_they_promise(of_seed: float, seeds: np.ndarray | None) -> None:
    rng = np.random.default_rng(0)
    held, held_run, n = 0, 0, 30
    for _ in range(n):
        level = rng.normal(0, of_seed, 4)
        curve = fit_learning_curve(SIZES, truth(SIZES) + level[SEEDS] + rng.normal(0, 0.01, len(SIZES)), seeds)
        found = curve.at(40)
        held += found.low <= truth(40) <= found.high
        held_run += found.run_low <= truth(40) + rng.normal(0, np.hypot(0.01, of_seed)) <= found.run_high
    # 30 intervals of 95%: below 24 would happen in one of 3,000.
    assert held >= 24
    assert held_run >= 24


def test_intervals_widen_outwards() -> None:
    curve = fit_learning_curve(SIZES, truth(SIZES) + np.random.default_rng(1).normal(0, 0.01, len(SIZES)))
    near, out = curve.at(8), curve.at(48)
    assert out.high - out.low > near.high - near.low
    assert near.run_low < near.low < near.value < near.high < near.run_high


def test_far_is_warned_of_and_too_far_refused() -> None:
    curve = fit_learning_curve(SIZES, truth(SIZES))
    with pytest.warns(SfumatoWarning, match="times the most of any run"):
        curve.at(100)
    with pytest.raises(SfumatoError) as caught:
        curve.at(161)
    assert caught.value.code == "too-far"


def test_from_a_table(tmp_path: object) -> None:
    frame = pl.DataFrame({"n_answers": SIZES, "value": truth(SIZES), "seed": SEEDS})
    frame.write_csv(tmp_path / "runs.csv")
    assert np.allclose(read_runs(tmp_path / "runs.csv").best, read_runs(frame).best)


@pytest.mark.parametrize(
    ("m", "y", "code"),
    [
        ([1, 2, 1, 2], [1, 2, 3, 4], "too-few-runs"),
        ([1, 2, 3], [1, 2, 3], "too-few-runs"),
        ([1, 2], [1], "bad-runs"),
        ([0, 1, 2, 3], [1, 2, 3, 4], "bad-runs"),
        ([1, 2, 3, 4], [1, 2, 3, np.nan], "bad-runs"),
        ([], [], "too-few-runs"),
    ],
)
def test_bad_runs(m: list, y: list, code: str) -> None:
    with pytest.raises(SfumatoError) as caught:
        fit_learning_curve(m, y)
    assert caught.value.code == code
