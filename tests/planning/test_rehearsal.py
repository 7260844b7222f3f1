"""Rehearsals whose outcome is known beforehand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest
from plan_document import ADAPTIVE, DOCUMENT

from sfumato import Plan
from sfumato.elicitation.simulated_annotator import SimulatedAnnotator, Truth
from sfumato.planning.rehearsal import DrawnCrowd, Rehearsal, SimulatedCrowd, rehearse
from sfumato.study.stimulus import Item
from sfumato.study.study import ItemSource, Question, Study, StudyClass
from sfumato.tables.errors import BadSetting

N = 800


def plan_of(measure: str, value: float, answers: dict[str, Any], n_answers: int, **changes: Any) -> Plan:
    document = {
        **DOCUMENT,
        "items": "all",
        "n_items": N,
        "deeper_items": [],
        "question": {"kind": "choice", "deeper": None, "seconds": 3.6},
        "answers": answers,
        "expected": {"measure": measure, "value": value, "low": 0.9 * value, "high": 1.1 * value, "from": "pilot"},
        "cost": {
            "money": n_answers / 100, "currency": "USD", "answers": n_answers, "hours": n_answers / 1000, "people": 400,
            "an_answer": 0.01,
        },
        **changes,
    }  # fmt: skip
    return Plan.of(document)


def rehearsed(plan: Plan, probs: np.ndarray, n_people: int = 4000, seed: int = 0) -> Rehearsal:
    rng = np.random.default_rng(seed)
    return rehearse(plan, DrawnCrowd(probs, n_people, 2.5), n_items=len(probs), batch_size=20, rng=rng)


def test_shares_of_equal_numbers() -> None:
    probs = np.random.default_rng(1).dirichlet([1, 1], N)
    truth = float((1 - (probs**2).sum(axis=1)).mean() / 4)  # (1 - |p|^2) / M
    plan = plan_of("l2", truth, {"assignment": "fewest", "each": 4}, 4 * N)
    found = rehearsed(plan, probs)
    assert (found.answers, found.people, found.finished, found.seconds) == (4 * N, 4 * N // 20, 1.0, 2.5)
    assert abs(found.value - truth) < 3 * found.spread
    assert found.money == pytest.approx(4 * N / 100)
    assert found.hours == pytest.approx(4 * N / 1000)
    assert found.verdict(plan) == "the error is as expected"


def test_a_plan_that_promised_too_much_or_too_little() -> None:
    probs = np.random.default_rng(1).dirichlet([1, 1], N)
    answers = {"assignment": "fewest", "each": 4}
    assert "times as large as expected" in rehearsed(p := plan_of("l2", 0.02, answers, 4 * N), probs).verdict(p)
    assert "fewer answers may be enough" in rehearsed(p := plan_of("l2", 0.5, answers, 4 * N), probs).verdict(p)
    p = plan_of("l2", 0.083, answers, 4 * N, budget={"amount": 20, "unit": "USD"})
    assert "exceeds the budget by 12.00 USD" in rehearsed(p, probs).verdict(p)


def test_too_few_people() -> None:
    probs = np.tile([0.7, 0.3], (N, 1))
    plan = plan_of("l2", 0.1, {"assignment": "fewest", "each": 4}, 4 * N)
    found = rehearsed(plan, probs, n_people=10)
    assert (found.ran_out, found.answers, found.finished) == (True, 200, 0.0)
    assert "too few people: 10 gave 200 of the 3,200" in found.verdict(plan)


def test_stopping_at_a_lead_takes_as_long_as_a_random_walk() -> None:
    """Gambler's ruin at 8 : 2 and a lead of 3 (Feller 1968, XIV)."""
    odds = 4.0**3
    length, error = 3 / 0.6 * (odds - 1) / (odds + 1), 1 / (1 + odds)
    rule = {**ADAPTIVE, "index": "lead", "lead": 3, "target": None, "fewest": 1, "most": 40, "on_average": length}
    plan = plan_of("wrong_class", error, rule, round(length * N))
    found = rehearsed(plan, np.tile([0.8, 0.2], (N, 1)))
    assert found.answers / N == pytest.approx(length, rel=0.05)
    assert abs(found.value - error) < 4 * np.sqrt(error / N)
    assert found.finished == 1.0


def test_an_index_without_a_rule_ends_at_what_is_planned() -> None:
    rng = np.random.default_rng(2)
    probs = np.where(rng.random(N)[:, None] < 0.7, [0.98, 0.01, 0.01], rng.dirichlet([1, 1, 1], N))
    probs = probs / probs.sum(axis=1, keepdims=True)
    rule = {**ADAPTIVE, "target": None, "on_average": 3.5, "most": 30}
    plan = plan_of("kl", 0.1, rule, round(3.5 * N), classes=["a", "b", "c"])
    found = rehearsed(plan, probs)
    assert found.answers == round(3.5 * N)
    assert 0 < found.value < 0.5
    # With a target items are finished one by one, and fewer answers may be enough.
    to_target = rehearsed(plan_of("kl", 0.1, {**rule, "target": 0.2}, round(3.5 * N), classes=["a", "b", "c"]), probs)
    assert to_target.finished > 0.9


def test_drawn_people_only_choose() -> None:
    plan = plan_of("l2", 0.1, {"assignment": "fewest", "each": 1}, N)
    richer = msgspec.structs.replace(plan, question=msgspec.structs.replace(plan.question, kind="top_two"))
    with pytest.raises(BadSetting, match="choices only"):
        rehearsed(richer, np.tile([0.7, 0.3], (N, 1)))
    with pytest.raises(BadSetting, match="800"):
        rehearsed(plan, np.tile([0.7, 0.3], (7, 1)))


@pytest.mark.parametrize("kind", ["choice", "top_two", "tokens", "plausible", "sliders"])
def test_simulated_people_fill_in_any_form(kind: str) -> None:
    classes = ("cat", "dog", "emu")
    items = [Item(id=f"i{i}") for i in range(30)]
    study = Study("s", "S", tuple(StudyClass(name) for name in classes), ItemSource(), Question("choice"))
    person = SimulatedAnnotator(skill=1.0)
    crowd = SimulatedCrowd(
        replace(study, question=Question(kind)), tuple(item.id for item in items),
        Truth(classes, lambda item: np.array([0.9, 0.07, 0.03])), (person,) * 90, (person,) * 200,
    )  # fmt: skip
    rng = np.random.default_rng(3)
    given = crowd.answer(0, np.arange(30), kind, rng)
    assert given.votes.shape == (30, 3)
    assert given.votes.sum(axis=1) == pytest.approx(np.ones(30))
    # People of perfect skill: everybody's first class is the cat.
    assert (given.votes.argmax(axis=1) == 0).all()
    assert crowd.distribution(np.arange(2), rng) == pytest.approx(np.array([[1, 0, 0], [1, 0, 0]]))
    if kind == "choice":
        plan = msgspec.structs.replace(
            plan_of("wrong_class", 0.1, {"assignment": "fewest", "each": 3}, 90), n_items=30, classes=classes
        )
        found = rehearse(plan, crowd, n_items=30, batch_size=10, rng=rng)
        assert (found.value, found.answers, found.people) == (0.0, 90, 9)
