"""A plan put to work: what it changes in a study and what it leaves, and what it cannot be put to."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from study_instance import plain_study

from sfumato.planning.adaptive_assignment import AdaptiveSelector
from sfumato.planning.plan_file import Plan
from sfumato.planning.study_from_plan import plan_items, study_from_plan
from sfumato.study.stimulus import Item
from sfumato.study.study import Adaptive, Assignment, Deeper, PracticeItem, Question
from sfumato.tables.errors import BadSetting


def plan_of(**changes: Any) -> Plan:
    document: dict[str, Any] = {
        "sfumato_plan": 1,
        "goal": "distribution",
        "classes": ["cat", "dog"],
        "question": {"kind": "choice", "deeper": None, "seconds": 2.3},
        "items": "all",
        "n_items": 6,
        "deeper_items": [],
        "answers": {"assignment": "fewest", "each": 7},
        "expected": {"measure": "kl", "value": 0.02, "low": 0.01, "high": 0.03, "from": "pilot of 500 items"},
        "cost": {"money": 5.0, "currency": "USD", "answers": 42, "hours": 0.1, "people": 3, "an_answer": 0.1},
        "budget": None,
        "curve": [],
        "alternatives": [],
        "would_change": [],
        "assumptions": [],
        "made": {"version": "0", "at": "2026-01-01T00:00:00Z", "command": "", "seed": 0, "pilot": None},
    }
    return Plan.of(document | changes)


ADAPTIVE = {
    "assignment": "adaptive", "index": "kl", "fewest": 2, "most": 25, "target": 0.02, "lead": None, "audit": 0.1,
    "on_average": 6.8,
}  # fmt: skip


def test_as_many_answers_for_every_item() -> None:
    study = study_from_plan(plain_study(), plan_of())
    assert (study.people.answers_per_item, study.people.assignment) == (7, Assignment.FEWEST)
    assert study.people.batch_size == plain_study().people.batch_size


def test_adaptive_with_a_deeper_form() -> None:
    question = {"kind": "choice", "deeper": {"kind": "tokens", "votes": 1.4, "seconds": 20.0}, "seconds": 2.3}
    study = study_from_plan(plain_study(), plan_of(answers=ADAPTIVE, question=question, deeper_items=["i1"]))
    assert (study.people.answers_per_item, study.people.assignment) == (25, Assignment.ADAPTIVE)
    assert study.adaptive == Adaptive("kl", 0.02, None, 2, None, 0.1, 2.3)
    assert study.deeper == Deeper(Question("tokens"), 1.4, 20.0, ("i1",))


@pytest.mark.parametrize(
    ("target", "budget", "answers"),
    [
        (None, None, 42),
        (0.02, None, None),
        (0.02, {"amount": 70.0, "unit": "answers"}, 70),
        (0.02, {"amount": 5.5, "unit": "USD"}, 55),
        (None, {"amount": 1.0, "unit": "USD"}, 42),
    ],
)
def test_asking_ends_with_the_budget(target: float | None, budget: dict | None, answers: int | None) -> None:
    study = study_from_plan(plain_study(), plan_of(answers=ADAPTIVE | {"target": target}, budget=budget))
    assert study.adaptive.answers == answers


def test_items_to_be_asked_about_deeply_in_a_plan_of_as_many_for_each() -> None:
    question = {"kind": "choice", "deeper": {"kind": "tokens", "votes": 1.4, "seconds": 20.0}, "seconds": 2.3}
    study = study_from_plan(plain_study(), plan_of(question=question, deeper_items=["i1"]))
    assert (study.people.assignment, study.adaptive.index) == (Assignment.ADAPTIVE, "uniform")
    assert study.people.answers_per_item == 7
    guide = AdaptiveSelector(study, background=False)
    guide.begin([(1, 7, 0), (2, 7, 0)], {1: "i1", 2: "i2"}, [])
    picks = {(pick.item, pick.question) for _ in range(20) if (pick := guide.choose((), random.Random(1)))}
    assert picks == {(1, 1), (2, 0)}


def test_the_study_keeps_its_own_wording() -> None:
    asked = Question("choice", prompt="What animal is it?")
    study = plain_study()
    study = type(study)(study.name, study.title, study.classes, study.items, asked)
    assert study_from_plan(study, plan_of()).question == asked
    other = study_from_plan(study, plan_of(question={"kind": "tokens", "deeper": None, "seconds": 9.0}))
    assert other.question == Question("tokens")


def test_items_of_the_plan_and_those_to_practise_on() -> None:
    items = [Item(f"i{k}") for k in range(6)]
    study = plain_study(practice=(PracticeItem("i5"),))
    assert plan_items(study, plan_of(), items) == items
    some = plan_of(items=["i0", "i3"], n_items=2)
    assert [each.id for each in plan_items(study, some, items)] == ["i0", "i3", "i5"]
    with pytest.raises(BadSetting, match="1 items in the plan that are not in the study: i9"):
        plan_items(study, plan_of(items=["i0", "i9"], n_items=2), items)


def test_plans_for_something_else_are_refused() -> None:
    with pytest.raises(BadSetting, match="found a plan for the classes ape, cat"):
        study_from_plan(plain_study(), plan_of(classes=["ape", "cat"]))
    with pytest.raises(BadSetting, match="a plan with the kind triplet"):
        study_from_plan(plain_study(), plan_of(question={"kind": "triplet", "deeper": None, "seconds": 2.0}))


def test_a_plan_survives_its_file(tmp_path: Path) -> None:
    plan = plan_of(answers=ADAPTIVE)
    plan.write(tmp_path / "plan.json")
    assert Plan.read(tmp_path / "plan.json") == plan
