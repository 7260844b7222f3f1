"""`sfumato plan rehearse` as a user types it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from plan_document import DOCUMENT

from sfumato import SoftLabels
from sfumato.cli.plan import command
from sfumato.cli.study import command as study_command
from sfumato.tables.errors import SfumatoError


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pilot of 600 items with two classes, a study of ten items, and a plan of three answers for each."""
    monkeypatch.chdir(tmp_path)
    CliRunner().invoke(study_command, ["new", "study", "--demo", "--kind", "choice"], catch_exceptions=False)
    rng = np.random.default_rng(0)
    counts = np.array([rng.multinomial(8, p) for p in rng.dirichlet([1, 1], 600)])
    SoftLabels.from_numpy([f"i{i}" for i in range(600)], counts / 8, ["circle", "square"], 8).write("pilot.parquet")
    write()
    return tmp_path


def write(**changes: Any) -> None:
    document = {
        **DOCUMENT,
        "classes": ["circle", "square"],
        "items": "all",
        "n_items": 10,
        "deeper_items": [],
        "answers": {"assignment": "fewest", "each": 3},
        "expected": {"measure": "l2", "value": 0.1, "low": 0.05, "high": 0.2, "from": "pilot of 600 items"},
        "cost": {**DOCUMENT["cost"], "answers": 30, "people": 3},
        **changes,
    }
    Path("plan.json").write_text(json.dumps(document))


def run(*arguments: object) -> str:
    done = CliRunner().invoke(command, ["rehearse", *map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_people_like_the_pilot() -> None:
    shown = run("plan.json", "--pilot", "pilot.parquet")
    assert "planned" in shown
    assert "error (l2)" in shown
    assert shown.splitlines()[2].split() == ["answers", "30", "30"]
    assert "finished items: 100.0%" in shown
    assert "result: " in shown
    assert run("plan.json", "--pilot", "pilot.parquet") == shown  # the same seed, the same rehearsal
    assert run("plan.json", "--pilot", "pilot.parquet", "--seed", 1) != shown


def test_simulated_people_in_a_study() -> None:
    shown = run("plan.json", "--study", "study")
    assert "simulated time: " in shown
    few = run("plan.json", "--study", "study", "--annotators", 2)
    assert "too few people: 2 gave 20 of the 30 planned answers" in few


def test_a_truth_that_is_given() -> None:
    items = [f"{name}/shape-{i:02d}" for name in ("circle", "square") for i in range(1, 13)]
    probs = np.array([[1.0, 0.0] if item.startswith("circle") else [0.0, 1.0] for item in items])
    SoftLabels.from_numpy(items, probs, ["circle", "square"]).write("truth.parquet")
    write(expected={"measure": "wrong_class", "value": 0.01, "low": 0.0, "high": 0.05, "from": "pilot of 600 items"})
    shown = run("plan.json", "--study", "study", "--truth", "truth.parquet")
    assert "error (wrong_class)" in shown
    assert "the error is as expected" in shown


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("plan.json", "bad-setting"),
        ("plan.json --pilot pilot.parquet --study study", "bad-setting"),
        ("plan.json --pilot pilot.parquet --truth pilot.parquet", "bad-setting"),
        ("plan.json --pilot pilot.parquet --annotators -1", "bad-setting"),
        ("nowhere.json --pilot pilot.parquet", "no-such-file"),
        ("pilot.parquet --pilot pilot.parquet", "wrong-content"),
    ],
)
def test_bad_input(arguments: str, code: str) -> None:
    done = CliRunner().invoke(command, ["rehearse", *arguments.split()])
    assert isinstance(done.exception, SfumatoError), done.output
    assert done.exception.code == code, done.exception


def test_a_plan_for_something_else() -> None:
    for changes, words in (({"classes": ["cat", "dog"]}, "classes"), ({"n_items": 99}, "items of the plan")):
        write(**changes)
        done = CliRunner().invoke(command, ["rehearse", "plan.json", "--study", "study"])
        assert isinstance(done.exception, SfumatoError)
        assert words in str(done.exception)
