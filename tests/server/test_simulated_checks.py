"""Simulated annotators and the checks of a study: careful people pass, careless ones may not."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner

from sfumato.cli import group
from sfumato.elicitation.kinds import kinds_of
from sfumato.elicitation.simulated_annotator import (
    Annotator,
    FittedAnnotator,
    SimulatedAnnotator,
    Truth,
    drawn_annotators,
)
from sfumato.labeling.attention_checks import RegionCheckJudge
from sfumato.labeling.class_similarity import ClassSimilarity
from sfumato.labeling.simulated_soft_labels import SimulatedTopTwo
from sfumato.server.simulated_checks import CheckResponder, beliefs_toward
from sfumato.study.stimulus import Stimulus
from sfumato.study.study import ABOUT_ONE_ITEM, Check, ItemSource, Question, Region, Study, StudyClass

CLASSES = ("cat", "dog", "fox", "ship")
TRUTH = Truth.built_in(CLASSES)
REGIONS = (
    Region(("cat",), 0.6),
    Region(("dog",), 0.9, none_on=("ship",)),
    Region(("cat", "dog"), 1.0),
    Region(none_on=("cat", "dog")),
    Region(("fox",), 0.3, near={"fox": 0.6, "ship": 0.4}, within=0.2),
    Region(near={"cat": 0.5, "dog": 0.5}, within=0.3),
)
PEOPLE = drawn_annotators(12, len(CLASSES), np.random.default_rng(1), careless=0.0)
CARELESS = drawn_annotators(12, len(CLASSES), np.random.default_rng(1), careless=1.0)
FITTED = FittedAnnotator(SimulatedTopTwo(similarity=ClassSimilarity(CLASSES, np.full((4, 4), 0.25))))


def study(kind: str) -> Study:
    checks = tuple(Check(f"check-{n}", region) for n, region in enumerate(REGIONS))
    return Study("s", "S", tuple(map(StudyClass, CLASSES)), ItemSource(), Question(kind), checks=checks)


def passed(kind: str, people: list[Annotator]) -> dict[str, list[bool]]:
    """Whether each person's answer to each check is in its region, by the judge of the server."""
    asked = study(kind)
    kinds, rng = kinds_of(asked), np.random.default_rng(2)
    responder, judge = CheckResponder(asked, kinds), RegionCheckJudge(asked)
    results: dict[str, list[bool]] = {}
    for check in asked.checks:
        stimulus = Stimulus(check.item)
        for person in people:
            raw = responder.answer(person, TRUTH.shown(stimulus), 0, stimulus, rng).raw
            payload = msgspec.to_builtins(kinds[0].parse(raw, stimulus, asked))
            results.setdefault(check.item, []).append(judge.passes(check.region, 0, payload))
    return results


@pytest.mark.parametrize("kind", ABOUT_ONE_ITEM)
def test_careful_people_pass_every_check_and_careless_ones_do_not(kind: str) -> None:
    people = [*PEOPLE, *([FITTED] if kind == "top_two" else [])]
    careful = passed(kind, people)
    alone = [any(region.has({name: 1.0}) for name in CLASSES) for region in REGIONS]
    impossible = {f"check-{n}" for n in range(len(REGIONS)) if kind == "choice" and not alone[n]}
    assert {item for item, each in careful.items() if not all(each)} == impossible
    careless = [each for item, results in passed(kind, CARELESS).items() if item not in impossible for each in results]
    assert 0.1 < np.mean(careless) < 0.9


def test_other_items_are_answered_as_before() -> None:
    asked = study("tokens")
    kinds, stimulus, person = kinds_of(asked), Stimulus("any"), SimulatedAnnotator(skill=0.5)
    without = CheckResponder(replace(asked, checks=()), kinds)
    given = [
        each.answer(person, TRUTH.shown(stimulus), 0, stimulus, np.random.default_rng(3)).raw
        for each in (CheckResponder(asked, kinds), without)
    ]
    assert given[0] == given[1]


@pytest.mark.parametrize("region", REGIONS)
def test_the_first_belief_is_in_the_region_and_keeps_the_truth_if_it_can(region: Region) -> None:
    truth = np.array([0.1, 0.2, 0.3, 0.4])
    for seen in (truth, np.array([0.0, 0.0, 1.0, 0.0])):
        belief = next(beliefs_toward(region, seen, CLASSES))
        assert belief.sum() == pytest.approx(1)
        assert region.has(dict(zip(CLASSES, belief.tolist(), strict=True)))
    inside = np.array([0.9, 0.1, 0.0, 0.0])
    assert next(beliefs_toward(REGIONS[0], inside, CLASSES)).tolist() == inside.tolist()


FILE = """\
title = "Pets"
classes = ["cat", "dog", "ship"]
items = { csv = "items.csv" }
[question]
kind = "KIND"
[people]
answers_per_item = 40
batch_size = 6
[[checks]]
item = "t0"
classes = ["cat"]
at_least = 0.6
[[checks]]
item = "t1"
near = { cat = 0.5, dog = 0.5 }
"""


def write(folder: Path, kind: str) -> Path:
    (folder / "items.csv").write_text("item,text\n" + "".join(f"t{n},text {n}\n" for n in range(9)))
    (folder / "study.toml").write_text(FILE.replace("KIND", kind))
    return folder


def test_only_careless_people_fail_the_checks_of_a_simulated_study(tmp_path: Path) -> None:
    folder = str(write(tmp_path, "tokens"))
    for command in (
        ["simulate", folder, "--annotators", "12", "--seed", "1"],
        ["export", folder, "-o", f"{folder}/a.csv"],
        ["screen", f"{folder}/a.csv", "--study", folder, "-o", f"{folder}/s.csv"],
    ):
        done = CliRunner().invoke(group, command)
        assert done.exit_code == 0, done.output
    with Path(folder, "s.csv").open() as file:
        failed = [row["annotator"] for row in csv.DictReader(file) if float(row["checks_passed"]) < 1]
    people = drawn_annotators(12, 3, np.random.default_rng(1))
    assert len(failed) == sum(person.attention < 0.5 for person in people) == 1


def test_a_region_that_no_choice_is_in_is_a_mistake(tmp_path: Path) -> None:
    done = CliRunner().invoke(group, ["study", "check", str(write(tmp_path, "choice"))])
    assert done.exit_code != 0
    assert "study.toml:13:checks[1] found a region for 't1' that no choice of one class is in" in str(done.exception)
