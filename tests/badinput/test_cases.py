"""Every case of bad input, run as a user would run it."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from badinput_cases import CASES, TABLES
from badinput_cases.case import Case
from badinput_cases.running import Limits, by_the_program, faults, run

BY_NAME = {case.name: case for case in CASES}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: Case, tmp_path: Path) -> None:
    assert faults(case, run(case, tmp_path)) == []


@pytest.mark.parametrize("name", ["csv-class-misspelt", "payload-truncated", "csv-column-not-ours", "setting-gamma-2"])
def test_the_installed_program_says_the_same(name: str, tmp_path: Path) -> None:
    outcome = run(BY_NAME[name], tmp_path / "forked")
    assert by_the_program(BY_NAME[name], tmp_path / "started") == (outcome.exit_code, outcome.stdout, outcome.stderr)


def test_a_fault_early_in_a_long_file_ends_the_command_every_time(tmp_path: Path) -> None:
    # A reader that fetches ahead in the background can hang or crash the process at its end, now and then.
    case = BY_NAME["csv-row-short-before-20-mb"]
    found = [fault for i in range(6) for fault in faults(case, run(case, tmp_path / str(i)))]
    assert found == []


def test_there_are_many_cases_each_with_a_name_of_its_own() -> None:
    assert [name for name, n in Counter(case.name for case in CASES).items() if n > 1] == []
    refused = [case for case in CASES if case.code]
    assert len(CASES) >= 110
    assert len(refused) >= 90
    assert len({case.code for case in refused}) >= 30


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("csv-class-misspelt", 3),
        ("csv-row-short", 3),
        ("csv-nul-byte", 3),
        ("probs-percentages", 3),
        ("payload-truncated", 3),
        ("setting-gamma-2", None),
    ],
)
def test_errors_as_json_have_the_same_fields(name: str, line: int | None, tmp_path: Path) -> None:
    case = BY_NAME[name]
    plain = run(case, tmp_path / "plain")
    outcome = run(case, tmp_path / "json", options=("--json",))
    fields = json.loads(outcome.stderr)
    assert outcome.exit_code == 2
    assert fields["code"] == case.code
    assert fields["file"] == (None if line is None else "bad.csv")
    assert fields["line"] == line
    expected_text = f"{fields['found']}; expected {fields['expected']}; fix: {fields['fix']}\n"
    assert plain.stderr.startswith(f"error[{fields['code']}] ")
    assert plain.stderr.endswith(expected_text)
    assert outcome.before == outcome.after


def test_the_runner_rejects_a_wrong_code(tmp_path: Path) -> None:
    case = replace(BY_NAME["csv-row-short"], code="doubled-column")
    assert [fault for fault in faults(case, run(case, tmp_path)) if "error code ragged-row where" in fault]


def test_the_runner_rejects_a_missing_fragment(tmp_path: Path) -> None:
    case = replace(BY_NAME["csv-row-short"], says=("bad.csv:4",))
    assert [fault for fault in faults(case, run(case, tmp_path)) if "'bad.csv:4' missing" in fault]


def test_the_runner_rejects_acceptance_where_refusal_is_due(tmp_path: Path) -> None:
    case = replace(BY_NAME["csv-byte-order-mark"], code="not-utf8", holds={})
    found = faults(case, run(case, tmp_path))
    assert [fault for fault in found if "exit code 0 where 2" in fault]
    assert [fault for fault in found if "although refused" in fault]


def test_the_runner_rejects_refusal_where_acceptance_is_due(tmp_path: Path) -> None:
    case = replace(BY_NAME["csv-nul-byte"], code=None, says=())
    assert [fault for fault in faults(case, run(case, tmp_path)) if "exit code 2 where 0" in fault]


def test_the_runner_rejects_other_values_in_the_output(tmp_path: Path) -> None:
    case = replace(BY_NAME["csv-ids-like-numbers-in-wide"], holds={"item": ["7", "7"]})
    assert [fault for fault in faults(case, run(case, tmp_path)) if "column item holds" in fault]


def test_the_runner_rejects_a_warning_that_does_not_come(tmp_path: Path) -> None:
    case = replace(BY_NAME["csv-column-not-ours"], says=("humour",))
    assert [fault for fault in faults(case, run(case, tmp_path)) if "missing from the warnings" in fault]
    case = replace(BY_NAME["csv-column-not-ours"], warns=False)
    assert [fault for fault in faults(case, run(case, tmp_path / "again")) if "said on stderr" in fault]


def test_the_runner_rejects_what_costs_too_much(tmp_path: Path) -> None:
    case = BY_NAME["csv-row-short"]
    found = faults(case, run(case, tmp_path), Limits(cpu_seconds=0.0001, peak_mb=1))
    assert [fault for fault in found if "CPU time" in fault]
    assert [fault for fault in found if "MB of memory" in fault]


def test_the_runner_kills_what_does_not_end(tmp_path: Path) -> None:
    case = BY_NAME["csv-row-short"]
    outcome = run(case, tmp_path, limits=Limits(killed_after_seconds=0))
    assert outcome.exit_code == -9
    assert faults(case, outcome)


def test_the_runner_sees_control_characters_and_tracebacks(tmp_path: Path) -> None:
    case = BY_NAME["csv-row-short"]
    outcome = run(case, tmp_path)
    assert [f for f in faults(case, replace(outcome, stdout="\x1b]0;owned\x07")) if "control characters" in f]
    assert [f for f in faults(case, replace(outcome, stderr="Traceback\nKeyError: 'item'\n")) if "traceback" in f]


def test_a_naive_reader_takes_many_of_the_tables_that_must_be_refused(tmp_path: Path) -> None:
    taken = []
    for case in TABLES:
        if case.code is None:
            continue
        folder = tmp_path / case.name
        folder.mkdir()
        case.make(folder)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                pd.read_csv(folder / case.source)
        except (ValueError, UnicodeError, OSError):
            continue
        taken.append(case.name)
    assert len(taken) >= 10, taken
