"""The runner of `make faults`: trials and their controls count, and a document keeps the rows that were not run."""

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
    return runner.Row(trial, "asked", measured, "yes", "found out")


def test_rows_that_were_not_run_stay(runner: ModuleType) -> None:
    text = f"before\n\n{runner.BEGIN}\n{runner.END}\n\nafter\n"
    text = runner.written(text, [row(runner, "T21 tamper", "first"), row(runner, "T1 kill-sqlite", "second")])
    text = runner.written(text, [row(runner, "T21 tamper", "a | b")])
    lines = [line for line in text.splitlines() if line.startswith("| T")]
    assert [line.split("|")[1:4:2] for line in lines] == [[" T1 kill-sqlite ", " second "], [" T21 tamper ", " a / b "]]
    assert text.startswith("before\n\n")
    assert text.endswith("\n\nafter\n")
    assert runner.written(text, []) == text


def test_a_control_that_is_not_found_out_fails_its_trial(runner: ModuleType) -> None:
    def tried(clean: bool, found_out: bool, n_done: int = 5) -> str:
        trial = runner.Trial(
            "T0",
            "made-up",
            1,
            lambda _: "",
            lambda _bench, _until: full.Measured("", clean, n_done, 5),
            lambda _bench: full.Control("", found_out),
        )
        return runner._tried(trial, runner.Bench(Path(), None, runner.Sizes()), 0.0).passed

    full = sys.modules["trial"]
    assert tried(True, True) == "yes"
    assert {tried(True, False), tried(False, True), tried(True, True, 4)} == {"**no**"}


def test_every_trial_of_the_store_is_there_and_each_number_has_a_control(runner: ModuleType) -> None:
    wanted = ["T1", "T1b", "T2", "T2b", "T3", "T4", "T4b", "T6", "T8", "T9", "T9b", "T10"]
    wanted += ["T12", "T13", "T14", "T15", "T16", "T18", "T19", "T21"]
    assert {trial.number for trial in runner.TRIALS if trial.control} >= {*wanted}
    assert {trial.number for trial in runner.TRIALS} >= {*wanted, "T17"}
    names = [trial.name for trial in runner.TRIALS]
    assert len(names) == len({*names})
    assert [trial.name for trial in runner.chosen("T21,quota-3")] == ["quota-3", "tamper"]
    with pytest.raises(SystemExit, match="no trial"):
        runner.chosen("nothing")
