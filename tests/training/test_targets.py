"""Each target by hand."""

from __future__ import annotations

from collections import Counter
from math import e, log
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import chisquare

from sfumato.tables.doubt import entropy
from sfumato.tables.errors import BadTable
from sfumato.training.target_labels import FixedLabels, PooledLabels, SampledLabels
from sfumato.training.targets import (
    ClassLevelTarget,
    DeaggregatedTarget,
    DistilledTarget,
    EntropyMatchedTarget,
    HardTarget,
    MajorityTarget,
    RandomTarget,
    SampledTarget,
    ShuffledTarget,
    SmoothingTarget,
    SoftTarget,
    Target,
    TemperedTarget,
    UniformTarget,
)
from sfumato.training.targets.controls import cycles
from sfumato.training.targets.smoothing import smoothed_entropy, smoothing_shares
from sfumato.training.targets.soft import tempered
from sfumato.training.training_set import AnnotatorBeliefs, TrainingSet, one_hot


def training_set(n_classes: int, n_items: int, **sources: Any) -> TrainingSet:
    arrays = {name: np.array(value) if isinstance(value, list) else value for name, value in sources.items()}
    return TrainingSet(tuple(f"i{i}" for i in range(n_items)), tuple(f"c{k}" for k in range(n_classes)), **arrays)


def rows(target: Target, of: TrainingSet, seed: int = 0) -> np.ndarray:
    return target.labels(of, np.random.default_rng(seed)).mean()


def close(got: np.ndarray, expected: Any) -> None:
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-7)


# --- hard, majority, soft, sampled ---


def test_hard() -> None:
    of = training_set(3, 2, original=[2, 0])
    assert isinstance(HardTarget().labels(of, np.random.default_rng(0)), FixedLabels)
    assert rows(HardTarget(), of).tolist() == [[0, 0, 1], [1, 0, 0]]


def test_majority_goes_by_people() -> None:
    of = training_set(3, 2, people=[[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]], original=[1, 2])
    assert rows(MajorityTarget(), of).tolist() == [[1, 0, 0], [0, 0, 1]]


def test_a_tie_goes_to_the_original_class_if_it_is_tied() -> None:
    """Item 0: 1 and 2 tied, original 2. Item 1: tied but for rounding, .1 + .2 against .3, original 1."""
    of = training_set(4, 2, people=[[0.2, 0.4, 0.4, 0.0], [0.1 + 0.2, 0.3, 0.2, 0.2]], original=[2, 1])
    for seed in range(20):
        assert rows(MajorityTarget(), of, seed).tolist() == [[0, 0, 1, 0], [0, 1, 0, 0]]


@pytest.mark.parametrize("original", [None, [1] * 3000])
def test_any_other_tie_is_drawn_evenly(original: list[int] | None) -> None:
    """Of .3 0 .3 .3 .1 the tied are 0, 2, 3; 1,000 each of 3,000 within four deviations of sqrt(3000 2/9) = 26."""
    of = training_set(5, 3000, people=[[0.3, 0.0, 0.3, 0.3, 0.1]] * 3000, original=original)
    counts = rows(MajorityTarget(), of, 4).sum(axis=0)
    assert counts[[1, 4]].tolist() == [0, 0]
    assert (np.abs(counts[[0, 2, 3]] - 1000) < 104).all()


def test_soft() -> None:
    people = [[0.1, 0.2, 0.7], [1 / 3, 1 / 3, 1 / 3]]
    np.testing.assert_array_equal(rows(SoftTarget(), training_set(3, 2, people=people)), np.array(people))


def test_sampled() -> None:
    labels = SampledTarget().labels(
        training_set(3, 2, people=[[0.2, 0.0, 0.8], [0.0, 1.0, 0.0]]), np.random.default_rng(0)
    )
    assert isinstance(labels, SampledLabels)
    got = labels.at(torch.tensor([0, 0, 0, 0, 1]), torch.tensor([0.0, 0.19, 0.21, 0.99, 0.5]))
    assert got.argmax(1).tolist() == [0, 0, 2, 2, 1]


# --- deaggregated ---

BELIEFS = AnnotatorBeliefs(
    np.array([[1.0, 0.0], [0.6, 0.4], [0.2, 0.8], [0.0, 1.0]]), np.array([0, 3, 4]), np.array([0, 1, 2, 1]), 3
)


def test_deaggregated_gives_one_belief_at_a_time() -> None:
    labels = DeaggregatedTarget().labels(training_set(2, 2, beliefs=BELIEFS), np.random.default_rng(0))
    assert isinstance(labels, PooledLabels)
    got = labels.at(torch.tensor([0, 0, 0, 1, 1]), torch.tensor([0.1, 0.5, 0.9, 0.1, 0.9]))
    close(got.numpy(), [[1, 0], [0.6, 0.4], [0.2, 0.8], [0, 1], [0, 1]])
    # (1 + .6 + .2) / 3 = .6
    close(labels.mean(), [[0.6, 0.4], [0, 1]])


def test_a_pool_of_two_is_two_of_the_items_annotators_all_pairs_alike() -> None:
    """Means of item 0: .8 without the third, .6 without the second, .4 without the first; item 1 keeps its only one."""
    seen: Counter[float] = Counter()
    for seed in range(600):
        got = rows(DeaggregatedTarget(annotators=2), training_set(2, 2, beliefs=BELIEFS), seed)
        close(got[1], [0, 1])
        seen[round(float(got[0, 0]), 6)] += 1
    assert set(seen) == {0.8, 0.6, 0.4}
    assert chisquare(list(seen.values())).pvalue > 0.001


def test_a_pool_larger_than_the_people_keeps_all() -> None:
    close(rows(DeaggregatedTarget(annotators=9), training_set(2, 2, beliefs=BELIEFS)), [[0.6, 0.4], [0, 1]])


def test_a_pool_is_drawn_once() -> None:
    """At every luck the same one belief of item 0, since the pool is one annotator."""
    labels = DeaggregatedTarget(annotators=1).labels(training_set(2, 2, beliefs=BELIEFS), np.random.default_rng(2))
    got = labels.at(torch.zeros(50, dtype=torch.int64), torch.linspace(0, 0.99, 50)).numpy()
    assert len(np.unique(got, axis=0)) == 1
    assert any(np.allclose(got[0], row) for row in BELIEFS.rows[:3])


@pytest.mark.parametrize("annotators", [None, 2])
def test_an_item_nobody_judged_is_named(annotators: int | None) -> None:
    of = training_set(2, 3, beliefs=AnnotatorBeliefs(BELIEFS.rows, np.array([0, 3, 3, 4]), BELIEFS.annotators, 3))
    with pytest.raises(BadTable, match="found no belief about item 'i1'") as caught:
        rows(DeaggregatedTarget(annotators), of)
    assert caught.value.code == "missing-belief"


# --- smoothing, class-level, uniform, random ---


def test_smoothing_gives_some_to_every_class() -> None:
    # .9 + .1 / 4 = .925, .1 / 4 = .025
    close(rows(SmoothingTarget(), training_set(4, 1, original=[2])), [[0.025, 0.025, 0.925, 0.025]])
    close(rows(SmoothingTarget(share=0.0), training_set(4, 1, original=[2])), [[0, 0, 1, 0]])
    close(rows(SmoothingTarget(share=1.0), training_set(4, 1, original=[2])), [[0.25] * 4])


def test_class_level_is_the_mean_of_the_class() -> None:
    """Class 0: items 0, 1, 3; class 1: item 2. Majorities: 0, 1, 1, 0, so 0: items 0, 3; 1: items 1, 2."""
    people = [[0.8, 0.2, 0.0], [0.1, 0.6, 0.3], [0.2, 0.8, 0.0], [0.9, 0.1, 0.0]]
    of = training_set(3, 4, people=people, original=[0, 0, 1, 0])
    zero, one = [0.6, 0.3, 0.1], [0.2, 0.8, 0.0]
    close(rows(ClassLevelTarget(), of), [zero, zero, one, zero])
    zero, one = [0.85, 0.15, 0.0], [0.15, 0.7, 0.15]
    close(rows(ClassLevelTarget(by="majority"), of), [zero, one, one, zero])


def test_uniform() -> None:
    close(rows(UniformTarget(), training_set(5, 3)), np.full((3, 5), 0.2))


def test_random_classes_are_alike_in_chance_and_drawn_once() -> None:
    got = rows(RandomTarget(), training_set(4, 4000), 1)
    assert ((got == 0) | (got == 1)).all()
    assert chisquare(got.sum(axis=0)).pvalue > 0.001
    assert not np.array_equal(got, rows(RandomTarget(), training_set(4, 4000), 2))


def test_random_distributions_are_alike_in_chance() -> None:
    """Dirichlet of four ones: each mean 1/4, variance (1/4)(3/4)/5 = .0375."""
    got = rows(RandomTarget(form="soft"), training_set(4, 20000), 1)
    np.testing.assert_allclose(got.mean(axis=0), 0.25, atol=4 * (0.0375 / 20000) ** 0.5)
    np.testing.assert_allclose(got.var(axis=0), 0.0375, rtol=0.05)


# --- tempered, distilled ---


@pytest.mark.parametrize(
    ("temperature", "expected"),
    [
        (1.0, [0.8, 0.2, 0.0]),
        (2.0, [2 / 3, 1 / 3, 0.0]),  # sqrt(.8) : sqrt(.2) = 2 : 1
        (0.5, [16 / 17, 1 / 17, 0.0]),  # .64 : .04 = 16 : 1
        (1e-3, [1.0, 0.0, 0.0]),
        (1e-300, [1.0, 0.0, 0.0]),
        (5e-324, [1.0, 0.0, 0.0]),
        (1e300, [0.5, 0.5, 0.0]),  # what nobody chose stays at nothing
    ],
)
def test_tempered(temperature: float, expected: list[float]) -> None:
    of = training_set(3, 2, people=[[0.8, 0.2, 0.0], [0.0, 0.5, 0.5]])
    got = rows(TemperedTarget(temperature=temperature), of)
    close(got[0], expected)
    # What is tied stays tied at every temperature.
    close(got[1], [0.0, 0.5, 0.5])


def test_hardly_possible_classes_keep_their_order_when_tempered() -> None:
    got = tempered(np.array([[1 - 1e-12, 1e-12 - 1e-300, 1e-300]]), 100.0)
    # 1 : 10 ** (-12 / 100) : 10 ** (-300 / 100)
    parts = np.array([1, 10**-0.12, 10**-3.0])
    np.testing.assert_allclose(got, [parts / parts.sum()], rtol=1e-10)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), power=st.floats(-320, 300), doubt=st.sampled_from([0.01, 1.0, 30.0]))
def test_tempered_is_a_distribution_at_every_temperature(seed: int, power: float, doubt: float) -> None:
    probs = np.random.default_rng(seed).dirichlet(np.full(6, doubt), 5)
    got = tempered(probs, max(10.0**power, 5e-324))
    np.testing.assert_allclose(got.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert ((got == 0) | (probs > 0)).all()
    larger = probs[:, :, None] >= probs[:, None, :]
    assert (got[:, :, None] >= got[:, None, :])[larger].all()


def test_distilled_mixes_the_teacher_with_the_original_class() -> None:
    of = training_set(2, 2, predicted=[[0.8, 0.2], [0.0, 1.0]], original=[0, 0])
    close(rows(DistilledTarget(), of), [[0.8, 0.2], [0, 1]])
    close(rows(DistilledTarget(temperature=2.0), of), [[2 / 3, 1 / 3], [0, 1]])
    # half of 2/3 and 1, half of 1/3 and 0
    close(rows(DistilledTarget(temperature=2.0, share=0.5), of), [[5 / 6, 1 / 6], [0.5, 0.5]])
    close(rows(DistilledTarget(share=0.0), of), [[1, 0], [1, 0]])


def test_distilled_is_the_weighted_sum_of_two_losses() -> None:
    of = training_set(3, 2, predicted=[[0.7, 0.2, 0.1], [0.3, 0.3, 0.4]], original=[0, 1])
    logits = torch.tensor([[0.3, -1.0, 2.0], [1.0, 0.5, 0.0]])
    loss = torch.nn.functional.cross_entropy
    teacher = loss(logits, torch.tensor([[0.7, 0.2, 0.1], [0.3, 0.3, 0.4]]))
    hard = loss(logits, torch.tensor([0, 1]))
    mixed = loss(logits, torch.from_numpy(rows(DistilledTarget(share=0.7), of)).float())
    torch.testing.assert_close(mixed, 0.7 * teacher + 0.3 * hard)


# --- shuffled ---


def doubtful(n_items: int, n_classes: int, seed: int) -> TrainingSet:
    rng = np.random.default_rng(seed)
    people = rng.dirichlet(np.ones(n_classes), n_items)
    return training_set(n_classes, n_items, people=people, original=rng.integers(n_classes, size=n_items))


@pytest.mark.parametrize("by", ["original", "majority"])
def test_shuffled_keeps_the_rows_of_a_class_and_no_item_its_own(by: Any) -> None:
    of = doubtful(300, 6, 3)
    assert of.people is not None
    assert of.original is not None
    group = of.original if by == "original" else of.people.argmax(axis=1)
    people = of.people
    for seed in range(10):
        got = rows(ShuffledTarget(by=by), of, seed)
        for k in range(6):
            assert sorted(map(tuple, got[group == k])) == sorted(map(tuple, people[group == k]))
        assert not (got == people).all(axis=1).any()
    assert not np.array_equal(got, rows(ShuffledTarget(by=by), of, 0))


def test_an_item_alone_in_its_class_keeps_its_row() -> None:
    of = training_set(3, 3, people=[[0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]], original=[0, 2, 0])
    close(rows(ShuffledTarget(), of), [[0.2, 0.2, 0.6], [0.1, 0.8, 0.1], [0.5, 0.3, 0.2]])


@settings(max_examples=60, deadline=None, derandomize=True)
@given(groups=st.lists(st.integers(0, 5), max_size=40), seed=st.integers(0, 10**6))
def test_every_group_is_one_cycle(groups: list[int], seed: int) -> None:
    group = np.array(groups, np.int64)
    source = cycles(group, np.random.default_rng(seed))
    assert sorted(source.tolist()) == list(range(len(groups)))
    for item in range(len(groups)):
        path, now = {item}, int(source[item])
        while now != item:
            path.add(now)
            now = int(source[now])
        assert path == set(np.flatnonzero(group == group[item]).tolist())


def test_all_cycles_are_alike_in_chance() -> None:
    """Four items have 3! = 6 cycles."""
    rng = np.random.default_rng(5)
    seen = Counter(tuple(cycles(np.zeros(4, np.int64), rng).tolist()) for _ in range(1200))
    assert len(seen) == 6
    assert chisquare(list(seen.values())).pvalue > 0.001


# --- entropy-matched ---


def test_with_two_classes_the_entropy_tells_everything() -> None:
    """The label is people's own, turned to the original class where they lean to the other."""
    of = training_set(2, 4, people=[[0.9, 0.1], [0.2, 0.8], [0.7, 0.3], [0.5, 0.5]], original=[0, 1, 1, 0])
    close(rows(EntropyMatchedTarget(), of), [[0.9, 0.1], [0.2, 0.8], [0.3, 0.7], [0.5, 0.5]])


def test_a_smoothed_row_gets_itself_back() -> None:
    of = training_set(4, 2, people=[[0.925, 0.025, 0.025, 0.025], [0.1, 0.1, 0.1, 0.7]], original=[0, 3])
    close(rows(EntropyMatchedTarget(), of), of.people)


def test_certainty_is_exact_and_so_is_none() -> None:
    """The third is uniform, the fourth a sure choice of another class than the original."""
    people = np.array([[1, 0, 0], [0, 1, 0], [1 / 3, 1 / 3, 1 / 3], [0, 0, 1]], np.float64)
    got = rows(EntropyMatchedTarget(), training_set(3, 4, people=people, original=[0, 1, 1, 0]))
    assert got[[0, 1, 3]].tolist() == [[1, 0, 0], [0, 1, 0], [1, 0, 0]]
    close(got[2], [1 / 3] * 3)


def test_more_entropy_than_there_can_be_is_uniform() -> None:
    assert smoothing_shares(np.array([log(7) + 1e-9, log(7), np.nextafter(log(7), 9), 0.0]), 7).tolist() == [1, 1, 1, 0]


def test_smoothed_entropy_by_hand() -> None:
    # K = 4, s = .4: .7, .1, .1, .1
    by_hand = -(0.7 * log(0.7) + 3 * 0.1 * log(0.1))
    np.testing.assert_allclose(smoothed_entropy(np.array([0.4, 0.0, 1.0]), 4), [by_hand, 0, log(4)], atol=1e-15)
    # For a small s the entropy is (K - 1) s / K times (ln(K / s) + 1), and the rest is of the order of s squared.
    np.testing.assert_allclose(smoothed_entropy(np.array([1e-12]), 4), 0.75e-12 * log(4e12 * e), rtol=1e-11)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(n_classes=st.sampled_from([2, 3, 10, 100, 1000]), part=st.floats(0, 1), power=st.integers(0, 14))
def test_the_entropy_is_met(n_classes: int, part: float, power: int) -> None:
    doubt = part * 10.0**-power * log(n_classes)
    share = smoothing_shares(np.array([doubt]), n_classes)
    assert 0 <= share[0] <= 1
    np.testing.assert_allclose(smoothed_entropy(share, n_classes), doubt, rtol=1e-9, atol=1e-15)
    label = (1 - share[0]) * one_hot([0], n_classes) + share[0] / n_classes
    np.testing.assert_allclose(entropy(label), doubt, rtol=0, atol=1e-10)


def test_shares_are_those_of_another_solver() -> None:
    for doubt in (0.001, 0.2, 1.0, 2.2):
        other = brentq(lambda s, doubt=doubt: float(smoothed_entropy(np.array([s]), 10)[0]) - doubt, 0, 1, xtol=1e-15)
        np.testing.assert_allclose(smoothing_shares(np.array([doubt]), 10), other, rtol=0, atol=1e-13)


def test_each_item_has_its_own_entropy_or_all_the_mean_one() -> None:
    of = doubtful(200, 5, 8)
    assert of.people is not None
    assert of.original is not None
    doubt = entropy(of.people)
    item = rows(EntropyMatchedTarget(), of).astype(np.float64)
    np.testing.assert_allclose(entropy(item), doubt, rtol=0, atol=1e-6)
    mean = rows(EntropyMatchedTarget(level="mean"), of).astype(np.float64)
    np.testing.assert_allclose(entropy(mean), doubt.mean(), rtol=0, atol=1e-6)
    for got in (item, mean):
        others = got[one_hot(of.original, 5) == 0].reshape(200, 4)
        np.testing.assert_array_equal(others, others[:, :1].repeat(4, axis=1))
        assert (got[np.arange(200), of.original] >= others[:, 0]).all()
