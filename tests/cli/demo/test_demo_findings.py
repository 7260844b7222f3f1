"""What the findings say follows from the tables: a difference is one only where its interval leaves out 0."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sfumato.cli.demo.demo_findings import DemoFigure, compared, mean_of, shown


def row(metric: str, difference: float, low: float, high: float) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "target": ["soft", "shuffled"], "baseline": ["hard", "hard"], "metric": [metric, metric],
            "condition": ["all", "all"], "difference": [difference, 9.0], "both_low": [low, 8.0],
            "both_high": [high, 10.0],
        }
    )  # fmt: skip


@pytest.mark.parametrize(
    ("metric", "figures", "said"),
    [
        ("cross_entropy", (-0.12, -0.16, -0.08), "soft beat hard by .12 nats (.08 to .16) in cross-entropy against"),
        ("cross_entropy", (0.12, 0.08, 0.16), "soft lost to hard by .12 nats (.08 to .16) in cross-entropy against"),
        ("accuracy", (0.003, -0.003, 0.009), "soft and hard cannot be told apart in accuracy: -.30 to +.90 points"),
        ("accuracy", (0.066, 0.001, 0.13), "soft beat hard by 6.60 points (.10 to 13.0) in accuracy"),
        ("accuracy", (-0.066, -0.13, -0.001), "soft lost to hard by 6.60 points (.10 to 13.0) in accuracy"),
    ],
)
def test_a_comparison_in_words(metric: str, figures: tuple[float, float, float], said: str) -> None:
    assert compared(row(metric, *figures), "soft", metric, "all").startswith(said)


def test_where_items_have_no_interval_seeds_have_to_do() -> None:
    table = row("ece", 0.06, np.nan, np.nan).with_columns(low=pl.lit(0.05), high=pl.lit(0.07))
    said = "soft lost to hard by .06 (.05 to .07) in expected calibration error (interval over seeds alone)"
    assert compared(table, "soft", "ece", "all") == said


def test_an_interval_over_items_is_as_wide_as_theory_has_it() -> None:
    values = np.random.default_rng(1).exponential(size=400)
    figure = mean_of(values)
    half = 1.96 * values.std() / np.sqrt(len(values))
    assert figure.value == pytest.approx(values.mean())
    assert figure.high - figure.low == pytest.approx(2 * half, rel=0.1)


def test_numbers_are_short() -> None:
    assert [shown(each) for each in (0.123, -0.5, 3.456, 86.11, 0.0)] == [".12", "-.50", "3.46", "86.1", ".00"]
    assert str(DemoFigure(2.0, 1.5, np.inf)) == "2.00 (1.50 or more)"
    assert "no interval" in str(mean_of(np.ones(20)))
