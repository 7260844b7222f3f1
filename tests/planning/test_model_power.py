"""The power to tell two models apart: against published values, and against verdicts in simulated studies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sfumato as sf
from sfumato import Beliefs, SoftLabels
from sfumato.evaluation.comparison import compare_runs
from sfumato.evaluation.metrics import ECE, Accuracy, Brier, CrossEntropy, TotalVariation
from sfumato.evaluation.run_predictions import RunPredictions
from sfumato.evaluation.run_scores import measure_runs
from sfumato.planning.model_power import pilot_difference, plan_models, stated_difference
from sfumato.tables.errors import SfumatoError

CLASSES = ("a", "b", "c")


def world(n_items: int, rng: np.random.Generator) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Logits of people and the predictions of two models, the first of them the better one."""
    truth = rng.normal(0, 1.5, (n_items, 3))
    models = {}
    for name, noise, tilt in (("good", 0.5, 0.3), ("bad", 0.9, -0.3)):
        logits = truth + rng.normal(0, noise, truth.shape) + tilt * np.array([1.0, 0.0, -1.0])
        models[name] = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return truth, models


def votes_of(truth: np.ndarray, n_people: int, leaning: float, rng: np.random.Generator) -> np.ndarray:
    """The votes of people who lean to some classes, items x people."""
    liked = truth[:, None] + rng.normal(0, leaning, (n_people, 3)) if leaning else truth[:, None]
    return np.asarray((liked + rng.gumbel(size=(len(truth), n_people, 3))).argmax(axis=2))


def tables(probs: dict[str, np.ndarray], items: list[str]) -> dict[str, SoftLabels]:
    return {name: SoftLabels.from_numpy(items, each, CLASSES, 0) for name, each in probs.items()}


def labels_of(votes: np.ndarray, items: list[str]) -> SoftLabels:
    shares = np.stack([(votes == k).mean(axis=1) for k in range(3)], axis=1)
    return SoftLabels.from_numpy(items, shares, CLASSES, votes.shape[1])


def answers_of(votes: np.ndarray, items: list[str]) -> Beliefs:
    n, people = votes.shape
    who = np.tile([f"p{j}" for j in range(people)], n)
    return Beliefs.from_votes(
        item=np.repeat(items, people), annotator=who, label=np.array(CLASSES)[votes.ravel()], classes=CLASSES
    )


def ids(n: int) -> list[str]:
    return [f"i{i}" for i in range(n)]


def test_the_power_of_a_t_test_is_the_published_one() -> None:
    # Cohen (1988), paired t-test, two-sided 5%: d = 0.5 needs 34 pairs for a power of 0.8; G*Power gives 0.8078.
    half = stated_difference("brier", 0.5, item_sd=1.0)
    assert half.items_needed(1, 0.8) == 34
    assert half.power(34, 1) == pytest.approx(0.8078, abs=0.0005)
    assert stated_difference("brier", 0.2, item_sd=1.0).items_needed(1, 0.8) == 199
    assert half.power(19, 1) == 0.0  # evaluate gives no verdict below 20 items


def test_answers_matter_as_far_as_they_vary() -> None:
    found = stated_difference("brier", 0.1, item_sd=0.3, answer_sd=0.6)
    assert found.mean_and_sd(4)[1] == pytest.approx(np.sqrt(0.09 + 0.36 / 4))
    plan = plan_models(found, n_answers=(1, 4, 16), budget=800, most_items=500)
    assert plan.cheapest is not None
    assert plan.cheapest.n_answers == 1
    assert [(cell.n_items, cell.n_answers) for cell in plan.at_budget] == [(500, 1), (200, 4), (50, 16)]
    assert plan.best_at_budget is plan.at_budget[0]
    powers = [cell.power for cell in plan.cells if cell.n_answers == 4]
    assert powers == sorted(powers)


@pytest.mark.parametrize("metric", [CrossEntropy(), Brier(), Accuracy(), TotalVariation()], ids=lambda each: each.name)
def test_mean_and_variance_are_those_of_other_votes(metric: object) -> None:
    rng = np.random.default_rng(1)
    truth, probs = world(1500, rng)
    votes = votes_of(truth, 12, 0.0, rng)
    found = pilot_difference(labels_of(votes, ids(1500)), tables(probs, ids(1500)), metric)
    for k in (1, 5, 24):
        again = pilot_difference(
            labels_of(votes_of(truth, k + 1, 0.0, rng), ids(1500)), tables(probs, ids(1500)), metric
        )
        mean, sd = found.mean_and_sd(k)
        expected = again.mean_and_sd(k)
        assert sd == pytest.approx(expected[1], rel=0.1)
        assert mean == pytest.approx(expected[0], abs=3.5 * sd / np.sqrt(1500))


@pytest.mark.parametrize("leaning", [0.0, 1.0])
def test_the_planned_power_is_the_share_of_verdicts(leaning: float) -> None:
    """Verdicts of `sfumato evaluate` in 120 studies: the standard error is 0.045."""
    rng = np.random.default_rng(2)
    n_items, n_people, studies = 60, 6, 120
    truth, probs = world(3000, rng)
    known = [
        pilot_difference(
            answers_of(votes_of(truth[part], 40, leaning, rng), ids(300)),
            tables({name: each[part] for name, each in probs.items()}, ids(300)),
            CrossEntropy(),
        )
        for part in (slice(0, 300), slice(300, 600))
    ]
    assert (min(each.person_sd for each in known) > 0.02) == (leaning > 0)
    # Every person answers about all items, as in the pilot.
    planned = []
    for each in known:
        mean = float(np.mean([other.mean_and_sd(n_people)[0] for other in known]))
        moved = abs(mean) - abs(each.mean_and_sd(n_people)[0])
        planned.append(replace(each, answers_per_person=n_items).power(n_items, n_people, shift=moved))
    found = 0
    for _ in range(studies):
        rows = rng.choice(3000, n_items, replace=False)
        people = answers_of(votes_of(truth[rows], n_people, leaning, rng), ids(n_items))
        runs = [
            RunPredictions(n, "", 0, t) for n, t in tables({k: v[rows] for k, v in probs.items()}, ids(n_items)).items()
        ]
        measured = measure_runs(runs, people=people, metrics=[CrossEntropy()], resamples=100)
        found += compare_runs(measured, baseline="bad").differences[0].verdict == "better"
    assert found / studies == pytest.approx(float(np.mean(planned)), abs=0.15)


def test_what_cannot_be_planned() -> None:
    rng = np.random.default_rng(3)
    truth, probs = world(40, rng)
    labels, models = labels_of(votes_of(truth, 5, 0.0, rng), ids(40)), tables(probs, ids(40))
    same = {"one": models["good"], "two": models["good"]}
    part = tables({name: each[:30] for name, each in probs.items()}, ids(30))
    zero = np.tile([1.0, 0.0, 0.0], (40, 1))
    for people, given, metric, code in (
        (labels, same, CrossEntropy(), "same-models"),
        (labels, part, CrossEntropy(), "missing-items"),
        (labels, {"good": models["good"]}, CrossEntropy(), "bad-setting"),
        (labels, models, ECE(), "bad-setting"),
        (labels_of(votes_of(truth, 1, 0.0, rng), ids(40)), models, CrossEntropy(), "one-answer"),
        (SoftLabels.from_numpy(ids(40), labels.probs, CLASSES), models, CrossEntropy(), "no-counts"),
        (labels, models | tables({"bad": zero}, ids(40)), CrossEntropy(), "infinite"),
    ):
        with pytest.raises(SfumatoError) as caught:
            pilot_difference(people, given, metric)
        assert caught.value.code == code


def test_sf_plan_compares_two_models() -> None:
    rng = np.random.default_rng(4)
    truth, probs = world(200, rng)
    labels = labels_of(votes_of(truth, 5, 0.0, rng), ids(200))
    plan = sf.plan(pilot=labels, models=tables(probs, ids(200)), metric="brier", power=0.9, budget=20)
    assert plan.cheapest.power >= 0.9
    assert plan.at_budget
    with pytest.raises(SfumatoError, match="give budget=500"):
        sf.plan(pilot=labels)
