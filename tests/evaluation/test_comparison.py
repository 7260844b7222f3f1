"""Comparing: paired statistics against SciPy, hand arithmetic and simulation."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
import trained
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sfumato.evaluation import RunPredictions, compare_runs, measure_runs, metric_from_name, scores_over_seeds
from sfumato.evaluation.metrics import Brier, CrossEntropy
from sfumato.evaluation.paired_tests import (
    both_interval,
    corrected,
    d_z,
    items_interval,
    paired_t,
    probability_of_improvement,
    t_interval,
    wilcoxon,
)
from sfumato.tables.errors import BadSetting, BadTable, SfumatoWarning, UnknownName
from sfumato.tables.soft_labels import SoftLabels

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _few_items() -> None:
    """Forty items in all, ten of them beyond doubt: what is said of so few is tried elsewhere."""
    warnings.filterwarnings("ignore", "people agree: found 10 items")


def test_t_as_scipy_has_it() -> None:
    a, b = RNG.normal(size=7), RNG.normal(0.3, size=7)
    expected = stats.ttest_rel(a, b)
    assert paired_t(a - b).p == pytest.approx(expected.pvalue)
    between = t_interval(a - b, 0.9)
    low, high = expected.confidence_interval(0.9)
    assert (between.low, between.high) == pytest.approx((low, high))
    assert between.kind == "another training: 90% t interval over 7 seeds"


def test_t_has_its_limits() -> None:
    assert t_interval(np.array([1.0]), 0.95).kind == "none: one seed does not show the variation between trainings"
    assert np.isnan(t_interval(np.array([1.0, np.inf]), 0.95).low)
    assert paired_t(np.array([1.0])).note == "one seed"
    assert paired_t(np.array([0.5, 0.5, 0.5])).note == "the same difference with every seed"


@pytest.mark.parametrize("n", [6, 7, 12, 40])
def test_wilcoxon_as_scipy_has_it(n: int) -> None:
    values = RNG.normal(0.4, size=n)
    assert wilcoxon(values, 0.05).p == pytest.approx(stats.wilcoxon(values, method="exact").pvalue)


def test_wilcoxon_with_ties_counted_out() -> None:
    # Ranks 1.5 1.5 3 4 5 6, all but the first positive: 4 of 64 sign patterns leave a sum of at most 1.5 on one side.
    found = wilcoxon(np.array([-1.0, 1, 2, 3, 4, 5, 0]), 0.2)
    signs = np.array(np.meshgrid(*[[0, 1]] * 6)).reshape(6, -1).T
    sums = signs @ np.array([1.5, 1.5, 3, 4, 5, 6])
    assert found.p == pytest.approx(2 * (sums <= 1.5).mean())
    assert wilcoxon(RNG.normal(size=300), 0.05).p > 0


def test_wilcoxon_with_too_few_seeds() -> None:
    five = wilcoxon(np.arange(1.0, 6), 0.05)
    assert np.isnan(five.p)
    assert five.note == "5 seeds cannot reach 0.05 (at least 0.0625); 6 could"
    assert wilcoxon(np.arange(1.0, 7), 0.05).p == pytest.approx(0.03125)
    assert wilcoxon(np.array([0.0, 1, 2, 3, 4, 5]), 0.05).note.startswith("5 seeds that differ")
    assert wilcoxon(np.arange(1.0, 7), 0.01).note.endswith("8 could")
    assert wilcoxon(np.zeros(3), 0.05).note.startswith("0 seeds that differ cannot reach 0.05 (at least 1.0000)")


def test_effect_sizes_by_hand() -> None:
    # Mean 2, deviation 1, three seeds: Hedges' factor for two degrees of freedom is gamma(1) / gamma(.5) = .5642.
    assert d_z(np.array([1.0, 2, 3])) == pytest.approx(2 * 0.5641895835)
    assert np.isnan(d_z(np.array([1.0, 2])))
    # 3 beats 1 and 2 and ties with 3; 1 ties with 1: (2.5 + .5) / 6.
    share = probability_of_improvement(np.array([3.0, 1]), np.array([1.0, 2, 3]), high_is_better=True)
    assert share == pytest.approx(3 / 6)
    low = probability_of_improvement(np.array([3.0, 1]), np.array([1.0, 2, 3]), high_is_better=False)
    assert low == pytest.approx(1 - share)


def test_corrections_by_hand() -> None:
    p = [0.01, np.nan, 0.04, 0.03]
    np.testing.assert_allclose(corrected(p, "holm"), [0.03, np.nan, 0.06, 0.06])
    np.testing.assert_allclose(corrected(p, "benjamini-hochberg"), [0.03, np.nan, 0.04, 0.04])
    np.testing.assert_allclose(corrected(p, "none"), p)
    assert corrected([0.9, 0.8], "holm") == [1.0, 1.0]
    with pytest.raises(BadSetting, match="holm, benjamini-hochberg, none"):
        corrected(p, "bonferoni")


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
@settings(max_examples=50, deadline=None)
def test_benjamini_hochberg_as_scipy_has_it(p: list[float]) -> None:
    np.testing.assert_allclose(corrected(p, "benjamini-hochberg"), stats.false_discovery_control(p), atol=1e-12)


@pytest.mark.parametrize(
    ("seeds", "items", "together"), [(1.0, 0.0, 0.0), (0.3, 3.0, 0.0), (0.5, 2.0, 3.0), (0.0, 3.0, 0.0)]
)
@pytest.mark.parametrize("n_seeds", [3, 6])
def test_the_two_way_bootstrap_covers(seeds: float, items: float, together: float, n_seeds: int) -> None:
    """Luck of seeds, of items and of both at once, in known amounts; how often is the truth, 0, inside?"""
    rng = np.random.default_rng(n_seeds)
    n_items, n_trials, draws = 40, 200, 200
    inside = 0
    for _ in range(n_trials):
        values = (
            rng.normal(0, seeds, (n_seeds, 1))
            + rng.normal(0, items, n_items)
            + rng.normal(0, together, (n_seeds, n_items))
        )
        times = rng.multinomial(n_items, np.full(n_items, 1 / n_items), draws)
        between = both_interval(values @ times.T / n_items, 0.9, "items", rng)
        inside += between.low <= 0 <= between.high
    # 90% asked for; three standard errors of 200 trials are 6%. Never much too narrow; wide where luck comes together.
    assert inside / n_trials >= 0.84


@pytest.mark.parametrize("n_seeds", [2, 3, 6])
@pytest.mark.parametrize("level", [0.8, 0.9, 0.99])
def test_without_luck_of_items_two_ways_are_one(n_seeds: int, level: float) -> None:
    values = RNG.normal(size=n_seeds)
    both = both_interval(np.repeat(values[:, None], 200_000, axis=1), level, "items", RNG)
    t = t_interval(values, level)
    assert (both.high - both.low) / (t.high - t.low) == pytest.approx(1, abs=0.02)


def test_intervals_say_what_they_cover() -> None:
    drawn = RNG.normal(size=(4, 500))
    assert items_interval(drawn, 0.95, "items").kind == "other items, these trainings: bootstrap over items, 95%"
    both = both_interval(drawn, 0.95, "items", RNG)
    assert both.kind == "another training on other items: two-way bootstrap over 4 seeds and items, 95%"
    assert both_interval(drawn[:1], 0.95, "items", RNG).kind.startswith("none: one seed")
    assert items_interval(np.full((2, 9), 0.5), 0.95, "items").kind == "none: every resample gives the same"
    assert items_interval(np.full((2, 9), np.nan), 0.95, "items").kind == "none: there are no draws of items"


# --- runs ---


def test_scores_over_seeds_by_hand() -> None:
    runs = trained.grid()
    people = trained.people()
    measured = measure_runs(runs, people=people, metrics=[Brier()])
    scores = {score.target: score for score in scores_over_seeds(measured).scores}
    by_hand = [((run.predictions.probs - people.probs) ** 2).sum(1).mean() for run in runs if run.target == "soft"]
    assert measured.of("soft", "ffn", "brier", "all").values == pytest.approx(by_hand)
    soft = scores["soft"]
    half = stats.t.ppf(0.975, 5) * np.std(by_hand, ddof=1) / np.sqrt(6)
    assert (soft.value, soft.low, soft.high) == pytest.approx(
        (np.mean(by_hand), np.mean(by_hand) - half, np.mean(by_hand) + half)
    )
    assert (soft.n_seeds, soft.n_items) == (6, 40)
    assert soft.covers == "another training: 95% t interval over 6 seeds"
    # The mean over seeds of each item, bootstrapped by itself.
    each = np.mean(
        [((run.predictions.probs - people.probs) ** 2).sum(1) for run in runs if run.target == "soft"], axis=0
    )
    width = 2 * 1.96 * each.std() / np.sqrt(40)
    assert soft.items_high - soft.items_low == pytest.approx(width, rel=0.15)


def test_differences_by_hand() -> None:
    runs = trained.grid(("hard", "majority", "soft"))
    measured = measure_runs(runs, people=trained.people(), metrics=[Brier(), CrossEntropy()])
    found = compare_runs(measured, baseline="hard").differences
    assert [(each.target, each.metric) for each in found] == [
        ("majority", "brier"), ("majority", "cross_entropy"), ("soft", "brier"), ("soft", "cross_entropy")
    ]  # fmt: skip
    soft = found[2]
    one, other = (measured.of(target, "ffn", "brier", "all").values for target in ("soft", "hard"))
    expected = stats.ttest_rel(one, other)
    assert soft.p == pytest.approx(expected.pvalue)
    assert (soft.low, soft.high) == pytest.approx(tuple(expected.confidence_interval(0.95)))
    assert soft.difference == pytest.approx((one - other).mean())
    assert soft.p_corrected == pytest.approx(corrected([found[0].p, found[2].p], "holm")[1])
    assert (soft.correction, soft.verdict, soft.probability_of_improvement) == ("holm over 2", "better", 1.0)
    assert soft.p_wilcoxon == pytest.approx(0.03125)
    assert soft.both_low < soft.items_low < soft.difference < soft.items_high < soft.both_high < 0
    whole = compare_runs(measured, baseline="hard", family="table", correction="benjamini-hochberg").differences
    assert whole[0].correction == "benjamini-hochberg over 4"
    backwards = compare_runs(measured, baseline="soft").differences
    assert {each.verdict for each in backwards} == {"worse"}
    assert backwards[0].difference == pytest.approx(-soft.difference)


def test_differences_are_the_same_every_time() -> None:
    tables = [
        compare_runs(measure_runs(trained.grid(), people=trained.people(), metrics=[Brier()]), baseline="hard")
        for _ in range(2)
    ]
    assert tables[0].differences == tables[1].differences
    assert tables[0].to_polars()["difference"].to_list() == [tables[0].differences[0].difference]


def test_one_seed() -> None:
    measured = measure_runs(trained.grid(seeds=[3]), people=trained.people(), metrics=[Brier()])
    score = scores_over_seeds(measured).scores[0]
    assert np.isnan(score.low)
    assert score.covers == "none: one seed does not show the variation between trainings"
    assert score.items_low < score.value < score.items_high
    (found,) = compare_runs(measured, baseline="hard").differences
    assert np.isnan([found.low, found.both_low, found.d_z]).all()
    assert found.items_high < 0
    # With one prediction each, items are the pairs: as scipy's paired t-test of the items' own scores.
    people, runs = trained.people(), {run.target: run.predictions for run in trained.grid(seeds=[3])}
    soft, hard = (((runs[name].probs - people.probs) ** 2).sum(axis=1) for name in ("soft", "hard"))
    expected = stats.ttest_rel(soft, hard)
    assert found.difference == pytest.approx((soft - hard).mean())
    assert stats.norm.isf(found.p / 2) == pytest.approx(abs(expected.statistic), rel=0.1)
    assert (found.verdict, found.test.startswith("paired by item")) == ("better", True)


def test_seeds_that_do_not_pair() -> None:
    runs = [*trained.grid(["hard"], [0, 1, 2]), *trained.grid(["soft"], [1, 2, 3])]
    measured = measure_runs(runs, people=trained.people(), metrics=[Brier()])
    with pytest.warns(SfumatoWarning, match="seeds 0, 3 are only on one side"):
        (found,) = compare_runs(measured, baseline="hard").differences
    assert found.n_seeds == 2
    one, other = (measured.of(target, "ffn", "brier", "all").values for target in ("soft", "hard"))
    assert found.difference == pytest.approx((one[:2] - other[1:]).mean())
    apart = [*trained.grid(["hard"], [0]), *trained.grid(["soft"], [1])]
    with pytest.raises(BadTable, match="found seeds 1 of soft and 0 of hard"):
        compare_runs(measure_runs(apart, people=trained.people(), metrics=[Brier()]), baseline="hard")


def test_runs_of_different_items() -> None:
    one, other = trained.trained("hard", 0), trained.trained("soft", 0)
    fewer = replace(other.predictions, items=other.predictions.items[5:], probs=other.predictions.probs[5:],
                    n_annotators=None)  # fmt: skip
    part = RunPredictions("soft", "ffn", 0, fewer)
    with pytest.warns(SfumatoWarning, match="only the 35 that all of them predict"):
        measured = measure_runs([one, part], people=trained.people(), metrics=[Brier()])
    expected = ((one.predictions.probs - trained.people().probs) ** 2).sum(1)[5:].mean()
    assert measured.of("hard", "ffn", "brier", "all").values[0] == pytest.approx(expected)
    none = replace(fewer, items=type(fewer.items).from_pandas([f"x{i}" for i in range(35)]))
    with pytest.raises(BadTable, match="have none in common"):
        measure_runs([one, RunPredictions("soft", "ffn", 0, none)], people=trained.people())
    with pytest.raises(BadTable, match="found no runs"):
        measure_runs([], people=trained.people())


def test_another_order_changes_nothing() -> None:
    one, other = trained.trained("hard", 0), trained.trained("soft", 0)
    table = other.predictions
    turned = replace(table, items=table.items[::-1], probs=table.probs[::-1, ::-1].copy(), classes=table.classes[::-1],
                     n_annotators=None)  # fmt: skip
    plain = measure_runs([one, other], people=trained.people(), metrics=[CrossEntropy()])
    again = measure_runs(
        [one, RunPredictions("soft", "ffn", 0, turned)], people=trained.people(), metrics=[CrossEntropy()]
    )
    for a, b in zip(plain.figures, again.figures, strict=True):
        np.testing.assert_allclose(a.drawn, b.drawn, rtol=1e-12)


def test_strata_and_what_cannot_be_computed() -> None:
    from sfumato.evaluation import stratification_from_name

    with pytest.warns(SfumatoWarning, match="accuracy_original cannot be computed"):
        measured = measure_runs(
            trained.grid(seeds=[0, 1]), people=trained.people(), strata=[stratification_from_name("agree")],
            metrics=[Brier(), metric_from_name("accuracy_original")],
        )  # fmt: skip
    scores = scores_over_seeds(measured).scores
    assert [score.n_items for score in scores if (score.metric, score.target) == ("brier", "soft")] == [40, 10, 30]
    missing = next(score for score in scores if score.metric == "accuracy_original")
    assert missing.covers == "none: needs the original labels"
    assert np.isnan(missing.value)
    found = compare_runs(measured, baseline="hard").differences
    assert next(each for each in found if each.metric == "accuracy_original").covers.startswith("none: needs")


def test_a_metric_with_intervals_of_its_own() -> None:
    people, runs = trained.people(), trained.grid(seeds=[0, 1])
    ece = metric_from_name("ece")
    quick = measure_runs(runs, people=people, metrics=[ece], thorough=False).figures[0]
    assert not quick.is_exact
    assert np.isnan(quick.drawn).all()
    thorough = measure_runs(runs, people=people, metrics=[ece], thorough=True).figures[0]
    np.testing.assert_allclose(thorough.drawn.mean(axis=1), thorough.values, atol=0.02)


def test_draws_are_those_of_the_figure() -> None:
    from sfumato.evaluation.metric import BootstrapDraws, from_influence, from_sums, mean_over_items, ratio
    from sfumato.tables.bootstrap import Bootstrap

    bootstrap = Bootstrap.of(50, level=0.9, draws=300, rng=np.random.default_rng(1))
    values, weights = RNG.normal(2, 1, 50), RNG.integers(0, 2, 50).astype(float)
    times = bootstrap.times_drawn.astype(float)
    mean = mean_over_items(values, bootstrap, weights=weights)
    expected = times @ (values * weights) / (times @ weights)
    np.testing.assert_allclose(mean.own_drawn.draws, expected)
    assert not mean.own_drawn.is_linear
    sums = bootstrap.sums(values * weights, weights)
    np.testing.assert_allclose(from_sums(sums, ratio, bootstrap, n_items=50).own_drawn.draws, expected)
    linear = from_influence(7.0, values - values.mean(), bootstrap)
    np.testing.assert_allclose(linear.own_drawn.draws, 7 + times @ values / 50 - values.mean())
    assert linear.own_drawn.is_linear
    # Another figure made of an estimate has the draws it brings, or none.
    assert replace(linear, value=49.0).own_drawn is None
    squared = replace(linear, value=49.0, drawn=BootstrapDraws(49.0, linear.own_drawn.draws**2, is_linear=True))
    assert squared.own_drawn is squared.drawn
    assert mean_over_items(np.array([1.0, np.inf] * 25), bootstrap).own_drawn is None


def test_intervals_over_items_of_one_seed_are_the_metrics_own() -> None:
    run = trained.trained("soft", 0)
    (found,) = scores_over_seeds(measure_runs([run], people=trained.people(), metrics=[Brier()])).scores
    assert found.items_covers == "other items, these trainings: 95% bootstrap of t over items, 1,000 resamples"
    sure = replace(run, predictions=trained.original())
    measured = measure_runs([sure, replace(sure, seed=1)], people=trained.people(), metrics=[CrossEntropy()])
    (found,) = scores_over_seeds(measured).scores
    assert (found.value, found.items_covers) == (np.inf, "none: infinite for some items")


def test_left_out_groups_move_a_mean_as_its_draws_do() -> None:
    from sfumato.evaluation.run_predictions import match_runs
    from sfumato.evaluation.run_scores import _jackknifed
    from sfumato.tables.bootstrap import Bootstrap

    (matched,) = match_runs(trained.grid(["soft"], [0]), people=trained.people())
    bootstrap = Bootstrap.of(len(matched), level=0.95, draws=2000, rng=np.random.default_rng(0))
    values = ((matched.predicted - matched.people) ** 2).sum(axis=1)
    moved = _jackknifed(Brier(), matched, bootstrap, float(values.mean()))
    exact = bootstrap.times_drawn @ values / len(values) - values.mean()
    # Every item is a group of its own here, so that nothing is lost.
    np.testing.assert_allclose(moved, exact, atol=1e-12)


def test_names_of_targets_and_families() -> None:
    measured = measure_runs(trained.grid(seeds=[0, 1]), people=trained.people(), metrics=[Brier()])
    with pytest.raises(UnknownName, match="did you mean 'hard'"):
        compare_runs(measured, baseline="hrad")
    with pytest.raises(BadSetting, match="metric, table"):
        compare_runs(measured, baseline="hard", family="all")
    alone = measure_runs(trained.grid(["soft"], [0, 1]), people=trained.people(), metrics=[Brier()])
    with pytest.raises(BadTable, match="no target other than soft"):
        compare_runs(alone, baseline="soft")


def test_intervals_over_seeds_stay_in_bounds() -> None:
    items, classes = [f"i{k}" for k in range(40)], ["cat", "dog"]
    truth = SoftLabels.one_hot(items, ["cat"] * 40, classes)
    runs = []
    for target, wrong in (("hard", (0, 0, 3)), ("soft", (40, 38, 0))):
        for seed, n_wrong in enumerate(wrong):
            labels = ["dog"] * n_wrong + ["cat"] * (40 - n_wrong)
            runs.append(RunPredictions(target, "", seed, SoftLabels.one_hot(items, labels, classes)))
    measured = measure_runs(runs, people=truth, metrics=[metric_from_name("accuracy")])
    for row in scores_over_seeds(measured).scores:
        assert 0 <= row.low <= row.value <= row.high <= 1
    (found,) = compare_runs(measured, baseline="hard").differences
    assert -1 <= found.low <= found.difference <= found.high <= 1
    assert -1 <= found.both_low <= found.both_high <= 1
