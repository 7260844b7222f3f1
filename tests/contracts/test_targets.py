"""What every target must do. A target is tested by standing in `TARGETS`; each contract rejects a wrong one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfumato.tables.errors import BadSetting, UnknownName
from sfumato.training.target_labels import FixedLabels, SampledLabels, TargetLabels
from sfumato.training.targets import (
    TARGETS,
    ClassLevelTarget,
    DeaggregatedTarget,
    DistilledTarget,
    EntropyMatchedTarget,
    RandomTarget,
    ShuffledTarget,
    SmoothingTarget,
    Target,
    TemperedTarget,
    target_named,
)
from sfumato.training.training_set import AnnotatorBeliefs, TrainingSet, one_hot

OPTIONS = {"original": "original=", "people": "labels=", "beliefs": "beliefs=", "predicted": "teacher="}
NEEDS: dict[str, set[str]] = {
    "hard": {"original"},
    "majority": {"people"},
    "soft": {"people"},
    "sampled": {"people"},
    "deaggregated": {"beliefs"},
    "smoothing": {"original"},
    "class-level": {"original", "people"},
    "distilled": {"predicted"},
    "tempered": {"people"},
    "shuffled": {"original", "people"},
    "entropy-matched": {"original", "people"},
    "uniform": set(),
    "random": set(),
}
"""The sources each needs as it is by default; what else there is must not matter."""

MADE: tuple[Target, ...] = (
    *(target() for target in TARGETS),
    ClassLevelTarget(by="majority"),
    ShuffledTarget(by="majority"),
    DeaggregatedTarget(annotators=2),
    RandomTarget(form="soft"),
    DistilledTarget(temperature=3.0, share=0.6),
    TemperedTarget(temperature=0.3),
    EntropyMatchedTarget(level="mean"),
    SmoothingTarget(share=0.0),
    SmoothingTarget(share=1.0),
)
DOUBTS_ANYWAY = ("smoothing", "uniform", "random")
"""Those that are unsure of an item nobody is unsure of."""


def drawn(n_items: int, n_classes: int, seed: int, doubt: float = 0.5) -> TrainingSet:
    """A training_set with every source: people lean to the original class, mostly; one to six beliefs an item."""
    rng = np.random.default_rng(seed)
    original = rng.integers(n_classes, size=n_items)
    lean = 0.6 * one_hot(original, n_classes)
    people = lean + 0.4 * rng.dirichlet(np.full(n_classes, doubt), n_items)
    people[::4] = rng.dirichlet(np.full(n_classes, doubt), len(people[::4]))
    people[people < 0.01] = 0
    people /= people.sum(axis=1, keepdims=True)
    counts = rng.integers(1, 7, n_items)
    rows = rng.dirichlet(np.full(n_classes, doubt), int(counts.sum()))
    pool = AnnotatorBeliefs(rows, np.concatenate(([0], np.cumsum(counts))), rng.integers(9, size=len(rows)), 9)
    return TrainingSet(
        tuple(f"item-{i}" for i in range(n_items)),
        tuple(f"class-{k}" for k in range(n_classes)),
        original,
        people,
        pool,
        rng.dirichlet(np.ones(n_classes), n_items),
    )


TRAINING_SET = drawn(200, 5, seed=1)


def made_by(target: Target, training_set: TrainingSet, seed: int = 7) -> TargetLabels:
    return target.labels(training_set, np.random.default_rng(seed))


def at(labels: TargetLabels, index: np.ndarray, chance: np.ndarray) -> np.ndarray:
    got = labels.at(torch.from_numpy(index), torch.from_numpy(chance))
    assert got.dtype == torch.float32
    return got.numpy()


def accesses(training_set: TrainingSet, each: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Every item `each` times in no order, with luck from the first number there is to the last below one."""
    rng = np.random.default_rng(3)
    index = rng.permutation(np.repeat(np.arange(training_set.n_items), each))
    chance = rng.random(len(index), dtype=np.float32)
    chance[:2] = 0.0, np.nextafter(np.float32(1), np.float32(0))
    return index, chance


# The contracts: each takes a target and a training_set with every source, and fails for a target that breaks it.


def gives_a_distribution_at_every_access(target: Target, training_set: TrainingSet) -> None:
    labels = made_by(target, training_set)
    index, chance = accesses(training_set)
    assert at(labels, index, chance).dtype == np.float32
    for got in (at(labels, index, chance), labels.mean()):
        assert np.isfinite(got).all()
        assert (got >= 0).all()
        np.testing.assert_allclose(got.sum(axis=1, dtype=np.float64), 1, rtol=0, atol=1e-6)
    assert at(labels, index, chance).shape == (len(index), training_set.n_classes)
    assert labels.mean().shape == (training_set.n_items, training_set.n_classes)


def answers_each_access_by_itself(target: Target, training_set: TrainingSet) -> None:
    labels = made_by(target, training_set)
    index, chance = accesses(training_set)
    got = at(labels, index, chance)
    np.testing.assert_array_equal(at(labels, index[::-1].copy(), chance[::-1].copy()), got[::-1])
    np.testing.assert_array_equal(at(labels, index[5:6], chance[5:6]), got[5:6])
    np.testing.assert_array_equal(at(labels.to(torch.device("cpu")), index, chance), got)


def means_what_it_gives(target: Target, training_set: TrainingSet) -> None:
    """The mean over a fine grid of chance, which 1 to 6 rows divide evenly, so that only drawn votes are rounded."""
    labels = made_by(target, training_set)
    n = 480
    sums = np.zeros((training_set.n_items, training_set.n_classes))
    for step in range(n):
        sums += at(labels, np.arange(training_set.n_items), np.full(training_set.n_items, (step + 0.5) / n))
    tolerance = 1 / n if isinstance(labels, SampledLabels) else 1e-6
    np.testing.assert_allclose(labels.mean(), sums / n, rtol=0, atol=tolerance)


def repeats_by_seed(target: Target, training_set: TrainingSet) -> None:
    one, other = made_by(target, training_set, 5), made_by(target, training_set, 5)
    np.testing.assert_array_equal(one.mean(), other.mean())
    np.testing.assert_array_equal(at(one, *accesses(training_set)), at(other, *accesses(training_set)))


def arrays_of(training_set: TrainingSet) -> list[np.ndarray]:
    assert training_set.original is not None
    assert training_set.people is not None
    assert training_set.beliefs is not None
    assert training_set.predicted is not None
    pool = training_set.beliefs
    return [training_set.original, training_set.people, training_set.predicted, pool.rows, pool.starts, pool.annotators]


def in_single_precision(training_set: TrainingSet) -> TrainingSet:
    original, people, predicted, rows, starts, annotators = arrays_of(training_set)
    assert training_set.beliefs is not None
    pool = AnnotatorBeliefs(rows.astype(np.float32), starts, annotators, training_set.beliefs.n_annotators)
    return TrainingSet(
        training_set.items,
        training_set.classes,
        original,
        people.astype(np.float32),
        pool,
        predicted.astype(np.float32),
    )


def leaves_the_training_set_alone(target: Target, training_set: TrainingSet) -> None:
    """Neither making labels nor writing into them reaches the training_set; single precision could be shared unseen."""
    for each in (training_set, in_single_precision(training_set)):
        # A copy, so that a target that does write spoils nothing for the next test.
        own = each.take(np.arange(each.n_items))
        before = [array.tobytes() for array in arrays_of(own)]
        labels = made_by(target, own)
        at(labels, *accesses(own))[:] = 7
        labels.mean()[:] = 7
        assert [array.tobytes() for array in arrays_of(own)] == before


def is_sure_where_everybody_is(target: Target, training_set: TrainingSet) -> None:
    """Where all sources say the same without doubt, the labels are the hard ones, exactly, whatever the luck."""
    if target.name in DOUBTS_ANYWAY:
        return
    assert training_set.original is not None
    assert training_set.beliefs is not None
    hard = one_hot(training_set.original, training_set.n_classes)
    pool = replace(training_set.beliefs, rows=np.repeat(hard, np.diff(training_set.beliefs.starts), axis=0))
    sure = replace(training_set, people=hard, beliefs=pool, predicted=hard)
    labels = made_by(target, sure)
    index, chance = accesses(sure)
    np.testing.assert_array_equal(at(labels, index, chance), hard[index])
    np.testing.assert_array_equal(labels.mean(), hard)


def treats_classes_alike(target: Target, training_set: TrainingSet) -> None:
    """Classes in another order give the same labels with the columns in that order."""
    if target.name == "random":
        return
    order = np.random.default_rng(11).permutation(training_set.n_classes)
    original, people, predicted, rows, starts, annotators = arrays_of(training_set)
    assert training_set.beliefs is not None
    other = TrainingSet(
        training_set.items,
        tuple(training_set.classes[k] for k in order),
        np.argsort(order)[original],
        people[:, order],
        AnnotatorBeliefs(rows[:, order], starts, annotators, training_set.beliefs.n_annotators),
        predicted[:, order],
    )
    got, plain = made_by(target, other).mean(), made_by(target, training_set).mean()
    np.testing.assert_allclose(got, plain[:, order], rtol=0, atol=1e-6)


def ignores_the_order_of_items(target: Target, training_set: TrainingSet) -> None:
    if target.name in ("random", "shuffled") or getattr(target, "annotators", None) is not None:
        return
    order = np.random.default_rng(13).permutation(training_set.n_items)
    plain, other = made_by(target, training_set), made_by(target, training_set.take(order))
    index, chance = accesses(training_set)
    np.testing.assert_allclose(at(other, index, chance), at(plain, order[index], chance), rtol=0, atol=1e-6)
    np.testing.assert_allclose(other.mean(), plain.mean()[order], rtol=0, atol=1e-6)


CONTRACTS = (
    gives_a_distribution_at_every_access,
    answers_each_access_by_itself,
    means_what_it_gives,
    repeats_by_seed,
    leaves_the_training_set_alone,
    is_sure_where_everybody_is,
    treats_classes_alike,
    ignores_the_order_of_items,
)


@pytest.mark.parametrize("target", MADE, ids=repr)
@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract.__name__)
def test_contract(contract: Callable[[Target, TrainingSet], None], target: Target) -> None:
    contract(target, TRAINING_SET)


@pytest.mark.parametrize("target", MADE, ids=repr)
@settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.differing_executors])
@given(
    n_items=st.integers(1, 30),
    n_classes=st.integers(2, 7),
    seed=st.integers(0, 10**6),
    doubt=st.sampled_from([0.02, 0.5, 50.0]),
)
def test_contracts_of_lessons_of_all_sizes(
    target: Target, n_items: int, n_classes: int, seed: int, doubt: float
) -> None:
    training_set = drawn(n_items, n_classes, seed, doubt)
    for contract in CONTRACTS:
        if contract is not means_what_it_gives:
            contract(target, training_set)


def asks_for_what_it_needs(target: Target, needed: set[str]) -> None:
    """Without a source it needs: an error that names the target and the option. Without the others: the same labels."""
    full = made_by(target, TRAINING_SET).mean()
    bare = replace(TRAINING_SET, **{source: None for source in OPTIONS if source not in needed})
    np.testing.assert_array_equal(made_by(target, bare).mean(), full)
    for source in needed:
        with pytest.raises(BadSetting, match=target.name) as caught:
            made_by(target, replace(TRAINING_SET, **{source: None}))
        assert caught.value.code == "missing-source"
        assert OPTIONS[source] in caught.value.fix


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_sources(target: Any) -> None:
    asks_for_what_it_needs(target(), NEEDS[target.name])
    assert set(target.sources) == NEEDS[target.name]


def test_sources_that_depend_on_settings() -> None:
    asks_for_what_it_needs(DistilledTarget(share=0.5), {"predicted", "original"})
    asks_for_what_it_needs(ClassLevelTarget(by="majority"), {"people"})
    asks_for_what_it_needs(ShuffledTarget(by="majority"), {"people"})


def test_names_are_distinct_and_found() -> None:
    names = [target.name for target in TARGETS]
    assert len(set(names)) == len(names) == 13
    for target in TARGETS:
        assert target_named(target.name, {}) == target()
        assert isinstance(target(), Target)
    with pytest.raises(UnknownName, match="did you mean") as caught:
        target_named("sofd", {})
    assert caught.value.code == "unknown-target"


BAD: dict[str, tuple[Any, ...]] = {
    "annotators": (0, -1, 2.5),
    "share": (-0.1, 1.1, float("nan")),
    "temperature": (0.0, -1.0, float("nan"), float("inf")),
    "by": ("perhaps", ""),
    "form": ("perhaps",),
    "level": ("perhaps",),
}


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_settings_that_mean_nothing_are_refused(target: Any) -> None:
    with pytest.raises(BadSetting, match="found the setting magic"):
        target_named(target.name, {"magic": 1})
    for field in fields(target):
        for value in BAD[field.name]:
            with pytest.raises(BadSetting, match=field.name) as caught:
                target_named(target.name, {field.name: value})
            assert caught.value.code == "bad-setting"


# A wrong target for each contract: people's labels, with one thing not as it should be.


@dataclass(frozen=True)
class _Wrong:
    name: ClassVar[str] = "wrong"

    def labels(self, training_set: TrainingSet, rng: np.random.Generator) -> TargetLabels:
        return FixedLabels.of(self.spoilt(training_set.need_people(self.name), training_set, rng))

    def spoilt(self, people: np.ndarray, training_set: TrainingSet, rng: np.random.Generator) -> np.ndarray:
        return people


class _Unchecked(_Wrong):
    def labels(self, training_set: TrainingSet, rng: np.random.Generator) -> TargetLabels:
        return FixedLabels(self.spoilt(training_set.need_people(self.name), training_set, rng))


class SumsToTwo(_Unchecked):
    def spoilt(self, people: np.ndarray, training_set: TrainingSet, rng: np.random.Generator) -> np.ndarray:
        return (2 * people).astype(np.float32)


class OwesMass(_Unchecked):
    def spoilt(self, people: np.ndarray, training_set: TrainingSet, rng: np.random.Generator) -> np.ndarray:
        return (1.5 * people - 0.5 / training_set.n_classes).astype(np.float32)


class GivesNothing(_Unchecked):
    def spoilt(self, people: np.ndarray, training_set: TrainingSet, rng: np.random.Generator) -> np.ndarray:
        return np.where(people > 0, people, np.nan).astype(np.float32)


class _Doubles(FixedLabels):
    def at(self, index: torch.Tensor, chance: torch.Tensor) -> torch.Tensor:
        return super().at(index, chance).double()


class GivesDoubles(_Wrong):
    def labels(self, training_set: TrainingSet, rng: np.random.Generator) -> TargetLabels:
        return _Doubles(training_set.need_people(self.name))


class SharesMemory(_Wrong):
    def labels(self, training_set: TrainingSet, rng: np.random.Generator) -> TargetLabels:
        return _Windows(training_set.need_people(self.name))


class _Windows(FixedLabels):
    def mean(self) -> np.ndarray:
        return self.probs


class _ShiftedMean(FixedLabels):
    def mean(self) -> np.ndarray:
        return np.roll(super().mean(), 1, axis=1)


class SaysAnotherMean(_Wrong):
    def labels(self, training_set: TrainingSet, rng: np.random.Generator) -> TargetLabels:
        return _ShiftedMean(FixedLabels.of(training_set.need_people(self.name)).probs)


class _OneLuckForAll(SampledLabels):
    def at(self, index: torch.Tensor, chance: torch.Tensor) -> torch.Tensor:
        return super().at(index, chance[:1].expand(len(chance)))


class DrawsOnceForTheBatch(_Wrong):
    def labels(self, training_set: TrainingSet, rng: np.random.Generator) -> TargetLabels:
        right = SampledLabels.of(training_set.need_people(self.name))
        return _OneLuckForAll(right.probs)


class SeedsItself(_Wrong):
    def spoilt(self, people: np.ndarray, training_set: TrainingSet, rng: np.random.Generator) -> np.ndarray:
        return people[np.random.default_rng().permutation(len(people))]


class WritesIntoTheTrainingSet(_Wrong):
    def spoilt(self, people: np.ndarray, training_set: TrainingSet, rng: np.random.Generator) -> np.ndarray:
        people *= 0.5
        people += 0.5 / training_set.n_classes
        return people


class AlwaysDoubtsALittle(_Wrong):
    def spoilt(self, people: np.ndarray, training_set: TrainingSet, rng: np.random.Generator) -> np.ndarray:
        return 0.999 * people + 0.001 / training_set.n_classes


class LikesTheFirstClass(_Wrong):
    def spoilt(self, people: np.ndarray, training_set: TrainingSet, rng: np.random.Generator) -> np.ndarray:
        return 0.999 * people + 0.001 * one_hot([0], training_set.n_classes)


class LooksAtTheNextItem(_Wrong):
    def spoilt(self, people: np.ndarray, training_set: TrainingSet, rng: np.random.Generator) -> np.ndarray:
        return np.roll(people, 1, axis=0)


@pytest.mark.parametrize(
    ("contract", "wrong"),
    [
        (gives_a_distribution_at_every_access, SumsToTwo()),
        (gives_a_distribution_at_every_access, OwesMass()),
        (gives_a_distribution_at_every_access, GivesNothing()),
        (gives_a_distribution_at_every_access, GivesDoubles()),
        (answers_each_access_by_itself, DrawsOnceForTheBatch()),
        (means_what_it_gives, SaysAnotherMean()),
        (repeats_by_seed, SeedsItself()),
        (leaves_the_training_set_alone, WritesIntoTheTrainingSet()),
        (leaves_the_training_set_alone, SharesMemory()),
        (is_sure_where_everybody_is, AlwaysDoubtsALittle()),
        (treats_classes_alike, LikesTheFirstClass()),
        (ignores_the_order_of_items, LooksAtTheNextItem()),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_contract_rejects_a_wrong_target(contract: Callable[[Target, TrainingSet], None], wrong: Target) -> None:
    with pytest.raises(AssertionError):
        contract(wrong, TRAINING_SET)


def test_every_contract_holds_for_the_sound_part_of_the_wrong_ones() -> None:
    """What they share is no reason for a rejection."""
    for contract in CONTRACTS:
        contract(_Wrong(), TRAINING_SET)
    asks_for_what_it_needs(_Wrong(), {"people"})


class MakesDo(_Wrong):
    def labels(self, training_set: TrainingSet, rng: np.random.Generator) -> TargetLabels:
        known = training_set.people is not None
        return super().labels(training_set if known else replace(training_set, people=training_set.predicted), rng)


class PeeksAtTheTeacher(_Wrong):
    def spoilt(self, people: np.ndarray, training_set: TrainingSet, rng: np.random.Generator) -> np.ndarray:
        return people if training_set.predicted is None else (people + training_set.predicted) / 2


def test_a_target_that_makes_do_without_its_source_is_rejected() -> None:
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        asks_for_what_it_needs(MakesDo(), {"people"})


def test_a_target_that_uses_more_than_it_says_is_rejected() -> None:
    with pytest.raises(AssertionError):
        asks_for_what_it_needs(PeeksAtTheTeacher(), {"people"})
