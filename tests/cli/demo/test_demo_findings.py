"""What the findings say follows from the tables: a difference is one only where its interval leaves out 0."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sfumato.cli.demo.demo_findings import DemoFigure, comparison, mean_of, number_text


def row(metric: str, difference: float, low: float, high: float) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "target": ["soft", "shuffled"], "baseline": ["hard", "hard"], "metric": [metric, metric],
            "condition": ["all", "all"], "difference": [difference, 9.0], "low": [low, 8.0],
            "high": [high, 10.0],
        }
    )  # fmt: skip


@pytest.mark.parametrize(
    ("metric", "figures", "said"),
    [
        (
            "cross_entropy",
            (-0.12, -0.16, -0.08),
            "soft is better than hard in cross-entropy by 0.12 nats (0.08 to 0.16)",
        ),
        ("cross_entropy", (0.12, 0.08, 0.16), "soft is worse than hard in cross-entropy by 0.12 nats (0.08 to 0.16)"),
        (
            "accuracy",
            (0.003, -0.003, 0.009),
            "no evidence of a difference in accuracy between soft and hard (95% CI -0.30 to +0.90 points)",
        ),
        ("accuracy", (0.066, 0.001, 0.13), "soft is better than hard in accuracy by 6.60 points (0.10 to 13.0)"),
        ("accuracy", (-0.066, -0.13, -0.001), "soft is worse than hard in accuracy by 6.60 points (0.10 to 13.0)"),
    ],
)
def test_a_comparison_in_words(metric: str, figures: tuple[float, float, float], said: str) -> None:
    assert comparison(row(metric, *figures), "soft", metric, "all").startswith(said)


def test_a_difference_that_was_not_tested() -> None:
    table = row("ece", 0.06, np.nan, np.nan)
    said = "no test of the difference in expected calibration error between soft and hard"
    assert comparison(table, "soft", "ece", "all") == said


def test_an_interval_over_items_is_as_wide_as_theory_has_it() -> None:
    values = np.random.default_rng(1).exponential(size=400)
    figure = mean_of(values)
    half = 1.96 * values.std() / np.sqrt(len(values))
    assert figure.value == pytest.approx(values.mean())
    assert figure.high - figure.low == pytest.approx(2 * half, rel=0.1)


def test_numbers_are_short() -> None:
    assert [number_text(each) for each in (0.123, -0.5, 3.456, 86.11, 0.0)] == ["0.12", "-0.50", "3.46", "86.1", "0.00"]
    assert str(DemoFigure(2.0, 1.5, np.inf)) == "2.00 (1.50 or more)"
    assert "no interval" in str(mean_of(np.ones(20)))
