"""People as a sample: what is left out, against counting again, and against the two-way jackknife over answers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sfumato.evaluation import Metric, match_labels, metric_from_name
from sfumato.evaluation.matched_labels import MatchedLabels
from sfumato.evaluation.people_jackknife import JackknifeAnswers, LeftOutPeople, PeopleLabels, plain, random_groups
from sfumato.evaluation.scored_metric import ScoredRun
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.bootstrap import Bootstrap
from sfumato.tables.soft_labels import SoftLabels
from sfumato.tables.two_way import AnswerDesign, two_way

CLASSES = ("cat", "dog", "emu")
N, J = 40, 7


def crowd(*, soft: bool, seed: int = 0) -> tuple[Beliefs, SoftLabels]:
    """Answers of seven people, about two thirds of forty items each, in a random order; and predictions."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(0, 1, (N, 1, 3)) + rng.normal(0, 0.7, (1, J, 3))
    item, person = np.nonzero(rng.random((N, J)) < 0.65)
    order = rng.permutation(len(item))
    item, person = item[order], person[order]
    ids, who = np.array([f"i{i}" for i in item]), np.array([f"p{j}" for j in person])
    logits = (truth + rng.normal(0, 1, (N, J, 3)))[item, person]
    if soft:
        probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        answers = Beliefs.from_probs(item=ids, annotator=who, probs=probs, classes=CLASSES)
    else:
        labels = np.array(CLASSES)[logits.argmax(axis=1)]
        answers = Beliefs.from_votes(item=ids, annotator=who, label=labels, classes=CLASSES)
    some = np.unique(item)
    predicted = rng.dirichlet([1, 1, 1], len(some))
    # Another order of classes and items: everything is matched by name.
    turned = SoftLabels.from_numpy([f"i{i}" for i in some[::-1]], predicted[:, ::-1], CLASSES[::-1], 0)
    return answers, turned


def matched_with(answers: Beliefs, predicted: SoftLabels) -> MatchedLabels:
    judged = PeopleLabels.of(answers)
    (found,) = judged.attach([match_labels(predicted=predicted, people=judged.labels, common=True)])
    return found


def without(answers: Beliefs, rows: np.ndarray) -> Beliefs:
    return answers.take(np.setdiff1d(np.arange(len(answers)), rows))


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("name", ["cross_entropy", "brier", "accuracy", "expected_accuracy", "jsd"])
def test_without_a_person_as_counted_again(name: str, soft: bool) -> None:
    answers, predicted = crowd(soft=soft)
    metric = metric_from_name(name)
    matched = matched_with(answers, predicted)
    linear = metric.estimate(matched, plain(len(matched))).own_linear
    assert linear is not None
    found = LeftOutPeople(matched).changes(metric, linear)
    assert found is not None
    assert found.answers is not None
    assert len(found.people) == J
    names = sorted(answers.annotator.names.to_pylist())
    left_out = np.array([_without_person(metric, answers, predicted, who) for who in names])
    ours = dict(zip(answers.annotator.names.to_pylist(), found.people, strict=True))
    changes = np.array([ours[who] for who in names])
    # Exact where every item still has an answer; an item that loses its only answer counts to first order.
    np.testing.assert_allclose(changes, linear.figure - left_out, atol=0.004)
    each = matched.answers
    assert each is not None
    assert found.answers.sum() == pytest.approx(changes.sum())


def _without_person(metric: Metric, answers: Beliefs, predicted: SoftLabels, who: str) -> float:
    rows = np.flatnonzero(answers.annotator.among({who}))
    part = matched_with(without(answers, rows), predicted)
    return metric.estimate(part, plain(len(part))).value


@pytest.mark.parametrize("name", ["ece", "entropy_pearson", "failure_auroc"])
def test_other_metrics_are_computed_again_without_people(name: str) -> None:
    answers, predicted = crowd(soft=False)
    metric = metric_from_name(name)
    matched = matched_with(answers, predicted)
    linear = metric.estimate(matched, plain(len(matched))).own_linear
    assert linear is not None
    found = LeftOutPeople(matched).changes(metric, linear)
    assert found is not None
    expected = [_without_person(metric, answers, predicted, who) for who in answers.annotator.names.to_pylist()]
    np.testing.assert_allclose(found.people, linear.figure - np.array(expected), atol=1e-9)


def test_variances_are_those_of_the_two_way_jackknife() -> None:
    """Cross-entropy is a mean of a loss per answer, so that `two_way` computes the same from the answers."""
    answers, predicted = crowd(soft=False)
    matched = matched_with(answers, predicted)
    bootstrap = Bootstrap.of(len(matched), level=0.95, draws=100, rng=np.random.default_rng(0))
    parts = ScoredRun(matched, bootstrap).score(metric_from_name("cross_entropy")).components
    assert parts is not None
    coded = answers.coded()
    assert coded.hard is not None
    at = {item: row for row, item in enumerate(predicted.items.to_pylist())}
    rows = np.array([at[item] for item in answers.item.text().to_pylist()])
    column = [predicted.classes.index(name) for name in answers.classes]
    losses = -np.log(predicted.probs[rows, np.array(column)[coded.hard]])
    expected = two_way(AnswerDesign.of(coded.item, coded.annotator).mean_over_items(losses))
    assert parts.value == pytest.approx(expected.value)
    assert parts.error == pytest.approx(expected.standard_error, rel=0.03)
    # Items count equally here, and by their answers there.
    assert parts.df == pytest.approx(expected.df, rel=0.25)
    half = (expected.interval.high - expected.interval.low) / 2
    assert parts.half_width(0.95) == pytest.approx(half, rel=0.05)


def test_only_the_answers_of_a_stratum() -> None:
    answers, predicted = crowd(soft=False)
    matched = matched_with(answers, predicted)
    rows = np.arange(0, len(matched), 3)
    part = matched.take(rows)
    assert part.answers is not None
    again = JackknifeAnswers.of(answers, part.items, part.classes)
    np.testing.assert_allclose(part.answers.sums, again.sums)
    np.testing.assert_allclose(np.sort(part.answers.without, axis=0), np.sort(again.without, axis=0))
    assert part.answers.n_people == again.n_people
    np.testing.assert_allclose(part.answers.sums / part.answers.per_item[:, None], part.people, atol=1e-12)


def test_one_person_is_no_sample() -> None:
    answers, predicted = crowd(soft=False)
    alone = answers.take(np.flatnonzero(answers.annotator.among({"p1"})))
    bootstrap = Bootstrap.of(1, level=0.95, draws=100, rng=np.random.default_rng(0))
    matched = matched_with(alone, predicted)
    scored = ScoredRun(matched, replace(bootstrap, **vars(plain(len(matched))))).score(metric_from_name("brier"))
    assert scored.people is None
    assert scored.interval(0.95, (0.0, 2.0)) == scored.estimate.interval


def test_groups_of_answers_keep_their_squares() -> None:
    rng = np.random.default_rng(0)
    changes = rng.normal(0.5, 1, 50_000)
    sums = np.bincount(random_groups(len(changes)), weights=changes)
    assert len(sums) == 2000
    assert (sums**2).sum() - sums.sum() ** 2 / 2000 == pytest.approx(len(changes) * changes.var(), rel=0.1)
