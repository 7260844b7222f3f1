"""The plan file: written plans are read again; other contents are refused, with the name of the field."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from plan_document import ADAPTIVE, DOCUMENT

from sfumato import Plan
from sfumato.planning.goals import Goal
from sfumato.planning.plan_file import Fewest, PlanAdaptive
from sfumato.tables.errors import SfumatoError


def changed(path: str, value: object) -> dict[str, Any]:
    """The document with the field at `path` set to `value`, or taken out where it is `...`."""
    document = copy.deepcopy(DOCUMENT)
    *parents, name = path.split(".")
    place: Any = document
    for parent in parents:
        place = place[int(parent) if isinstance(place, list) else parent]
    if value is ...:
        del place[name]
    else:
        place[name] = value
    return document


def refused(document: Any) -> SfumatoError:
    with pytest.raises(SfumatoError) as caught:
        Plan.of(document, file="plan.json")
    return caught.value


def test_what_is_written_is_read(tmp_path: Path) -> None:
    for answers in (DOCUMENT["answers"], ADAPTIVE):
        plan = Plan.of(changed("answers", answers))
        plan.write(tmp_path / "plan.json")
        assert Plan.read(tmp_path / "plan.json") == plan
        # The layout outside is the one we were given, to the last field.
        assert json.loads((tmp_path / "plan.json").read_text()) == changed("answers", answers)


def test_a_plan_may_be_packed(tmp_path: Path) -> None:
    Plan.of(DOCUMENT).write(tmp_path / "plan.json.gz")
    assert (tmp_path / "plan.json.gz").read_bytes()[:2] == b"\x1f\x8b"
    assert Plan.read(tmp_path / "plan.json.gz") == Plan.of(DOCUMENT)


def test_the_parts_are_values() -> None:
    plan = Plan.of(DOCUMENT)
    assert plan.goal is Goal.DISTRIBUTION
    assert plan.answers == Fewest(each=7)
    assert plan.answers.on_average == 7
    assert plan.expected.source == "pilot of 500 items"
    adaptive = Plan.of(changed("answers", ADAPTIVE)).answers
    assert isinstance(adaptive, PlanAdaptive)
    assert (adaptive.assignment, adaptive.most, adaptive.threshold) == ("adaptive", 25, 0.02)
    with pytest.raises(AttributeError):
        plan.n_items = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    "path", ["goal", "question.seconds", "answers.each", "expected.from", "cost.people", "made.at"]
)
def test_every_field_must_be_there(path: str) -> None:
    error = refused(changed(path, ...))
    assert error.code == "bad-plan"
    assert path.split(".")[-1] in error.found


@pytest.mark.parametrize("path", ["extra", "question.extra", "answers.extra", "made.extra", "curve.0.extra"])
def test_no_other_field_may_be(path: str) -> None:
    error = refused(changed(path, 1))
    assert "unknown field `extra`" in error.found
    # The object that contains it is named.
    assert (error.where.column or "").replace("[...]", "").startswith(path.split(".")[0] if "." in path else "")


@pytest.mark.parametrize(
    ("path", "value", "column"),
    [
        ("goal", "speed", "goal"),
        ("n_items", "2", "n_items"),
        ("n_items", 0, "n_items"),
        ("n_items", True, "n_items"),
        ("n_items", 3, "n_items"),
        ("classes", ["cat"], "classes"),
        ("classes", ["cat", "cat"], "classes"),
        ("items", ["17", "17"], "items"),
        ("items", "some", "items"),
        ("deeper_items", ["99"], "deeper_items"),
        ("question.deeper", None, "question.deeper"),
        ("question.seconds", -1, "question.seconds"),
        ("question.deeper.votes", 0, "question.deeper.votes"),
        ("answers.assignment", "random", "answers.assignment"),
        ("answers.each", 1.5, "answers.each"),
        ("answers", {**ADAPTIVE, "fewest": 30}, "answers.fewest"),
        ("answers", {**ADAPTIVE, "on_average": 26}, "answers.on_average"),
        ("answers", {**ADAPTIVE, "audit": 1.5}, "answers.audit"),
        ("expected.value", 0.3, "expected.value"),
        ("cost.money", None, "cost.money"),
        ("budget.amount", 0, "budget.amount"),
        ("made.at", "yesterday", "made.at"),
        ("made.pilot.sha256", "abc", "made.pilot.sha256"),
    ],
)
def test_wrong_values_are_refused_by_name(path: str, value: object, column: str) -> None:
    error = refused(changed(path, value))
    assert error.code == "bad-plan"
    assert error.where.file == "plan.json"
    assert error.where.column == column


def test_names_that_are_unknown() -> None:
    error = refused(changed("question.kind", "choise"))
    assert error.code == "unknown-kind"
    assert "did you mean 'choice'?" in error.fix
    assert refused(changed("answers", {**ADAPTIVE, "index": "k1"})).code == "unknown-index"


def test_other_versions_and_other_documents() -> None:
    assert refused(changed("sfumato_plan", 2)).code == "wrong-version"
    assert refused(changed("sfumato_plan", True)).code == "wrong-version"
    assert refused(changed("sfumato_plan", ...)).code == "no-plan"
    assert refused([DOCUMENT]).code == "no-plan"


def test_files_that_are_no_strict_json(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    text = json.dumps(DOCUMENT)
    for broken in (
        text[:-1],
        text.replace('"n_items": 2', '"n_items": 2, "n_items": 3'),
        text.replace("0.1", "NaN", 1),
    ):
        path.write_text(broken)
        with pytest.raises(SfumatoError) as caught:
            Plan.read(path)
        assert caught.value.code == "bad-json"


def test_only_json_and_only_whole_files(tmp_path: Path) -> None:
    plan = Plan.of(DOCUMENT)
    with pytest.raises(SfumatoError):
        plan.write(tmp_path / "plan.csv")
    with pytest.raises(SfumatoError) as caught:
        plan.write(tmp_path / "nowhere" / "plan.json")
    assert caught.value.code == "no-such-folder"
