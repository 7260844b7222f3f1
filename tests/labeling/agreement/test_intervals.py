"""The intervals: what they cover, the values without one item, annotator or answer, and that they come quickly."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sfumato import Beliefs
from sfumato.labeling.agreement import (
    MEASURES,
    AgreementMeasure,
    AlphaNominal,
    AlphaOrdinal,
    CohenKappa,
    PercentAgreement,
    RetestSameClass,
    TotalVariationAgreement,
    agreement,
)
from sfumato.labeling.agreement.item_answers import ItemAnswers
from sfumato.tables.counts import Counts
from sfumato.tables.errors import warnings_off
from sfumato.tables.mean_doubt import mean_doubt
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
        beliefs = simulated(80, np.random.default_rng(study))
        result = agreement(beliefs, measures=[AlphaNominal(), TotalVariationAgreement()], level=0.9)
        covered += (result.low <= [0.49, 0.34]) & (result.high >= [0.49, 0.34])
    # 90% - four standard errors of a share of 200, and more because four people who do not differ look as if they did.
    assert (covered / n_studies > 0.81).all()
    assert (covered / n_studies < 0.99).all()


def answered(beliefs: Beliefs, kept: np.ndarray, measure: AgreementMeasure) -> float:
    """The measure of the answers that are kept."""
    with warnings_off():
        return float(agreement(beliefs.take(kept), measures=[measure]).value[0])


@pytest.mark.parametrize("is_soft", [False, True])
@pytest.mark.parametrize("member", MEASURES, ids=lambda member: member.name)
def test_values_without_one_are_those_of_the_answers_that_are_left(member: Any, is_soft: bool) -> None:
    """Compute every measure from the start without each item, annotator and answer."""
    rng = np.random.default_rng(5)
    n = 120
    item, person = rng.integers(0, 15, n), rng.integers(0, 7, n)
    centers = rng.dirichlet(np.full(4, 0.5), 15)[item]
    probs = np.array([rng.dirichlet(0.3 + 3 * center) for center in centers])
    chosen = (rng.random((n, 1)) > np.cumsum(centers, axis=1)[:, :3]).sum(axis=1)
    items, people = [f"i{k:02}" for k in item], [f"p{k}" for k in person]
    beliefs = Beliefs.from_numpy(items, people, probs if is_soft else chosen, list("abcd"))
    measure, answers = member(), ItemAnswers.of(beliefs)
    found, used = measure.leave_one_out(answers), getattr(answers, member.compares)
    # Ranks change to first order only.
    near = {"abs": 0.02 if member.name == "alpha-ordinal" else 1e-9}
    if np.isnan(found.value):
        assert member.name.startswith(("icc-a", "icc-c")), "only these need every answer; see test_kappa.py"
        return
    assert found.value == pytest.approx(answered(beliefs, np.ones(n, bool), measure))
    seen = [k for k in np.unique(item) if _is_used(item, person, k, member.compares)]
    without_item = sorted(answered(beliefs, item != k, measure) for k in seen)
    assert np.sort(found.without_item) == pytest.approx(without_item, **near)
    if member.compares == "first":
        everybody = sorted(answered(beliefs, person != k, measure) for k in np.unique(person))
        assert np.sort(found.without_person) == pytest.approx(everybody, **near)
        cells = np.unique(np.stack([item, person], axis=1), axis=0)
        cells = [(i, p) for i, p in cells if i in seen]
        one_less = sorted(answered(beliefs, (item != i) | (person != p), measure) for i, p in cells)
        ours = np.repeat(found.without_answer, found.times.astype(int))
        assert np.sort(ours) == pytest.approx(one_less, **near)
    else:
        assert len(found.without_person) == used.design.n_people


def _is_used(item: np.ndarray, person: np.ndarray, k: int, compares: str) -> bool:
    people = person[item == k]
    return len(set(people)) > 1 if compares == "first" else len(set(people)) < len(people)


def test_people_who_lean_widen_the_interval() -> None:
    """Annotators with a preferred class: the interval for other annotators is far wider than for these."""
    rng = np.random.default_rng(0)
    n_items, n_people = 200, 6
    truth = rng.integers(0, 3, n_items)[:, None]
    lean = rng.random((n_items, n_people)) < np.linspace(0, 0.8, n_people)
    chosen = np.where(lean, 0, np.broadcast_to(truth, lean.shape)).ravel()
    item, person = np.divmod(np.arange(chosen.size), n_people)
    beliefs = Beliefs(_names(item), _names(person), tuple("abc"), hard=chosen.astype(np.int16))
    found = agreement(beliefs, measures=[AlphaNominal()])
    assert found.high[0] - found.low[0] > 3 * (2 * found.half_same_annotators[0])
    assert found.share_annotators[0] > 0.8
    assert found.half_twice_annotators[0] < 0.8 * (found.high[0] - found.low[0]) / 2
    assert found.interval[0] == "95% jackknife of Fisher's z over people and items"


def test_intervals_cover_the_agreement_of_all_people() -> None:
    """People are right with probability 0.6 to 1, 0.8 on average: two of them differ with probability 2 · 0.8 · 0.2,
    and alpha is 1 - 0.32 / 0.5. Intervals that take the people as fixed contain it far less often.

    `bench/coverage_rows/two_way.py` does it at length."""
    covered, fixed = np.zeros(2), np.zeros(2)
    n_studies, n_items, n_people = 200, 150, 6
    item, person = np.divmod(np.arange(n_items * n_people), n_people)
    names = _names(item), _names(person)
    truth = np.array([0.36, 0.32])
    for study in range(n_studies):
        rng = np.random.default_rng(study)
        is_right = rng.random(len(item)) < rng.uniform(0.6, 1, n_people)[person]
        true = rng.integers(0, 2, n_items)[item]
        chosen = np.where(is_right, true, 1 - true)
        beliefs = Beliefs(*names, ("a", "b"), hard=chosen.astype(np.int16))
        found = agreement(beliefs, measures=[AlphaNominal(), TotalVariationAgreement()], level=0.9)
        covered += (found.low <= truth) & (truth <= found.high)
        fixed += np.abs(found.value - truth) <= found.half_same_annotators
    assert (covered / n_studies > 0.83).all()
    assert (covered / n_studies < 0.97).all()
    assert (fixed / n_studies < 0.75).all()


def test_intervals_of_pairwise_kappas_allow_for_few_common_items() -> None:
    """Everybody is right with probability 0.8 about two classes: every kappa is 1 - 0.32 / 0.5. The mean over pairs
    with few common items is too low, the center of the interval is not. `bench/coverage_rows/agreement.py` does it at
    length, for all measures."""
    covered, values, centers = 0, [], []
    n_studies, n_items, n_people = 120, 150, 10
    for study in range(n_studies):
        rng = np.random.default_rng(study)
        item, person = np.divmod(np.flatnonzero(rng.random(n_items * n_people) < 0.2), n_people)
        true = rng.integers(0, 2, n_items)[item]
        chosen = np.where(rng.random(len(item)) < 0.8, true, 1 - true)
        beliefs = Beliefs(_names(item), _names(person), ("a", "b"), hard=chosen.astype(np.int16))
        found = agreement(beliefs, measures=[CohenKappa()], level=0.9)
        covered += bool(found.low[0] <= 0.36 <= found.high[0])
        values.append(found.value[0])
        centers.append(np.tanh(np.mean(np.arctanh([found.low[0], found.high[0]]))))
    assert 0.83 < covered / n_studies < 0.99
    assert abs(np.mean(centers) - 0.36) < 0.5 * abs(np.mean(values) - 0.36)


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("source", ["votes", "counts", "own crowds"])
def test_agreement_and_dissent_of_votes_are_mirror_images(share: float, source: str) -> None:
    """`percent-agreement`, `total-variation` and the mean dissent are one quantity, with one interval, also if votes
    are unanimous or all different."""
    rng = np.random.default_rng(1)
    n_items, n_people = 12, 2
    chosen = np.tile([0, 0], (n_items, 1))
    chosen[:, 1] = rng.random(n_items) < share
    item, person = np.divmod(np.arange(chosen.size), n_people)
    person = np.arange(len(person)) if source == "own crowds" else person + 2 * (item % 3)
    votes = Beliefs(_names(item), _names(person), ("a", "b"), hard=chosen.ravel().astype(np.int16))
    people = Counts.of(votes) if source == "counts" else votes
    found = agreement(people, measures=[PercentAgreement(), TotalVariationAgreement()])
    assert (1 - found.value[0], 1 - found.high[0], 1 - found.low[0]) == pytest.approx(
        (found.value[1], found.low[1], found.high[1])
    )
    dissent = mean_doubt(people).dissent
    assert dissent is not None
    ends = (dissent.value, dissent.interval.low, dissent.interval.high)
    assert (found.value[1], found.low[1], found.high[1]) == pytest.approx(ends)
    if share in (0.0, 1.0):
        assert "Wilson" in found.interval[1]
    assert found.high[1] > found.low[1]


def test_counts_and_two_annotators_have_intervals_over_items() -> None:
    rng = np.random.default_rng(0)
    counts = Counts.from_numpy([f"i{k}" for k in range(50)], rng.multinomial(5, [0.6, 0.3, 0.1], 50), list("abc"))
    by_counts, by_votes = agreement(counts), agreement(counts.votes())
    assert by_counts.value.tolist() == pytest.approx(by_votes.value.tolist())
    assert set(by_counts.n_annotators) == {0}
    assert by_counts.interval[0].endswith("; people are taken as fixed: counts have no annotators")
    assert np.isnan(by_counts.share_annotators).all()
    assert (by_votes.low <= by_counts.low).all()
    pair = agreement(simulated(60, rng, n_people=2), measures=[AlphaNominal()])
    assert pair.interval[0] == (
        "95% jackknife of Fisher's z over items; people are taken as fixed: "
        "undefined without one person (2 of 2 people)"
    )
    assert pair.low[0] < pair.value[0] < pair.high[0]


def test_repeats_of_an_annotator_belong_together() -> None:
    """Half of the people repeat every answer, half change every answer: what varies is the people."""
    item = np.tile(np.repeat(np.arange(20), 2), 10)
    person = np.repeat(np.arange(10), 40)
    chosen = np.where((person % 2 == 1) & (np.arange(400) % 2 == 1), 1, 0)
    beliefs = Beliefs(_names(item), _names(person), ("a", "b"), hard=chosen.astype(np.int16))
    found = agreement(beliefs, measures=[RetestSameClass()])
    assert found.value[0] == 0.5
    # The t interval of ten values, five of each: standard error 1 / 6, 9 degrees of freedom.
    assert found.high[0] == pytest.approx(0.5 + 2.262 / 6, abs=0.001)


def test_a_higher_level_is_wider() -> None:
    beliefs = simulated(50, np.random.default_rng(0))
    narrow, wide = (agreement(beliefs, level=level) for level in (0.5, 0.99))
    assert ((wide.low < narrow.low) & (narrow.high < wide.high)).all()
    assert (narrow.low < narrow.value).all()
    assert (narrow.value < narrow.high).all()


def test_there_is_no_interval_where_nothing_varies() -> None:
    one_item = Beliefs.from_numpy(["1", "1"], ["x", "y"], np.array([0, 1]), ["a", "b"])
    steady = Beliefs.from_numpy(["1", "1", "2", "2"], ["x"] * 4, np.array([0, 0, 1, 1]), ["a", "b"])
    one_different = Beliefs.from_numpy(list("112233"), list("xyxyxy"), np.array([0, 0, 0, 0, 0, 1]), ["a", "b"])
    for beliefs, measure, value, why in (
        (one_item, TotalVariationAgreement(), 1.0, "none: only one item"),
        (steady, RetestSameClass(), 1.0, "none: only one person"),
        (one_different, AlphaNominal(), 0.0, "none: undefined without one item (1 of 3 items)"),
    ):
        result = agreement(beliefs, measures=[measure])
        assert result.value[0] == value
        assert np.isnan([result.low[0], result.high[0]]).all()
        assert result.interval == (why,)


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
    start = time.process_time()
    result = agreement(beliefs, measures=[AlphaNominal(), AlphaOrdinal(), TotalVariationAgreement()])
    assert time.process_time() - start < 10
    assert result.value.tolist() == pytest.approx([0, 0, 0.9], abs=0.003)
