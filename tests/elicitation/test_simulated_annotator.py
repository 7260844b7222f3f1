"""Simulated annotators are as their settings say, and their answers are answers of every kind."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sfumato import SoftLabels
from sfumato.elicitation.kinds import KINDS, kind_of
from sfumato.elicitation.simulated_annotator import (
    FittedAnnotator,
    PresentedQuestion,
    SimulatedAnnotator,
    Truth,
    drawn_annotators,
)
from sfumato.labeling import ClassSimilarity
from sfumato.labeling.simulated_soft_labels import SimulatedTopTwo
from sfumato.study.stimulus import Item, Stimulus
from sfumato.study.study import ItemSource, Question, Study, StudyClass
from sfumato.tables.doubt import entropy
from sfumato.tables.errors import BadSetting, BadTable

CLASSES = ("cat", "dog", "horse", "ship", "truck")
TRUTH = np.array([0.6, 0.25, 0.1, 0.05, 0.0])
ITEMS = [Item(f"item-{n}", picture=Path(f"item-{n}.png"), given=CLASSES[n % len(CLASSES)]) for n in range(30)]


def study(kind: str) -> Study:
    return Study("s", "S", tuple(map(StudyClass, CLASSES)), ItemSource(), Question(kind))


def beliefs(n: int = 400, truth: np.ndarray = TRUTH, **settings: float | tuple[float, ...]) -> np.ndarray:
    rng = np.random.default_rng(5)
    person = SimulatedAnnotator(**settings)
    return np.array([person.belief(truth, rng) for _ in range(n)])


def distance(found: np.ndarray, truth: np.ndarray = TRUTH) -> float:
    return float(np.abs(found - truth).sum(axis=1).mean() / 2)


def test_beliefs_are_distributions() -> None:
    for power in (0.2, 1.0, 400.0):
        found = beliefs(overconfidence=power, skill=0.5, attention=0.5, bias=(9.0, 1.0, 1.0, 1.0, 0.1))
        np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-12)
        assert found.min() >= 0


def test_the_wholly_able_see_the_truth() -> None:
    np.testing.assert_allclose(beliefs(n=3, skill=1.0), np.tile(TRUTH, (3, 1)), atol=1e-12)


def test_skill_brings_beliefs_nearer_to_the_truth() -> None:
    distances = [distance(beliefs(skill=skill)) for skill in (0.0, 0.3, 0.6, 0.9)]
    assert distances == sorted(distances, reverse=True)
    # Between a truth and what is skill of it, noise else, lies a share 1 - skill of the distance to noise.
    assert distances[3] == pytest.approx(0.1 * distances[0], rel=1e-9)


def test_overconfidence_sharpens_by_its_power() -> None:
    expected = TRUTH**2 / (TRUTH**2).sum()
    np.testing.assert_allclose(beliefs(n=1, skill=1.0, overconfidence=2.0)[0], expected, atol=1e-12)
    doubts = [entropy(beliefs(skill=0.8, overconfidence=power)).mean() for power in (0.5, 1.0, 2.0)]
    assert doubts == sorted(doubts, reverse=True)


def test_bias_leans_towards_a_class_by_its_weight() -> None:
    found = beliefs(n=1, skill=1.0, bias=(1.0, 3.0, 1.0, 1.0, 1.0))[0]
    assert found[1] / found[0] == pytest.approx(3 * TRUTH[1] / TRUTH[0])


def test_without_attention_the_truth_does_not_matter() -> None:
    np.testing.assert_array_equal(
        beliefs(attention=0.0), beliefs(attention=0.0, truth=np.array([0.0, 0.0, 0.0, 0.0, 1.0]))
    )
    looked = (np.abs(beliefs(n=2000, skill=1.0, attention=0.7) - TRUTH) < 1e-9).all(axis=1)
    assert looked.mean() == pytest.approx(0.7, abs=0.04)


def test_seconds_have_the_median_and_grow_with_doubt() -> None:
    rng = np.random.default_rng(5)
    person = SimulatedAnnotator(median_seconds=4.0)
    clear = [person.seconds(np.array([1.0, 0.0]), rng) for _ in range(4000)]
    torn = [person.seconds(np.array([0.5, 0.5]), rng) for _ in range(4000)]
    assert np.median(clear) == pytest.approx(4.0, rel=0.05)
    assert np.median(torn) == pytest.approx(4.0 * np.exp(0.6), rel=0.05)
    assert min(clear) > 0


@pytest.mark.parametrize(
    "settings",
    [{"skill": 1.1}, {"attention": -0.1}, {"overconfidence": 0.0}, {"median_seconds": 0.0}, {"bias": (0.0,)}],
)
def test_settings_out_of_range(settings: dict[str, float]) -> None:
    with pytest.raises(BadSetting, match=next(iter(settings))):
        SimulatedAnnotator(**settings)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_answers_are_answers_of_the_kind(kind: type) -> None:
    asked = study(kind.name)
    made = kind_of(asked)
    truth = Truth.built_in(CLASSES, ITEMS)
    rng = np.random.default_rng(5)
    for stimulus in made.stimuli(ITEMS, asked)[:60]:
        for person in drawn_annotators(4, len(CLASSES), rng, careless=0.5):
            response = person.answer(truth.shown(stimulus), PresentedQuestion(made, stimulus, asked), rng)
            made.parse(response.raw, stimulus, asked)
            assert 0 < response.seconds < 10_000


def fitted() -> SimulatedTopTwo:
    return SimulatedTopTwo(similarity=ClassSimilarity(CLASSES, Truth.built_in(CLASSES).alikeness(map(str, range(200)))))


def test_fitted_annotators_fill_in_the_form_as_cifar_10s_people_did() -> None:
    asked, rng = study("top_two"), np.random.default_rng(5)
    kind, person = kind_of(asked), FittedAnnotator(fitted())
    clear = np.array([0.98, 0.02, 0.0, 0.0, 0.0])
    firsts = {}
    for name, truth in (("clear", clear), ("doubtful", TRUTH)):
        answers = [person.answer([truth], PresentedQuestion(kind, Stimulus("a"), asked), rng).raw for _ in range(1500)]
        for answer in answers:
            kind.parse(answer, Stimulus("a"), asked)
        chosen = np.mean([answer["first"] == "cat" for answer in answers])
        assert chosen == pytest.approx(truth[0], abs=0.05)
        firsts[name] = np.mean([answer["first_percent"] for answer in answers])
    # Means of the two fitted Betas: 2.874 / 2.976 and 1.703 / 2.033.
    assert firsts["clear"] == pytest.approx(96.6, abs=1.5)
    assert firsts["doubtful"] == pytest.approx(83.8, abs=2)


def test_a_crowd_is_drawn_by_its_seed_and_its_shares() -> None:
    crowd = drawn_annotators(400, 5, np.random.default_rng(5), careless=0.25, fitted=fitted(), share_fitted=0.5)
    again = drawn_annotators(400, 5, np.random.default_rng(5), careless=0.25)
    assert np.mean([isinstance(person, FittedAnnotator) for person in crowd]) == pytest.approx(0.5, abs=0.08)
    assert np.mean([person.attention <= 0.5 for person in crowd]) == pytest.approx(0.25, abs=0.07)
    assert again == drawn_annotators(400, 5, np.random.default_rng(5), careless=0.25)
    assert len({person.skill for person in again}) == 400
    assert not any(isinstance(person, FittedAnnotator) for person in again)


def test_the_built_in_truth_is_fixed_and_contains_uncertainty() -> None:
    truth = Truth.built_in(CLASSES, ITEMS)
    probs = np.array([truth.of(item.id) for item in ITEMS])
    np.testing.assert_allclose(probs.sum(axis=1), 1)
    assert probs.argmax(axis=1).tolist() == [n % len(CLASSES) for n in range(30)]
    np.testing.assert_array_equal(Truth.built_in(CLASSES, ITEMS).of("item-3"), probs[3])
    many = np.array([truth.of(f"other-{n}") for n in range(1000)])
    assert 0.4 < (entropy(many) < 0.25).mean() < 0.8
    assert np.bincount(many.argmax(axis=1), minlength=5).min() > 140


def test_a_truth_of_labels_is_matched_by_name() -> None:
    labels = SoftLabels.from_numpy(["b", "a"], [[0.1, 0.9], [0.8, 0.2]], ["dog", "cat"])
    truth = Truth.from_labels(labels, ("cat", "dog"), [Item("a"), Item("b")])
    np.testing.assert_allclose(truth.of("a"), [0.2, 0.8])
    np.testing.assert_allclose(truth.of("b"), [0.9, 0.1])
    with pytest.raises(BadTable, match="missing-item"):
        Truth.from_labels(labels, ("cat", "dog"), [Item("c")])
    with pytest.raises(BadSetting, match="wrong-classes"):
        Truth.from_labels(labels, ("cat", "ship"), [Item("a")])


def test_a_mixed_picture_is_as_it_was_mixed() -> None:
    rows = {"a": np.array([1.0, 0.0]), "b": np.array([0.0, 1.0])}
    truth = Truth(("cat", "dog"), rows.__getitem__)
    mixed = Stimulus("a+b@0.3", context={"classes": ["cat", "dog"], "mix": 0.3, "of": ["a", "b"]})
    np.testing.assert_allclose(truth.shown(mixed), [[0.3, 0.7]])
    np.testing.assert_allclose(truth.shown(Stimulus("a", ("b", "a"))), [[1, 0], [0, 1], [1, 0]])
    np.testing.assert_allclose(truth.alikeness(["a", "b"]), [[0.5, 0], [0, 0.5]])
