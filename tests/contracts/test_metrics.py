"""What every metric must do. One is tested by standing in `METRICS`; each contract rejects a wrong one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest

from sfumato.evaluation import METRICS, Better, Estimate, MatchedLabels, Metric
from sfumato.evaluation.metric import mean_over_items, missing_input
from sfumato.tables.bootstrap import Bootstrap, Interval

CLASSES = ("cat", "dog", "fox", "owl")
DIVERGENCES = ("kl_divergence", "brier", "brier_calibration", "brier_refinement", "jsd", "js_distance",
               "total_variation", "wasserstein")  # fmt: skip
PROPER = ("cross_entropy", "kl_divergence", "brier")


def crowd(n: int, *, seed: int, tied: bool) -> MatchedLabels:
    """Predictions and votes of ten people; `tied` rounds predictions, so that many are equal."""
    rng = np.random.default_rng(seed)
    people = rng.multinomial(10, rng.dirichlet(np.full(4, 0.6), n)) / 10
    predicted = 0.5 * people + 0.5 * rng.dirichlet(np.full(4, 0.6), n)
    if tied:
        predicted = np.floor(predicted * 4) + 0.5
    predicted /= predicted.sum(axis=1, keepdims=True)
    original = rng.integers(4, size=n)
    return MatchedLabels(pa.array([f"i{i}" for i in range(n)]), CLASSES, predicted, people, original, np.full(n, 10))


PLAIN, TIED = crowd(240, seed=1, tied=False), crowd(240, seed=2, tied=True)


def made(metric: Any) -> Metric:
    """The metric, told what it has to be told."""
    has = {field.name for field in fields(metric)}
    return metric(**({"ordered": True} if "ordered" in has else {}))


def estimate(metric: Metric, matched: MatchedLabels, seed: int = 0) -> Estimate:
    rng = np.random.default_rng(seed)
    return metric.estimate(matched, Bootstrap.of(len(matched), level=0.95, draws=200, rng=rng))


# The contracts.


def has_a_name_and_bounds(metric: Metric) -> None:
    assert isinstance(metric, Metric)
    assert metric.name == metric.name.lower()
    assert " " not in metric.name
    assert metric.better in Better
    for matched in (PLAIN, TIED):
        assert missing_input(metric, matched) == ""
        found = estimate(metric, matched)
        low, high = metric.bounds
        assert low <= found.value <= high
        assert 0 < found.n_items <= len(matched)
        assert np.isnan(found.floor) or low <= found.floor <= high


def minds_no_order_of_items(metric: Metric) -> None:
    for matched in (PLAIN, TIED):
        order = np.random.default_rng(5).permutation(len(matched))
        one, other = estimate(metric, matched), estimate(metric, matched.take(order))
        np.testing.assert_allclose([one.value, one.floor], [other.value, other.floor], rtol=0, atol=1e-12)
        assert one.n_items == other.n_items


def minds_no_order_of_classes(metric: Metric) -> None:
    order = np.array([2, 0, 3, 1])
    for matched in (PLAIN, TIED):
        assert matched.original is not None
        other = replace(
            matched, classes=tuple(CLASSES[k] for k in order), predicted=matched.predicted[:, order],
            people=matched.people[:, order], original=np.argsort(order)[matched.original],
        )  # fmt: skip
        one, found = estimate(metric, matched), estimate(metric, other)
        np.testing.assert_allclose([one.value, one.floor], [found.value, found.floor], rtol=0, atol=1e-12)


def gives_the_same_for_the_same_draws(metric: Metric) -> None:
    one, other = estimate(metric, PLAIN, 3), estimate(metric, replace(PLAIN), 3)
    assert one == other


def has_an_interval_or_says_why_not(metric: Metric) -> None:
    for matched in (PLAIN, TIED, PLAIN.take(np.arange(1)), PLAIN.take(np.zeros(40, int))):
        found = estimate(metric, matched)
        between = found.interval
        assert between.kind
        if np.isnan(between.low) or np.isnan(between.high):
            assert between.kind.startswith("none: ")
        else:
            assert "95%" in between.kind
            assert "over" in between.kind
            assert metric.bounds[0] <= between.low <= between.high <= metric.bounds[1]
            free = "itself" in between.kind or "bias removed" in between.kind
            assert free or between.low - 1e-12 <= found.value <= between.high + 1e-12
        if np.isnan(found.value):
            assert between.kind.startswith("none: ")


def leaves_what_it_was_given(metric: Metric) -> None:
    before = [np.array(each) for each in (PLAIN.predicted, PLAIN.people)]
    estimate(metric, PLAIN)
    assert all(np.array_equal(a, b) for a, b in zip(before, (PLAIN.predicted, PLAIN.people), strict=True))


CONTRACTS = (
    has_a_name_and_bounds,
    minds_no_order_of_items,
    minds_no_order_of_classes,
    gives_the_same_for_the_same_draws,
    has_an_interval_or_says_why_not,
    leaves_what_it_was_given,
)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract.__name__)
def test_contract(contract: Callable[..., None], metric: Any) -> None:
    if contract is minds_no_order_of_classes and metric.name == "wasserstein":
        pytest.skip("it is about the order of classes")
    contract(made(metric))


# Contracts of some.


def is_zero_between_equals(metric: Metric) -> None:
    same = replace(PLAIN, predicted=PLAIN.people)
    assert estimate(metric, same).value == pytest.approx(0, abs=1e-12)
    assert estimate(metric, PLAIN).value > 1e-3


@pytest.mark.parametrize("metric", [each for each in METRICS if each.name in DIVERGENCES], ids=lambda each: each.name)
def test_divergence_is_zero_between_equals(metric: Any) -> None:
    is_zero_between_equals(made(metric))


def is_lowest_at_the_truth(metric: Metric) -> None:
    """One-hot answers drawn from a known distribution: predicting it beats every other by more than chance."""
    rng = np.random.default_rng(8)
    n = 20_000
    truth = np.array([0.5, 0.3, 0.15, 0.05])
    people = np.eye(4)[rng.choice(4, n, p=truth)]
    matched = replace(PLAIN, items=pa.array(map(str, range(n))), people=people, original=None, n_annotators=None,
                       predicted=np.tile(truth, (n, 1)))  # fmt: skip
    best = estimate(metric, matched).value
    for other in ([0.6, 0.25, 0.1, 0.05], [0.4, 0.33, 0.2, 0.07], [0.25] * 4, [0.85, 0.05, 0.05, 0.05]):
        assert estimate(metric, replace(matched, predicted=np.tile(other, (n, 1)))).value > best


@pytest.mark.parametrize("metric", [each for each in METRICS if each.name in PROPER], ids=lambda each: each.name)
def test_proper_score_is_lowest_at_the_truth(metric: Any) -> None:
    is_lowest_at_the_truth(made(metric))


# Wrong metrics.


@dataclass(frozen=True)
class _Wrong:
    """The sound part of the wrong ones: total variation."""

    name: ClassVar[str] = "wrong"
    better: ClassVar[Better] = Better.LOW
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def values(self, matched: MatchedLabels) -> np.ndarray:
        return np.abs(matched.predicted - matched.people).sum(axis=1) / 2

    def estimate(self, matched: MatchedLabels, bootstrap: Bootstrap) -> Estimate:
        return mean_over_items(self.values(matched), bootstrap)


class LeavesItsBounds(_Wrong):
    bounds: ClassVar[tuple[float, float]] = (0.0, 0.01)


class MindsTheFirstItems(_Wrong):
    def values(self, matched: MatchedLabels) -> np.ndarray:
        return super().values(matched) * np.linspace(0, 1, len(matched))


class TakesTheFirstOfTiedClasses(_Wrong):
    def values(self, matched: MatchedLabels) -> np.ndarray:
        return (matched.predicted.argmax(axis=1) == matched.people.argmax(axis=1)).astype(float)


class DrawsOnItsOwn(_Wrong):
    def estimate(self, matched: MatchedLabels, bootstrap: Bootstrap) -> Estimate:
        return replace(super().estimate(matched, bootstrap), floor=float(np.random.default_rng().random()))


class SaysNothingOfItsInterval(_Wrong):
    def estimate(self, matched: MatchedLabels, bootstrap: Bootstrap) -> Estimate:
        return replace(super().estimate(matched, bootstrap), interval=Interval(np.nan, np.nan, ""))


class HasAnIntervalElsewhere(_Wrong):
    def estimate(self, matched: MatchedLabels, bootstrap: Bootstrap) -> Estimate:
        return replace(super().estimate(matched, bootstrap), interval=Interval(0.0, 0.001, "95% over items"))


class ChangesPredictions(_Wrong):
    def values(self, matched: MatchedLabels) -> np.ndarray:
        matched.predicted[0] += 1e-9
        return super().values(matched)


class KeepsADistance(_Wrong):
    def values(self, matched: MatchedLabels) -> np.ndarray:
        return super().values(matched) + 1e-6


@pytest.mark.parametrize(
    ("contract", "wrong"),
    [
        (has_a_name_and_bounds, LeavesItsBounds()),
        (minds_no_order_of_items, MindsTheFirstItems()),
        (minds_no_order_of_classes, TakesTheFirstOfTiedClasses()),
        (gives_the_same_for_the_same_draws, DrawsOnItsOwn()),
        (has_an_interval_or_says_why_not, SaysNothingOfItsInterval()),
        (has_an_interval_or_says_why_not, HasAnIntervalElsewhere()),
        (leaves_what_it_was_given, ChangesPredictions()),
        (is_zero_between_equals, KeepsADistance()),
        (is_lowest_at_the_truth, _Wrong()),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_contract_rejects_a_wrong_metric(contract: Callable[..., None], wrong: Any) -> None:
    before = PLAIN.predicted.copy()
    with pytest.raises(AssertionError):
        contract(wrong)
    PLAIN.predicted[:] = before


def test_every_contract_holds_for_the_sound_part_of_the_wrong_ones() -> None:
    for contract in (*CONTRACTS, is_zero_between_equals):
        contract(_Wrong())
