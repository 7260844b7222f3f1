"""The runner of `make faults`: trials and controls must pass, and rows of trials that did not run are kept."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def runner() -> ModuleType:
    folder = str(Path(__file__).parent)
    sys.path.insert(0, folder)
    try:
        import run

        return run
    finally:
        sys.path.remove(folder)


def row(runner: ModuleType, trial: str, measured: str) -> object:
    return runner.Row(trial, "required", measured, "yes", "detected")


def test_rows_of_other_trials_are_kept(runner: ModuleType) -> None:
    text = f"before\n\n{runner.BEGIN}\n{runner.END}\n\nafter\n"
    text = runner.with_rows(text, [row(runner, "T21 tamper", "first"), row(runner, "T1 kill-sqlite", "second")])
    text = runner.with_rows(text, [row(runner, "T21 tamper", "a | b")])
    lines = [line for line in text.splitlines() if line.startswith("| T")]
    assert [line.split("|")[1:4:2] for line in lines] == [[" T1 kill-sqlite ", " second "], [" T21 tamper ", " a / b "]]
    assert text.startswith("before\n\n")
    assert text.endswith("\n\nafter\n")
    assert runner.with_rows(text, []) == text


def test_a_trial_fails_if_its_control_is_not_detected(runner: ModuleType) -> None:
    def passed(clean: bool, detected: bool, n_done: int = 5) -> str:
        trial = runner.Trial(
            "T0",
            "made-up",
            1,
            lambda _: "",
            lambda _resources, _until: full.Measured("", clean, n_done, 5),
            lambda _resources: full.Control("", detected),
        )
        return runner._run_trial(trial, runner.Resources(Path(), None, runner.Sizes()), 0.0).passed

    full = sys.modules["trial"]
    assert passed(True, True) == "yes"
    assert {passed(True, False), passed(False, True), passed(True, True, 4)} == {"**no**"}


def test_all_trials_are_listed_and_have_controls(runner: ModuleType) -> None:
    expected = ["T1", "T1b", "T2", "T2b", "T3", "T4", "T4b", "T6", "T8", "T9", "T9b", "T10"]
    expected += ["T12", "T13", "T14", "T15", "T16", "T18", "T19", "T20", "T21"]
    assert {trial.number for trial in runner.TRIALS if trial.control} >= {*expected}
    assert {trial.number for trial in runner.TRIALS} >= {*expected, "T17"}
    names = [trial.name for trial in runner.TRIALS]
    assert len(names) == len({*names})
    assert [trial.name for trial in runner.chosen("T21,quota-3")] == ["quota-3", "tamper"]
    with pytest.raises(SystemExit, match="no trial"):
        runner.chosen("nothing")
