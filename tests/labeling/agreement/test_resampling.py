"""The intervals: what they cover, that groups of items do as well as items, and that they come quickly."""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa
import pytest

from sfumato import Beliefs
from sfumato.labeling.agreement import (
    AlphaDistributions,
    AlphaNominal,
    AlphaOrdinal,
    RetestSameClass,
    TotalVariationAgreement,
    agreement,
)
from sfumato.labeling.agreement.item_answers import ItemAnswers
from sfumato.tables import bootstrap
from sfumato.tables.text_columns import CodedText


def simulated(n_items: int, rng: np.random.Generator, n_people: int = 4, n_classes: int = 3) -> Beliefs:
    """Each person names the item's class with probability .7, else one at random."""
    truth = np.repeat(rng.integers(0, n_classes, n_items), n_people)
    known = rng.random(len(truth)) < 0.7
    chosen = np.where(known, truth, rng.integers(0, n_classes, len(truth))).astype(np.int16)
    return Beliefs(
        _names(np.repeat(np.arange(n_items), n_people)),
        _names(np.tile(np.arange(n_people), n_items)),
        tuple(f"c{k}" for k in range(n_classes)),
        hard=chosen,
    )


def _names(codes: np.ndarray) -> CodedText:
    return CodedText(codes.astype(np.int32), pa.array([str(i) for i in range(int(codes.max()) + 1)]))


def test_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    """Two people agree with probability .49 + .51 / 3, by chance 1 / 3: alpha is .49, total variation .34."""
    covered = np.zeros(2)
    n_studies = 200
    for study in range(n_studies):
        rng = np.random.default_rng(study)
        result = agreement(
            simulated(80, rng), measures=[AlphaNominal(), TotalVariationAgreement()], level=0.9, resamples=200, rng=rng
        )
        covered += (result.low <= [0.49, 0.34]) & (result.high >= [0.49, 0.34])
    # 90% +- four standard errors of a share of 200, and a little for 80 items being few.
    assert (covered / n_studies > 0.81).all()
    assert (covered / n_studies < 0.97).all()


def test_groups_of_items_give_the_same_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    beliefs = simulated(4000, np.random.default_rng(0))
    measures = [AlphaNominal(), AlphaOrdinal(), AlphaDistributions(), TotalVariationAgreement()]
    each = agreement(beliefs, measures=measures, resamples=2000, rng=np.random.default_rng(1))
    monkeypatch.setattr(bootstrap, "MOST_BLOCKS", 1000)
    joined = agreement(beliefs, measures=measures, resamples=2000, rng=np.random.default_rng(1))
    np.testing.assert_allclose(joined.value, each.value, atol=1e-12)
    np.testing.assert_allclose(joined.high - joined.low, each.high - each.low, rtol=0.12)
    assert set(each.interval) == {"95% percentile bootstrap over items, 2,000 resamples"}
    assert set(joined.interval) == {"95% percentile bootstrap over 1,000 random groups of items, 2,000 resamples"}


def test_resampled_sums_are_those_of_resampled_answers() -> None:
    """Draw items by hand, copy their answers, and compute alpha from the start: the sums give the same."""
    beliefs = simulated(30, np.random.default_rng(3))
    answers = ItemAnswers.of(beliefs)
    drawn = np.random.default_rng(4).integers(0, 30, 30)
    rows = np.concatenate([np.flatnonzero(beliefs.item.codes == item) for item in drawn])
    copied = Beliefs(
        _names(np.repeat(np.arange(30), 4)), beliefs.annotator, beliefs.classes, hard=np.asarray(beliefs.hard)[rows]
    )
    for measure in (AlphaNominal(), AlphaOrdinal(), AlphaDistributions(), TotalVariationAgreement()):
        sums = measure.sums(answers, np.arange(30), 30)
        again = agreement(copied, measures=[measure], resamples=100, rng=np.random.default_rng(0)).value[0]
        assert measure.value(sums[drawn].sum(axis=0, keepdims=True))[0] == pytest.approx(again, abs=1e-12)


def test_the_same_seed_gives_the_same_whatever_else_is_asked_for() -> None:
    beliefs = simulated(50, np.random.default_rng(0))
    both = agreement(beliefs, measures=[AlphaNominal(), TotalVariationAgreement()], rng=np.random.default_rng(7))
    one = agreement(beliefs, measures=[TotalVariationAgreement()], rng=np.random.default_rng(7))
    other = agreement(beliefs, measures=[TotalVariationAgreement()], rng=np.random.default_rng(8))
    assert (both.low[1], both.high[1]) == (one.low[0], one.high[0])
    assert one.low[0] != other.low[0]


def test_a_higher_level_is_wider() -> None:
    beliefs = simulated(50, np.random.default_rng(0))
    narrow, wide = (agreement(beliefs, level=level, rng=np.random.default_rng(0)) for level in (0.5, 0.99))
    assert ((wide.low < narrow.low) & (narrow.high < wide.high)).all()
    assert (narrow.low < narrow.value).all()
    assert (narrow.value < narrow.high).all()


def test_there_is_no_interval_where_a_bootstrap_sees_nothing() -> None:
    one_item = Beliefs.from_numpy(["1", "1"], ["x", "y"], np.array([0, 1]), ["a", "b"])
    steady = Beliefs.from_numpy(["1", "1", "2", "2"], ["x"] * 4, np.array([0, 0, 1, 1]), ["a", "b"])
    for beliefs, measure, value, why in (
        (one_item, TotalVariationAgreement(), 1.0, "none: only one item"),
        (steady, RetestSameClass(), 1.0, "none: every resample gives the same"),
    ):
        result = agreement(beliefs, measures=[measure], rng=np.random.default_rng(0))
        assert result.value[0] == value
        assert np.isnan([result.low[0], result.high[0]]).all()
        assert result.interval == (why,)


def test_undefined_resamples_are_counted() -> None:
    """Three items, one of them different: some resamples hold one class only."""
    beliefs = Beliefs.from_numpy(list("112233"), list("xyxyxy"), np.array([0, 0, 0, 0, 0, 1]), ["a", "b"])
    result = agreement(beliefs, measures=[AlphaNominal()], rng=np.random.default_rng(0))
    assert "of them undefined and left out" in result.interval[0]


@pytest.mark.slow
def test_a_million_votes_take_seconds() -> None:
    rng = np.random.default_rng(0)
    n, n_items = 1_000_000, 200_000
    beliefs = Beliefs(
        _names(rng.integers(0, n_items, n)),
        _names(rng.integers(0, 2000, n)),
        tuple("abcdefghij"),
        hard=rng.integers(0, 10, n).astype(np.int16),
    )
    start = time.perf_counter()
    result = agreement(beliefs, measures=[AlphaNominal(), AlphaOrdinal(), TotalVariationAgreement()], rng=rng)
    assert time.perf_counter() - start < 10
    assert result.value.tolist() == pytest.approx([0, 0, 0.9], abs=0.003)
