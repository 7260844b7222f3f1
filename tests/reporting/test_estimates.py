"""Estimates against SciPy and against published tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, norm

from sfumato.reporting.phrases import POSITIVE, SHARE, DisplayedEstimate, mean_of, median_of, share_of


@pytest.mark.parametrize(("n", "of"), [(0, 10), (1, 3), (5, 10), (77, 10_000), (10, 10)])
def test_shares_have_wilsons_interval(n: int, of: int) -> None:
    expected = binomtest(n, of).proportion_ci(0.95, method="wilson")
    found = share_of(n, of)
    assert (found.value, found.n) == (n / of, of)
    assert [found.low, found.high] == pytest.approx([expected.low, expected.high], abs=1e-12)


def test_means_far_from_their_bounds_have_the_normal_interval() -> None:
    values = np.random.default_rng(0).beta(8, 6, 4000) * 3
    low, high = norm.interval(0.95, values.mean(), values.std() / np.sqrt(4000))
    found = mean_of(values, (0.0, 3.0))
    assert [found.value, found.low, found.high] == pytest.approx([values.mean(), low, high], abs=1e-4)


@pytest.mark.parametrize(("n", "of"), [(0, 10), (1, 3), (5, 10), (10, 10)])
def test_a_mean_of_zeros_and_ones_is_a_share(n: int, of: int) -> None:
    expected = binomtest(n, of).proportion_ci(0.95, method="wilson")
    found = mean_of(np.repeat([1.0, 0.0], [n, of - n]), SHARE)
    assert [found.value, found.low, found.high] == pytest.approx([n / of, expected.low, expected.high], abs=1e-12)


def test_times_have_the_normal_interval_of_the_logarithm() -> None:
    values = np.random.default_rng(0).gamma(2, 1, 400)
    mean, error = values.mean(), values.std() / 20
    found = mean_of(values, POSITIVE)
    assert [found.low, found.high] == pytest.approx(np.exp(norm.interval(0.95, np.log(mean), error / mean)))


@given(st.lists(st.floats(0, 1), min_size=2, max_size=30), st.sampled_from([1.0, 0.6931, 2.3]))
@settings(max_examples=60)
def test_intervals_of_means_stay_within_their_bounds(shares: list[float], most: float) -> None:
    found = mean_of(most * np.array(shares), (0.0, most))
    assert 0 <= found.low <= found.value <= found.high <= most + 1e-12
    positive = mean_of(most * np.array(shares), POSITIVE)
    assert np.isnan(positive.low) or 0 <= positive.low <= positive.value <= positive.high


@pytest.mark.parametrize(("n", "low", "high"), [(6, 1, 6), (10, 2, 9), (20, 6, 15), (100, 40, 61)])
def test_medians_lie_between_the_order_statistics_of_the_tables(n: int, low: int, high: int) -> None:
    found = median_of(np.arange(n, 0, -1.0))
    assert (found.low, found.high, found.value) == (low, high, (n + 1) / 2)


def test_of_few_there_is_no_interval() -> None:
    assert np.isnan(median_of(np.arange(5.0)).low)
    assert mean_of(np.array([3.0]), POSITIVE).text() == "3.00"
    assert share_of(0, 0).percent() == median_of(np.empty(0)).text() == "unknown"


def test_numbers_are_said_as_exactly_as_they_are_known() -> None:
    assert share_of(77, 10_000).percent() == "0.77% (0.62% to 0.96%)"
    assert share_of(5, 10).percent() == "50% (24% to 76%)"
    assert DisplayedEstimate(1234.5, 1200.0, 1290.0, 9).text(unit="s") == "1,234 s (1,200 to 1,290)"
    assert DisplayedEstimate(0.5, 0.5, 0.5, 9).text(1, "s") == "0.5 s (0.5 to 0.5)"
