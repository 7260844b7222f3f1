"""The table of docs/security.md: all forty checks, each with tests that exist."""

from __future__ import annotations

import re

from documented_tests import ROOT, TEST, absent_tests

CHECKS = [f"S{number:02d}" for number in range(1, 41)]
ROW = re.compile(r"^\| (S\d\d) \| (.+?) \| (.+) \|$", re.M)


def missing(text: str) -> list[str]:
    """What is wrong with the table: checks that are not there, have no test, or name one that is not there."""
    rows = {check: tests for check, _, tests in ROW.findall(text)}
    wrong = [f"{check} is not in the table" for check in CHECKS if check not in rows]
    wrong += [f"{check} is no check" for check in rows if check not in CHECKS]
    wrong += [f"{check} has no test" for check, tests in rows.items() if not TEST.search(tests)]
    wrong += [f"{check}: {each}" for check, tests in rows.items() for each in absent_tests(tests)]
    return wrong


def test_every_check_has_tests_that_exist() -> None:
    assert missing((ROOT / "docs" / "security.md").read_text("utf-8")) == []


def test_a_gap_is_found() -> None:
    text = (ROOT / "docs" / "security.md").read_text("utf-8")
    assert missing(text.replace("| S17 |", "| S71 |")) == ["S17 is not in the table", "S71 is no check"]
    assert missing(text.replace("test_no_id_can_be_counted_up", "test_no_such_thing"))
    assert len(missing("")) == 40
