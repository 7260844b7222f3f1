"""Floors: never above a score that predictions can reach, and a reason where there is none."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from sfumato.evaluation.metric_scores import metric_from_name, score
from sfumato.evaluation.metrics import METRICS
from sfumato.evaluation.strata import AgreementStrata, ClassStrata, EntropyStrata, GivenStrata
from sfumato.tables.errors import BadSetting, SfumatoWarning, warnings_off
from sfumato.tables.scores import Score
from sfumato.tables.soft_labels import SoftLabels

OF_VOTES = ("brier", "kl_divergence", "jsd", "total_variation")
BOUNDS = ("cross_entropy", "expected_accuracy")
OF_CHANCE = ("brier_calibration", "ece", "rms_calibration", "smooth_ece")


def names(n: int) -> list[str]:
    return [f"i{k}" for k in range(n)]


def labels_of(counts: np.ndarray) -> SoftLabels:
    n = counts.sum(axis=1)
    classes = [f"c{k}" for k in range(counts.shape[1])]
    return SoftLabels.from_numpy(
        names(len(counts)), counts / n[:, None], classes, n, estimand="judgment", made_by="mean"
    )


def scored(people: SoftLabels, probs: np.ndarray, *metrics: str, **more: object) -> dict[tuple[str, str], Score]:
    predicted = SoftLabels.from_numpy(people.items.to_pylist(), probs, people.classes, 0)
    with warnings_off():
        found = score(
            predicted=predicted, people=people, metrics=[metric_from_name(name) for name in metrics], resamples=100,
            **more,  # type: ignore[arg-type]
        )  # fmt: skip
    return {(row.metric, row.condition): row for row in found.rows()}


@st.composite
def studies(draw: st.DrawFn) -> np.ndarray:
    """Counts of a small study: any, unanimous, uniform, or every item divided in the same way."""
    n_classes, n_items = draw(st.integers(2, 4)), draw(st.integers(2, 12))
    kind = draw(st.sampled_from(["any", "unanimous", "uniform", "same"]))
    if kind == "uniform":
        return np.full((n_items, n_classes), draw(st.integers(1, 4)))
    if kind == "unanimous":
        first = draw(st.lists(st.integers(0, n_classes - 1), min_size=n_items, max_size=n_items))
        return np.eye(n_classes, dtype=int)[first] * draw(st.integers(1, 5))
    row = st.lists(st.integers(0, 4), min_size=n_classes, max_size=n_classes).filter(any)
    if kind == "same":
        return np.tile(draw(row), (n_items, 1))
    return np.array(draw(st.lists(row, min_size=n_items, max_size=n_items)))


def best_constant(people: SoftLabels, metric: str) -> float:
    """The lowest score of a constant prediction, found by direct search."""
    k = len(people.classes)
    q = people.probs

    def value(p: np.ndarray) -> float:
        p = np.clip(p, 1e-12, None)
        p = p / p.sum()
        m = (p + q) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            of = {
                "brier": lambda: ((p - q) ** 2).sum(1),
                "total_variation": lambda: np.abs(p - q).sum(1) / 2,
                "kl_divergence": lambda: np.where(q > 0, q * np.log(q / p), 0).sum(1),
                "jsd": lambda: (np.where(q > 0, q * np.log(q / m), 0) + p * np.log(p / m)).sum(1) / 2,
            }
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(of[metric]().mean())

    starts = [q.mean(axis=0), np.full(k, 1 / k), np.median(q, axis=0) + 1e-9, *q]
    found = [minimize(value, each + 1e-6, method="Nelder-Mead", options={"maxiter": 300}).fun for each in starts[:3]]
    return min(*found, *(value(each) for each in starts))


@given(studies())
@example(np.array([[1, 1]] * 5))
@example(np.array([[2, 1], [1, 2], [2, 1]]))
@settings(max_examples=25, deadline=None)
def test_no_floor_is_above_the_best_constant_prediction(counts: np.ndarray) -> None:
    people = labels_of(counts)
    rows = scored(people, np.full(counts.shape, 1 / counts.shape[1]), *OF_VOTES, *BOUNDS)
    for metric in OF_VOTES:
        if counts.sum(axis=1).max() == 1:
            assert np.isnan(rows[metric, "all"].floor)
            continue
        assert rows[metric, "all"].floor <= best_constant(people, metric) + 1e-9, metric
    # Bounds hold for every prediction; the labels themselves reach them.
    exact = scored(people, people.probs, *BOUNDS)
    for metric in BOUNDS:
        assert exact[metric, "all"].value == pytest.approx(exact[metric, "all"].floor, abs=1e-12)
    assert rows["cross_entropy", "all"].value >= rows["cross_entropy", "all"].floor - 1e-12
    assert rows["expected_accuracy", "all"].value <= rows["expected_accuracy", "all"].floor + 1e-12


@pytest.mark.parametrize("metric", OF_VOTES)
@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_floors_are_at_most_the_expected_score_of_the_crowd_itself(metric: str, n: int) -> None:
    """Over all outcomes of n votes of two classes, weighted by their probability."""
    counts = np.array([[k, n - k] for k in range(n + 1)])
    alone = [labels_of(np.array([row] * 30)) for row in counts]
    # Floors of one outcome, without the limit of the best constant: many different items beside it.
    for p in (0.05, 0.3, 0.5, 0.8):
        chance = np.array([comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)])
        values = np.array([scored(each, np.tile([p, 1 - p], (30, 1)), metric)[metric, "all"].value for each in alone])
        weights = np.round(chance * 4000).astype(int)
        crowd = labels_of(np.repeat(counts, weights, axis=0))
        floor = scored(crowd, np.tile([p, 1 - p], (len(crowd), 1)), metric)[metric, "all"].floor
        assert floor <= chance @ values * 1.01 + 1e-9


def test_no_floor_within_strata_that_the_votes_chose() -> None:
    rng = np.random.default_rng(3)
    share = rng.beta(4, 4, 400)
    people = labels_of(np.stack([(k := rng.binomial(3, share)), 3 - k], axis=1))
    probs = np.full((400, 2), 0.5)
    mine = GivenStrata({name: "left" if i % 2 else "right" for i, name in enumerate(names(400))})
    rows = scored(people, probs, *OF_VOTES, *OF_CHANCE, *BOUNDS, strata=[AgreementStrata(), EntropyStrata(2), mine])
    for (metric, condition), row in rows.items():
        if not row.n_items:
            continue
        if condition in ("all", "left", "right") or metric in BOUNDS:
            assert np.isfinite(row.floor), (metric, condition)
            assert row.floor_note
            assert not row.floor_note.startswith("none")
        else:
            assert np.isnan(row.floor), (metric, condition)
            assert "the same votes chose these items" in row.floor_note
    # This is why: a constant prediction beats the sampling error of these votes.
    assert rows["brier", "people disagree"].value < 2 * (1 / 3) * (2 / 3) / 3
    classes = scored(people, probs, "brier", strata=[ClassStrata()])
    assert np.isnan(classes["brier", "class c0"].floor)


def test_calibration_floors_do_not_claim_to_be_the_best_score() -> None:
    rng = np.random.default_rng(0)
    people = labels_of(np.stack([(k := rng.binomial(5, 0.4, 60)), 5 - k], axis=1))
    rows = scored(people, np.tile([0.4, 0.6], (60, 1)), *OF_CHANCE)
    for metric in OF_CHANCE:
        assert "single values can be lower" in rows[metric, "all"].floor_note


@given(studies(), st.integers(0, 2**32 - 1))
@settings(max_examples=15, deadline=None)
def test_values_are_in_their_intervals_and_intervals_in_their_bounds(counts: np.ndarray, seed: int) -> None:
    people = labels_of(counts)
    rng = np.random.default_rng(seed)
    kinds = [
        people.probs,
        rng.dirichlet(np.full(counts.shape[1], 0.3), len(counts)),
        np.full(counts.shape, 1 / counts.shape[1]),
    ]
    metrics = [member for member in METRICS if member.name not in ("accuracy_original", "wasserstein")]
    bounds = {member.name: member().bounds for member in metrics}
    for probs in kinds:
        for row in scored(people, probs, *bounds).values():
            low, high = bounds[row.metric]
            for each in (row.value, row.low, row.high, row.floor):
                assert np.isnan(each) or low - 1e-12 <= each <= high + 1e-12, row
            assert np.isnan(row.low) or row.low <= row.value <= row.high, row


def test_the_reason_for_no_floor_is_said() -> None:
    counts = np.array([[1, 3]] * 39 + [[2, 2]])
    probs = np.full((40, 2), 0.5)
    wrong = labels_of(counts)
    n = np.array([4] * 39 + [3])
    odd = SoftLabels.from_numpy(names(40), wrong.probs, wrong.classes, n)
    assert (
        scored(odd, probs, "brier")["brier", "all"].floor_note
        == "none: 1 of 40 labels are not shares of whole votes: item 'i39' has a share of 0.5 and 3 annotators"
    )
    unknown = SoftLabels.from_numpy(names(40), wrong.probs, wrong.classes)
    assert "n_annotators" in scored(unknown, probs, "brier")["brier", "all"].floor_note
    nobody = SoftLabels.from_numpy(names(40), wrong.probs, wrong.classes, [4] * 39 + [0])
    assert "item 'i39' has the label of 0 annotators" in scored(nobody, probs, "brier")["brier", "all"].floor_note
    smooth = SoftLabels.from_numpy(names(40), wrong.probs * 0.9 + 0.05, wrong.classes, 4, made_by="bayes")
    assert "made by bayes" in scored(smooth, probs, "brier")["brier", "all"].floor_note


def test_strata_by_agreement_need_votes() -> None:
    counts = np.array([[0, 4]] * 20 + [[2, 2]] * 20)
    probs = np.full((40, 2), 0.5)
    plain = labels_of(counts)
    rows = scored(plain, probs, "brier", strata=[AgreementStrata()])
    assert [rows["brier", f"people {how}"].n_items for how in ("agree", "disagree")] == [20, 20]
    smooth = plain.probs * 0.9 + 0.05
    for n_annotators in (4, None):
        people = SoftLabels.from_numpy(names(40), smooth, plain.classes, n_annotators, made_by="bayes")
        with pytest.raises(BadSetting, match="made by bayes") as caught:
            scored(people, probs, "brier", strata=[AgreementStrata()])
        assert caught.value.code == "smoothed-labels"
        assert "mean" in caught.value.fix
    # Shares of votes on which nobody agrees are no fault of the labels.
    with pytest.warns(SfumatoWarning, match="no items in people agree"):
        score(
            predicted=SoftLabels.from_numpy(names(40), probs, plain.classes, 0),
            people=labels_of(np.array([[1, 3]] * 40)), metrics=[metric_from_name("brier")], strata=[AgreementStrata()],
        )  # fmt: skip
