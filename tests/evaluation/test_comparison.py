"""Comparing: paired statistics against SciPy, hand arithmetic and simulation."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import trained
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sfumato.evaluation import RunPredictions, compare_runs, measure_runs, metric_from_name, scores_over_seeds
from sfumato.evaluation.matched_labels import MatchedLabels
from sfumato.evaluation.metric import Estimate
from sfumato.evaluation.metrics import METRICS, Brier, CrossEntropy
from sfumato.evaluation.paired_tests import corrected, correction_factors, t_interval
from sfumato.evaluation.people_jackknife import plain
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.bootstrap import Bootstrap
from sfumato.tables.errors import BadSetting, BadTable, SfumatoWarning, UnknownName
from sfumato.tables.soft_labels import SoftLabels

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _few_items() -> None:
    """Forty items in all, ten of them beyond doubt: what is said of so few is tried elsewhere."""
    warnings.filterwarnings("ignore", "people agree: found 10 items")


def test_t_as_scipy_has_it() -> None:
    values = RNG.normal(size=7)
    between = t_interval(values, 0.9)
    low, high = stats.ttest_1samp(values, 0).confidence_interval(0.9)
    assert (between.low, between.high) == pytest.approx((low, high))
    assert between.kind == "another training: 90% t interval over 7 seeds"
    assert t_interval(np.array([1.0]), 0.95).kind == "none: one seed does not show the variation between trainings"
    assert np.isnan(t_interval(np.array([1.0, np.inf]), 0.95).low)


def test_corrections_by_hand() -> None:
    p = [0.01, np.nan, 0.04, 0.03]
    np.testing.assert_allclose(corrected(p, "holm"), [0.03, np.nan, 0.06, 0.06])
    np.testing.assert_allclose(corrected(p, "benjamini-hochberg"), [0.03, np.nan, 0.04, 0.04])
    np.testing.assert_allclose(corrected(p, "none"), p)
    assert corrected([0.9, 0.8], "holm") == [1.0, 1.0]
    # The factors are not cut: an interval at the level 1 - alpha / factor excludes 0 exactly if the corrected p does.
    assert correction_factors([0.9, 0.8, 0.0], "holm") == pytest.approx([1.6 / 0.9, 2.0, 3.0])
    with pytest.raises(BadSetting, match="holm, benjamini-hochberg, none"):
        corrected(p, "bonferoni")


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
@settings(max_examples=50, deadline=None)
def test_benjamini_hochberg_as_scipy_has_it(p: list[float]) -> None:
    np.testing.assert_allclose(corrected(p, "benjamini-hochberg"), stats.false_discovery_control(p), atol=1e-12)


# --- runs ---


def test_scores_over_seeds_by_hand() -> None:
    runs = trained.grid()
    people = trained.people()
    measured = measure_runs(runs, people=people, metrics=[Brier()])
    scores = {score.target: score for score in scores_over_seeds(measured).scores}
    by_hand = [((run.predictions.probs - people.probs) ** 2).sum(1).mean() for run in runs if run.target == "soft"]
    assert measured.of("soft", "ffn", "brier", "all").values == pytest.approx(by_hand)
    soft = scores["soft"]
    # The variance over seeds and items: what varies with both is in the variance over items already.
    each = np.array([((run.predictions.probs - people.probs) ** 2).sum(1) for run in runs if run.target == "soft"])
    of_items, of_seeds = each.mean(0).var(ddof=1) / 40, each.mean(1).var(ddof=1) / 6
    rest = each - each.mean(0) - each.mean(1, keepdims=True) + each.mean()
    variance = max(of_items, of_seeds, of_items + max(of_seeds - (rest**2).sum() / (39 * 5) / 240, 0))
    df = variance**2 / (of_items**2 / 39 + of_seeds**2 / 5)
    half = stats.t.ppf(0.975, df) * np.sqrt(variance)
    assert (soft.value, soft.low, soft.high) == pytest.approx((each.mean(), each.mean() - half, each.mean() + half))
    assert (soft.n_seeds, soft.n_items) == (6, 40)
    assert soft.covers == "another training and other items: 95% t interval"
    assert (soft.se_items, soft.se_seeds) == pytest.approx((np.sqrt(of_items), np.sqrt(of_seeds)))
    assert np.isnan(soft.se_people)


def test_differences_by_hand() -> None:
    runs = trained.grid(("hard", "majority", "soft"))
    measured = measure_runs(runs, people=trained.people(), metrics=[Brier(), CrossEntropy()])
    found = compare_runs(measured, baseline="hard").differences
    assert [(each.target, each.metric) for each in found] == [
        ("majority", "brier"), ("majority", "cross_entropy"), ("soft", "brier"), ("soft", "cross_entropy")
    ]  # fmt: skip
    soft = found[2]
    one, other = (measured.of(target, "ffn", "brier", "all").values for target in ("soft", "hard"))
    assert soft.difference == pytest.approx((one - other).mean())
    assert soft.se_seeds == pytest.approx(stats.sem(one - other))
    assert soft.p_corrected == pytest.approx(corrected([found[0].p, found[2].p], "holm")[1])
    assert (soft.correction, soft.verdict) == ("holm over 2", "better")
    assert soft.low < soft.difference < soft.high < 0
    assert soft.covers == "another training and other items: 95% t interval, holm over 2"
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
    assert repr(tables[0].differences) == repr(tables[1].differences)
    assert tables[0].to_polars()["difference"].to_list() == [tables[0].differences[0].difference]


def test_one_seed() -> None:
    measured = measure_runs(trained.grid(seeds=[3]), people=trained.people(), metrics=[Brier()])
    score = scores_over_seeds(measured).scores[0]
    assert score.low < score.value < score.high
    assert score.covers == "95% bootstrap of t over items, 1,000 resamples"
    (found,) = compare_runs(measured, baseline="hard").differences
    # With one prediction each, items are the pairs: exactly scipy's paired t-test of the items' own scores.
    people, runs = trained.people(), {run.target: run.predictions for run in trained.grid(seeds=[3])}
    soft, hard = (((runs[name].probs - people.probs) ** 2).sum(axis=1) for name in ("soft", "hard"))
    expected = stats.ttest_rel(soft, hard)
    assert found.p == pytest.approx(expected.pvalue)
    assert (found.low, found.high) == pytest.approx(tuple(expected.confidence_interval(0.95)))
    assert (found.verdict, found.covers) == ("better", "other items: 95% t interval, holm over 1")
    assert np.isnan(found.se_seeds)
    other_draws = measure_runs(
        trained.grid(seeds=[3]), people=trained.people(), metrics=[Brier()], rng=np.random.default_rng(5)
    )
    (again,) = compare_runs(other_draws, baseline="hard").differences
    assert repr(again) == repr(found)


@settings(max_examples=12, deadline=None)
@given(
    st.integers(0, 2**32 - 1), st.integers(1, 6), st.sampled_from(["holm", "benjamini-hochberg", "none"]),
    st.sampled_from(["metric", "table"]), st.booleans(),
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::sfumato.tables.errors.SfumatoWarning")
def test_interval_p_and_verdict_never_contradict_each_other(
    seed: int, n_seeds: int, correction: str, family: str, has_people: bool
) -> None:
    rng = np.random.default_rng(seed)
    n, classes = int(rng.integers(15, 40)), ["cat", "dog", "emu"]
    votes = rng.integers(0, 3, (n, 4))
    people: SoftLabels | Beliefs = SoftLabels.from_numpy(range(n), np.eye(3)[votes].mean(axis=1), classes, 4)
    if has_people:
        ids, who = np.repeat(np.arange(n), 4).astype(str), np.tile(list("abcd"), n)
        people = Beliefs.from_votes(item=ids, annotator=who, label=np.array(classes)[votes.ravel()], classes=classes)
    shares = np.eye(3)[votes].mean(axis=1)
    runs = [
        RunPredictions(name, "", s, SoftLabels.from_numpy(range(n), _mixed(shares, weight, rng), classes, 0))
        for name, weight in (("hard", 0.3), ("soft", 0.3 + 0.3 * rng.random()), ("other", 0.3))
        for s in range(n_seeds)
    ]
    metrics = [metric_from_name(name) for name in ("brier", "accuracy", "ece", "entropy_difference", "failure_auroc")]
    measured = measure_runs(runs, people=people, metrics=metrics, resamples=100)
    for each in compare_runs(measured, baseline="hard", correction=correction, family=family).differences:
        excludes_0 = each.low > 0 or each.high < 0
        assert excludes_0 == bool(each.verdict) == (each.p_corrected < 0.05), each
        assert each.is_tested == (not np.isnan(each.low)), each
        assert each.is_tested == (not each.covers.startswith("none: ")), each
        assert each.n_items >= 20 or not each.is_tested


def _mixed(shares: np.ndarray, weight: float, rng: np.random.Generator) -> np.ndarray:
    return np.asarray(weight * shares + (1 - weight) * rng.dirichlet([2, 1, 1], len(shares)))


def test_no_evidence_comes_with_what_could_have_been_found() -> None:
    """The smallest difference that is found with a probability of 0.8, by simulation of t-tests over 40 items."""
    runs = trained.grid(seeds=[3])
    measured = measure_runs(runs, people=trained.people(), metrics=[Brier()])
    (found,) = compare_runs(measured, baseline="hard").differences
    rng = np.random.default_rng(0)
    drawn = rng.normal(found.detectable, found.se_items * np.sqrt(40), (4000, 40))
    assert (stats.ttest_1samp(drawn, 0, axis=1).pvalue < 0.05).mean() == pytest.approx(0.8, abs=0.02)


def test_no_verdict_on_few_items_or_one_bin() -> None:
    classes = ["cat", "dog"]
    sure = SoftLabels.from_numpy(range(19), [[0.9, 0.1]] * 19, classes, 0)
    unsure = SoftLabels.from_numpy(range(19), [[0.6, 0.4]] * 10 + [[0.5, 0.5]] * 9, classes, 0)
    people = SoftLabels.from_numpy(range(19), [[1.0, 0.0]] * 19, classes, 5)
    runs = [RunPredictions("a", "", 0, unsure), RunPredictions("b", "", 0, sure)]
    with pytest.warns(SfumatoWarning, match="19 items"):
        measured = measure_runs(runs, people=people, metrics=[Brier()])
    (found,) = compare_runs(measured).differences
    assert (found.verdict, found.covers[:26]) == ("", "none: 19 items are too few")
    assert np.isnan([found.p, found.p_corrected, found.low, found.detectable]).all()
    (found,) = compare_runs(
        measure_runs(trained.grid(seeds=[3]), people=trained.people(), metrics=[metric_from_name("rms_calibration")])
    ).differences
    assert (found.verdict, "one bin" in found.covers) == ("", True)


def test_seeds_that_do_not_pair() -> None:
    runs = [*trained.grid(["hard"], [0, 1, 2]), *trained.grid(["soft"], [1, 2, 3])]
    measured = measure_runs(runs, people=trained.people(), metrics=[Brier()])
    with pytest.warns(SfumatoWarning, match="seeds 0, 3 are only on one side"):
        (found,) = compare_runs(measured, baseline="hard").differences
    assert found.n_seeds == 2
    one, other = (measured.of(target, "ffn", "brier", "all").values for target in ("soft", "hard"))
    assert found.difference == pytest.approx((one[:2] - other[1:]).mean())
    apart = [*trained.grid(["hard"], [0, 1, 2]), *trained.grid(["soft"], [3, 4])]
    measured = measure_runs(apart, people=trained.people(), metrics=[Brier()])
    with pytest.warns(SfumatoWarning, match="no seed in common"):
        (found,) = compare_runs(measured, baseline="hard").differences
    one, other = (measured.of(target, "ffn", "brier", "all").values for target in ("soft", "hard"))
    assert found.difference == pytest.approx(one.mean() - other.mean())
    # Without pairs the variances of both sides add up.
    assert found.se_seeds == pytest.approx(np.hypot(stats.sem(one), stats.sem(other)))
    assert "different seeds" in found.covers


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
        np.testing.assert_allclose(a.contributions.items, b.contributions.items, rtol=1e-9, atol=1e-12)


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


LOOSE = ("ece", "entropy_difference")
"""The sign of a bin's gap, and a correction that is estimated from all items, can change without one item."""


@pytest.mark.parametrize("member", METRICS, ids=lambda member: member.name)
def test_contributions_of_items_are_those_of_the_jackknife(member: Any) -> None:
    """The linear part of every metric against leaving out each item."""
    n, rng = 150, np.random.default_rng(1)
    latent = 1.5 * rng.normal(size=(n, 4))
    people = np.array([rng.multinomial(10, np.exp(row) / np.exp(row).sum()) for row in latent]) / 10
    predicted = np.exp(1.6 * (latent + 0.5 * rng.normal(size=latent.shape)))
    predicted /= predicted.sum(axis=1, keepdims=True)
    matched = MatchedLabels(
        pa.array([str(i) for i in range(n)]), tuple("abcd"), predicted, people, people.argmax(axis=1),
        np.full(n, 10), class_order=(0, 1, 2, 3),
    )  # fmt: skip
    metric = member()
    linear = metric.estimate(matched, plain(n)).own_linear
    assert linear is not None
    some = np.arange(0, n, 3)
    left_out = [metric.estimate(matched.take(np.delete(np.arange(n), i)), plain(n - 1)).value for i in some]
    jackknifed = (n - 1) * (linear.figure - np.array(left_out))
    assert linear.blocks.mean() == pytest.approx(0, abs=1e-9)
    # Leaving out an item also moves all later items to other bins of equal size, which is not a matter of chance.
    if member.name != "rms_calibration":
        assert np.corrcoef(linear.blocks[some], jackknifed)[0, 1] > (0.8 if member.name in LOOSE else 0.95)
        assert linear.blocks[some].std() == pytest.approx(jackknifed.std(), rel=0.25)


def test_linear_parts_are_those_of_the_value() -> None:
    from sfumato.evaluation.metric import from_influence, mean_over_items

    bootstrap = Bootstrap.of(50, level=0.9, draws=300, rng=np.random.default_rng(1))
    values, weights = RNG.normal(2, 1, 50), RNG.integers(0, 2, 50).astype(float)
    mean = mean_over_items(values, bootstrap, weights=weights)
    expected = weights * (values - mean.value) / weights.mean()
    np.testing.assert_allclose(mean.own_linear.blocks, expected, atol=1e-12)
    linear = from_influence(7.0, values - values.mean(), bootstrap)
    np.testing.assert_allclose(linear.own_linear.blocks, values - values.mean())
    # Another value made of an estimate has the linear part it brings, or none.
    assert replace(linear, value=49.0).own_linear is None
    assert mean_over_items(np.array([1.0, np.inf] * 25), bootstrap).own_linear is None


def test_a_metric_without_a_linear_part_leaves_out_groups_of_items() -> None:
    class Plain:
        name, better, bounds = "plain", Brier.better, Brier.bounds

        def estimate(self, matched: MatchedLabels, bootstrap: Bootstrap) -> Estimate:
            return replace(Brier().estimate(matched, bootstrap), linear=None)

    runs, people = trained.grid(seeds=[3]), trained.people()
    (found,) = compare_runs(measure_runs(runs, people=people, metrics=[Plain()])).differences
    (exact,) = compare_runs(measure_runs(runs, people=people, metrics=[Brier()])).differences
    # Every item is a group of its own here, so that nothing is lost.
    assert (found.p, found.low, found.high) == pytest.approx((exact.p, exact.low, exact.high))


def test_infinite_values_have_no_interval() -> None:
    sure = replace(trained.trained("soft", 0), predictions=trained.original())
    measured = measure_runs([sure, replace(sure, seed=1)], people=trained.people(), metrics=[CrossEntropy()])
    (found,) = scores_over_seeds(measured).scores
    assert (found.value, found.covers) == (np.inf, "none: infinite for some items")


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
