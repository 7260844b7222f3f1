"""Metrics against other libraries, plain definitions and arithmetic by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.spatial.distance
import scipy.special
import scipy.stats
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.evaluation import Estimate, MatchedLabels, metric_from_name
from sfumato.evaluation.metric import missing_input
from sfumato.evaluation.metrics import (
    AURC,
    ECE,
    JSD,
    METRICS,
    EntropySpearman,
    RMSCalibration,
    SecondBestAccuracy,
    Wasserstein,
)
from sfumato.evaluation.metrics.confidence_bins import on_grid, smoothed, trapezoid
from sfumato.evaluation.metrics.smooth_ece import FINE
from sfumato.evaluation.rank_correlation import Ranked
from sfumato.tables.bootstrap import Bootstrap
from sfumato.tables.errors import BadSetting


def beside(predicted: Any, people: Any, **more: Any) -> MatchedLabels:
    p, q = np.asarray(predicted, float), np.asarray(people, float)
    names = pa.array([str(i) for i in range(len(p))])
    return MatchedLabels(names, tuple("abcdefghij"[: p.shape[1]]), p, q, **more)


def estimate(metric: Any, matched: MatchedLabels, draws: int = 100) -> Estimate:
    bootstrap = Bootstrap.of(len(matched), level=0.95, draws=draws, rng=np.random.default_rng(0))
    return metric.estimate(matched, bootstrap)


def value(name: str, matched: MatchedLabels, **with_settings: object) -> float:
    return estimate(metric_from_name(name, with_settings), matched).value


def crowd(n: int, seed: int = 0, n_classes: int = 5) -> MatchedLabels:
    rng = np.random.default_rng(seed)
    people = rng.multinomial(50, rng.dirichlet(np.full(n_classes, 0.4), n)) / 50
    predicted = 0.6 * people + 0.4 * rng.dirichlet(np.full(n_classes, 0.4), n)
    return beside(predicted, people, n_annotators=np.full(n, 50), original=rng.integers(n_classes, size=n))


CROWD = crowd(400)
HAND = beside([[0.7, 0.2, 0.1], [0.4, 0.5, 0.1]], [[0.6, 0.4, 0.0], [0.5, 0.3, 0.2]])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("accuracy", 0.5),  # a = a, b != a
        ("expected_accuracy", (0.6 + 0.3) / 2),
        ("brier", (0.01 + 0.04 + 0.01 + 0.01 + 0.04 + 0.01) / 2),
        ("total_variation", (0.2 + 0.2) / 2),
        ("cross_entropy", -(0.6 * np.log(0.7) + 0.4 * np.log(0.2) + 0.5 * np.log(0.4) + 0.3 * np.log(0.5)
                            + 0.2 * np.log(0.1)) / 2),
        ("second_best_accuracy", 0.5),  # b = b; a != b
        ("second_choice_log_odds", (np.log(0.2 / 0.8) + np.log(0.5 / 0.5)) / 2),
        ("overconfidence", (0.7 + 0.5) / 2 - 0.5),
        ("confidence_when_right", 0.7),
        ("confidence_when_wrong", 0.5),
        ("aurc", (0 / 1 + 1 / 2) / 2),  # the surer one is right
        ("excess_aurc", 0.0),
        ("failure_auroc", 1.0),
        ("ece", (0.3 + 0.5) / 2),
    ],
)  # fmt: skip
def test_by_hand(name: str, expected: float) -> None:
    assert value(name, HAND) == pytest.approx(expected, abs=1e-12)


def test_wasserstein_by_hand_and_only_when_classes_are_ordered() -> None:
    # Cumulated: .7 .9 against .6 1 and .4 .9 against .5 .8: .1 + .1 and .1 + .1 steps.
    assert value("wasserstein", HAND, ordered=True) == pytest.approx(0.2, abs=1e-12)
    assert "order" in missing_input(Wasserstein(), HAND)
    expected = np.mean(
        [
            scipy.stats.wasserstein_distance(range(5), range(5), p, q)
            for p, q in zip(CROWD.predicted, CROWD.people, strict=True)
        ]
    )
    assert value("wasserstein", CROWD, ordered=True) == pytest.approx(expected, abs=1e-10)


def test_divergences_are_those_of_scipy_and_torch() -> None:
    p, q = CROWD.predicted, CROWD.people
    distance = scipy.spatial.distance.jensenshannon(p, q, axis=1)
    assert value("js_distance", CROWD) == pytest.approx(distance.mean(), abs=1e-10)
    assert value("jsd", CROWD) == pytest.approx((distance**2).mean(), abs=1e-10)
    assert value("jsd", CROWD, base="bits") == pytest.approx((distance**2).mean() / np.log(2), abs=1e-10)
    assert value("kl_divergence", CROWD) == pytest.approx(scipy.stats.entropy(q, p, axis=1).mean(), abs=1e-10)
    logits, people = torch.tensor(np.log(p)), torch.tensor(q)
    assert value("cross_entropy", CROWD) == pytest.approx(
        float(torch.nn.functional.cross_entropy(logits, people)), abs=1e-10
    )
    assert value("kl_divergence", CROWD) == pytest.approx(
        float(torch.nn.functional.kl_div(logits, people, reduction="batchmean")), abs=1e-10
    )
    assert JSD().bounds == (0, 1)


def test_correlations_are_those_of_scipy() -> None:
    x, y = scipy.stats.entropy(CROWD.predicted, axis=1), scipy.stats.entropy(CROWD.people, axis=1)
    assert value("entropy_pearson", CROWD) == pytest.approx(scipy.stats.pearsonr(x, y).statistic, abs=1e-10)
    expected = scipy.stats.spearmanr(x.round(12), y.round(12)).statistic
    assert value("entropy_spearman", CROWD) == pytest.approx(expected, abs=1e-10)
    assert value("entropy_difference", CROWD, entropy="plug-in") == pytest.approx((x - y).mean(), abs=1e-10)


def test_calibration_is_that_of_torchmetrics() -> None:
    from torchmetrics.functional.classification import multiclass_calibration_error

    target = torch.tensor(CROWD.people.argmax(axis=1))
    clear = crowd(400)
    only = np.flatnonzero(clear.people_first.sum(axis=1) == 1)
    clear = clear.take(only)
    found = multiclass_calibration_error(
        torch.tensor(clear.predicted), target[torch.tensor(only)], num_classes=5, n_bins=15, norm="l1"
    )
    assert value("ece", clear) == pytest.approx(float(found), abs=1e-6)


def test_smooth_ece_is_the_direct_sum_and_that_of_relplot() -> None:
    relplot = pytest.importorskip("relplot")
    rng = np.random.default_rng(1)
    c = rng.uniform(0.3, 0.95, 800)
    r = (rng.random(800) < c**2).astype(float)
    matched = beside(np.column_stack([c, 1 - c]), np.eye(2)[(1 - r).astype(int)])
    sure, right = matched.confidence, matched.right
    width = value("smooth_ece", matched)
    t, total = np.linspace(0, 1, 2001), np.zeros(2001)
    for image in (sure, -sure, 2 - sure):
        kernel = np.exp(-((t[:, None] - image) ** 2) / (2 * width**2)) / (width * np.sqrt(2 * np.pi))
        total += kernel @ (sure - right) / 800
    # Two further images lie more than five widths away.
    assert np.trapezoid(np.abs(total), t) == pytest.approx(width, abs=1e-6)
    assert width == pytest.approx(relplot.smECE(sure, right), abs=1e-3)
    grid = on_grid(sure, sure - right, FINE) / 800
    for fixed in (0.02, 0.05, 0.2):
        ours = trapezoid(FINE) @ np.abs(smoothed(grid, fixed))
        assert ours == pytest.approx(relplot.smECE_sigma(sure, right, fixed), rel=5e-3)


def hendrycks(confidence: list[float], right: list[bool], size: int, *, drop_last: bool) -> float:
    """The published definition, in loops."""
    order = list(np.argsort(np.array(confidence)))
    n = len(order)
    edges = [[i * size, (i + 1) * size] for i in range(n // size)]
    edges[-1][1] = n
    total = 0.0
    for start, stop in edges[: len(edges) - drop_last]:
        rows = order[start:stop]
        sure = sum(confidence[i] for i in rows) / len(rows)
        correct = sum(right[i] for i in rows) / len(rows)
        total += len(rows) / n * (sure - correct) ** 2
    return total**0.5


def second_best(predicted: list[list[float]], people: list[list[float]]) -> float:
    """The published definition, in loops: of tied classes the one with the highest index is the larger."""
    agree = 0
    for p, q in zip(predicted, people, strict=True):
        second = [sorted(range(len(row)), key=lambda k: (row[k], k))[-2] for row in (p, q)]
        agree += second[0] == second[1]
    return agree / len(predicted)


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(12, 60), size=st.integers(2, 6), rounded=st.booleans())
@settings(max_examples=60, deadline=None)
def test_published_forms_are_their_plain_definitions(seed: int, n: int, size: int, rounded: bool) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 3, (2, n, 4)) + np.array([1, 0])[rng.integers(0, 2, (2, n, 4))]
    counts[..., 0] += counts.sum(axis=2) == 0
    p, q = counts / counts.sum(axis=2, keepdims=True)
    if not rounded:
        p = rng.dirichlet(np.ones(4), n)
    matched = beside(p, q)
    right = (p.argmax(axis=1) == q.argmax(axis=1)).tolist()
    sure = p.max(axis=1).tolist()
    published = hendrycks(sure, right, size, drop_last=True)
    assert estimate(RMSCalibration(size, "published"), matched).value == pytest.approx(published, abs=1e-10)
    assert value("second_best_accuracy", matched, ties="published") == second_best(p.tolist(), q.tolist())
    if not rounded and (matched.people_first.sum(axis=1) == 1).all():
        whole = hendrycks(sure, right, size, drop_last=False)
        assert estimate(RMSCalibration(size), matched).value == pytest.approx(whole, abs=1e-10)


def test_equal_confidences_are_binned_in_every_order() -> None:
    """Four items of equal confidence, two right, in bins of two: the mean square over all orders, by listing them."""
    from itertools import permutations

    right = [1, 1, 0, 0, 1, 0]
    sure = [0.8] * 4 + [0.9] * 2
    p = [[c, 1 - c] for c in sure]
    matched = beside(p, [[1, 0] if r else [0, 1] for r in right])
    squares, debiased = [], []
    for order in permutations(range(4)):
        rows = [*order, 4, 5]
        accuracy = [(right[rows[b]] + right[rows[b + 1]]) / 2 for b in (0, 2, 4)]
        gaps = [(c - a) ** 2 for c, a in zip((0.8, 0.8, 0.9), accuracy, strict=True)]
        squares.append(np.mean(gaps))
        debiased.append(np.mean([g - a * (1 - a) for g, a in zip(gaps, accuracy, strict=True)]))
    assert estimate(RMSCalibration(2), matched).value == pytest.approx(np.sqrt(np.mean(squares)), abs=1e-12)
    found = estimate(RMSCalibration(2, "debiased"), matched).value
    assert found == pytest.approx(np.sqrt(max(np.mean(debiased), 0)), abs=1e-12)


def test_equal_confidences_are_selected_in_every_order() -> None:
    """.9 right; two of .8, one wrong: risks 0, then 0 or 1/2, then 1/3; the mean is (0 + 1/4 + 1/3) / 3."""
    matched = beside([[0.9, 0.1], [0.8, 0.2], [0.8, 0.2]], [[1, 0], [1, 0], [0, 1]])
    found = estimate(AURC(), matched)
    assert found.value == pytest.approx((0 + 1 / 4 + 1 / 3) / 3, abs=1e-12)
    assert found.floor == pytest.approx((0 + 0 + 1 / 3) / 3, abs=1e-12)
    # Pairs of right and wrong: .9 > .8 and .8 = .8.
    assert value("failure_auroc", matched) == pytest.approx((1 + 0.5) / 2, abs=1e-12)


def test_parts_of_the_brier_score_add_up() -> None:
    parts = value("brier_calibration", CROWD) + value("brier_refinement", CROWD)
    assert parts == pytest.approx(value("brier", CROWD), abs=1e-12)
    # One bin a class: what is left is the variance of p - q.
    miss = CROWD.predicted - CROWD.people
    assert value("brier_refinement", CROWD, bins=1) == pytest.approx(miss.var(axis=0).sum(), abs=1e-12)


def test_second_choices_when_there_are_several() -> None:
    p = [[0.6, 0.3, 0.1]] * 4
    q = [[0.6, 0.4, 0.0], [1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.6, 0.0, 0.4]]
    matched = beside(p, q)
    unique = estimate(SecondBestAccuracy(), matched)
    assert (unique.value, unique.n_items) == (0.5, 2)
    # Nobody's second: either of the last two; tied firsts: either of them may be second.
    assert (estimate(SecondBestAccuracy("credit"), matched).value, 4) == (0.75, 4)
    # By index: b, c, a and c are second.
    assert estimate(SecondBestAccuracy("published"), matched).value == 0.25


def test_a_tie_counts_by_its_share() -> None:
    matched = beside([[0.5, 0.5, 0.0], [1, 0, 0]], [[1, 0, 0], [0.4, 0.4, 0.2]], original=np.array([2, 0]))
    assert value("accuracy", matched) == 0.5
    assert value("accuracy_original", matched) == 0.5


def test_what_is_impossible_and_happened_is_infinite() -> None:
    matched = beside([[1, 0], [0.5, 0.5]], [[0.5, 0.5], [1, 0]])
    for name in ("cross_entropy", "kl_divergence"):
        found = estimate(metric_from_name(name), matched)
        assert found.value == np.inf
        assert found.interval.kind == "none: infinite for some items"


def test_what_is_undefined_is_nan_and_says_why() -> None:
    sure = beside([[0.9, 0.1]] * 4, [[1, 0]] * 4)
    for name in ("entropy_pearson", "entropy_spearman", "confidence_when_wrong", "failure_auroc"):
        found = estimate(metric_from_name(name), sure)
        assert np.isnan(found.value)
        assert found.interval.kind.startswith("none: ")
    assert np.isnan(estimate(RMSCalibration(100, "published"), CROWD.take(np.arange(150))).value)


def test_an_ece_confidence_of_1_is_in_the_last_bin_and_edges_belong_below() -> None:
    # .6 is an edge of 15 bins: with .55 in one bin (.533, .6], gaps +.6 and -.45 cancel out to .15.
    matched = beside([[0.6, 0.4], [0.55, 0.45], [1, 0]], [[0, 1], [1, 0], [1, 0]])
    assert value("ece", matched) == pytest.approx(0.15 / 3, abs=1e-12)
    assert value("ece", matched, bins=1) == pytest.approx(abs(2.15 - 2) / 3, abs=1e-12)


def calibrated(n: int, rng: np.random.Generator, low: float = 0.6) -> MatchedLabels:
    c = rng.uniform(low, 1, n)
    right = rng.random(n) < c
    return beside(np.column_stack([c, 1 - c]), np.eye(2)[(~right).astype(int)])


@pytest.mark.parametrize(("n", "size", "published"), [(3000, 100, 0.040), (100, 10, 0.124)])
def test_rms_floor_at_a_confidence_of_80_percent(n: int, size: int, published: float) -> None:
    """sqrt(.8 x .2 / 100) = .04 and sqrt(.8 x .2 / 10) = .126, times the mean root of a chi-squared over its degrees of
    freedom, 30 and 10: .992 and .975."""
    floor = estimate(RMSCalibration(size), beside([[0.8, 0.2]] * n, [[1, 0]] * n)).floor
    b = n // size
    root = np.sqrt(2 / b) * np.exp(scipy.special.gammaln((b + 1) / 2) - scipy.special.gammaln(b / 2))
    assert floor == pytest.approx(np.sqrt(0.16 / size) * root, rel=3e-3)
    assert floor == pytest.approx(published, abs=0.001)


@pytest.mark.parametrize(
    "metric", [ECE(), RMSCalibration(20), metric_from_name("smooth_ece")], ids=lambda each: each.name
)
def test_a_calibrated_model_scores_the_floor_on_average(metric: Any) -> None:
    rng = np.random.default_rng(3)
    found = [estimate(metric, calibrated(200, rng)) for _ in range(20)]
    values = np.array([each.value for each in found])
    assert values.mean() == pytest.approx(np.mean([each.floor for each in found]), rel=0.15)


@pytest.mark.parametrize("name", ["kl_divergence", "brier", "jsd", "total_variation"])
def test_the_floor_of_a_divergence_is_what_the_crowd_itself_would_get(name: str) -> None:
    rng = np.random.default_rng(4)
    crowd = CROWD.people / CROWD.people.sum(axis=1, keepdims=True)
    votes = [rng.multinomial(8, crowd) / 8 for _ in range(30)]
    people = votes[0]
    floors = [
        estimate(metric_from_name(name), beside(crowd, each, n_annotators=np.full(400, 8))).floor for each in votes
    ]
    drawn = [value(name, beside(crowd, each, n_annotators=np.full(400, 8))) for each in votes]
    # KL needs the probabilities of classes that nobody chose, which votes do not identify.
    within = 0.12 if name == "kl_divergence" else 0.05
    assert np.mean(floors) == pytest.approx(np.mean(drawn), rel=within)
    assert np.isnan(estimate(metric_from_name(name), beside(people, people)).floor)
    assert np.isnan(estimate(metric_from_name(name), beside(people, people, n_annotators=np.full(400, 7))).floor)


def test_influence_values_are_derivatives() -> None:
    """Weighing one item a little more moves the figure by its influence."""
    small = crowd(60, seed=9)
    twice = small.take(np.repeat(np.arange(60), 400))
    for seed, name in enumerate(("aurc", "failure_auroc", "entropy_spearman")):
        row = int(np.random.default_rng(seed).integers(60))
        more = twice.take(np.concatenate([np.arange(len(twice)), [row * 400] * 10]))
        step = 10 / len(more)
        slope = (value(name, more) - value(name, twice)) / step
        assert slope == pytest.approx(_influence(name, small)[row], abs=0.05 * abs(slope) + 0.02)


def _influence(name: str, matched: MatchedLabels) -> np.ndarray:
    """As the metric hands them to the bootstrap."""
    caught: list[np.ndarray] = []

    class Catching(Bootstrap):
        def sums(self, *values: Any) -> Any:
            caught.append(values[0])
            return super().sums(*values)

    n = len(matched)
    base = Bootstrap.of(n, level=0.95, draws=100, rng=np.random.default_rng(0))
    metric = metric_from_name(name)
    metric.estimate(matched, Catching(base.block, base.n_blocks, base.times_drawn, base.level))
    scale = 1 - metric.estimate(matched, base).value ** 2 if isinstance(metric, EntropySpearman) else 1.0
    return caught[0] * scale


def test_ranks_share_ties() -> None:
    assert (Ranked.of(np.array([3.0, 1.0, 3.0, 2.0])).rank * 4 + 2).tolist() == [3.0, 0.5, 3.0, 1.5]


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("jsd", {"base": "dits"}), ("rms_calibration", {"form": "some"}), ("rms_calibration", {"size": 1}),
     ("second_best_accuracy", {"ties": "none"}), ("ece", {"bins": 0})],
)  # fmt: skip
def test_settings_are_checked(name: str, wrong: dict[str, object]) -> None:
    with pytest.raises(BadSetting):
        metric_from_name(name, wrong)


COVERED = ("accuracy", "cross_entropy", "jsd", "entropy_spearman", "ece", "rms_calibration", "aurc")


def test_intervals_hold_the_figure_of_many_items_about_as_often_as_they_say() -> None:
    """95% +- four standard errors of a share of 60, and a little for 400 items being few;
    `bench/evaluate_coverage.py` does it at length and for all."""
    asked = [metric_from_name(name, {"size": 20} if name == "rms_calibration" else {}) for name in COVERED]
    many = crowd(40_000, seed=100)
    truth = [
        estimate(RMSCalibration(100, "debiased") if isinstance(each, RMSCalibration) else each, many).value
        for each in asked
    ]
    held = np.zeros(len(asked))
    for study in range(60):
        matched = crowd(400, seed=1000 + study)
        for i, metric in enumerate(asked):
            between = estimate(metric, matched, 200).interval
            held[i] += between.low <= truth[i] <= between.high
    assert (held / 60 > 0.83).all(), dict(zip(COVERED, held / 60, strict=True))


def test_every_metric_has_a_name_and_a_docstring_of_its_own() -> None:
    for member in METRICS:
        assert member.__module__.startswith("sfumato.evaluation.metrics.")
        assert member.__doc__
    assert len({member.name for member in METRICS}) == len({member.__doc__ for member in METRICS}) == len(METRICS)
