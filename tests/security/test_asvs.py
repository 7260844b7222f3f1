"""The page docs/asvs.md: every requirement of OWASP ASVS 5.0.0 of level 1 and 2 once, with its state and evidence."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import pytest
from documented_tests import ROOT, TEST, absent_tests

PAGE = ROOT / "docs" / "asvs.md"
LEVELS = {
    "1.1": "22",
    "1.2": "1111122223",
    "1.3": "112222222223",
    "1.4": "222",
    "1.5": "123",
    "2.1": "122",
    "2.2": "112",
    "2.3": "12223",
    "2.4": "23",
    "3.1": "3",
    "3.2": "113",
    "3.3": "12223",
    "3.4": "11222233",
    "3.5": "11122333",
    "3.6": "3",
    "3.7": "22333",
    "4.1": "12233",
    "4.2": "23333",
    "4.3": "22",
    "4.4": "1222",
    "5.1": "2",
    "5.2": "112333",
    "5.3": "113",
    "5.4": "222",
    "6.1": "122",
    "6.2": "111111112222",
    "6.3": "11223333",
    "6.4": "112233",
    "6.5": "22222333",
    "6.6": "2223",
    "6.7": "33",
    "6.8": "2222",
    "7.1": "222",
    "7.2": "1111",
    "7.3": "22",
    "7.4": "11222",
    "7.5": "223",
    "7.6": "22",
    "8.1": "1233",
    "8.2": "1123",
    "8.3": "133",
    "8.4": "23",
    "9.1": "111",
    "9.2": "1222",
    "10.1": "22",
    "10.2": "223",
    "10.3": "22223",
    "10.4": "1111122222233333",
    "10.5": "22222",
    "10.6": "22",
    "10.7": "222",
    "11.1": "2233",
    "11.2": "22233",
    "11.3": "11233",
    "11.4": "1222",
    "11.5": "23",
    "11.6": "23",
    "11.7": "33",
    "12.1": "12233",
    "12.2": "11",
    "12.3": "22223",
    "13.1": "2333",
    "13.2": "222223",
    "13.3": "2233",
    "13.4": "1222233",
    "14.1": "22",
    "14.2": "12223333",
    "14.3": "122",
    "15.1": "12233",
    "15.2": "12233",
    "15.3": "1222222",
    "15.4": "3333",
    "16.1": "2",
    "16.2": "22222",
    "16.3": "2222",
    "16.4": "222",
    "16.5": "2223",
    "17.1": "23",
    "17.2": "22223333",
    "17.3": "22",
}
"""The level of each requirement, by section: one digit per requirement, in order."""
REQUIREMENTS = {
    f"{section}.{n}": int(level)
    for section, levels in LEVELS.items()
    for n, level in enumerate(levels, 1)
    if level in "12"
}
STATES = ("met", "not met", "does not apply")
ROW = re.compile(r"^\| (\d+\.\d+\.\d+(?:, \d+\.\d+\.\d+)*) \| (\d) \| (.+?) \| (.+?) \| (.+) \|$", re.M)
COUNT = re.compile(r"^\| (met|not met|does not apply|all) \| (\d+) \| (\d+) \| (\d+) \|$", re.M)
LISTED = re.compile(r"^- \*\*(\d+\.\d+\.\d+)\*\*", re.M)
PLACE = re.compile(r"`((?:src|docs)/[\w/.-]+)`|\]\(([\w-]+\.md)")


@dataclass(frozen=True)
class Requirement:
    """One requirement as the page states it."""

    number: str
    level: int
    state: str
    shown_by: str


def requirements(text: str) -> list[Requirement]:
    return [
        Requirement(number, int(level), state, shown_by)
        for numbers, level, _, state, shown_by in ROW.findall(text)
        for number in numbers.split(", ")
    ]


def missing(text: str) -> list[str]:
    """What is wrong with the page."""
    rows = requirements(text)
    times = Counter(row.number for row in rows)
    wrong = [f"{each} is there {times[each]} times" for each in REQUIREMENTS if times[each] != 1]
    wrong += [f"{row.number} is no requirement of level 1 or 2" for row in rows if row.number not in REQUIREMENTS]
    wrong += [f"{row.number} is not of level {row.level}" for row in rows if REQUIREMENTS.get(row.number) != row.level]
    wrong += [f"{row.number} is {row.state}" for row in rows if row.state not in STATES]
    for row in rows:
        wrong += [f"{row.number}: {each}" for each in absent_tests(row.shown_by)]
        places = [ROOT / (path or f"docs/{page}") for path, page in PLACE.findall(row.shown_by)]
        wrong += [f"{row.number}: {place} is not there" for place in places if not place.exists()]
        if row.state == "met" and not places and not TEST.search(row.shown_by):
            wrong.append(f"{row.number} is met by nothing")
    listed = LISTED.findall(text)
    if listed != [row.number for row in rows if row.state == "not met"]:
        wrong.append("the list of what is not met is another one than that of the tables")
    return wrong + wrong_counts(text, rows)


def wrong_counts(text: str, rows: list[Requirement]) -> list[str]:
    counted = Counter((row.state, row.level) for row in rows)
    given = {state: [int(each) for each in numbers] for state, *numbers in COUNT.findall(text)}
    wrong = []
    for state in (*STATES, "all"):
        ones, twos = (sum(counted[s, level] for s in STATES if state in (s, "all")) for level in (1, 2))
        if given.get(state) != [ones, twos, ones + twos]:
            wrong.append(f"{state}: {ones} of level 1 and {twos} of level 2, not {given.get(state)}")
    return wrong


def test_the_standard_has_70_requirements_of_level_1_and_183_of_level_2() -> None:
    assert Counter(REQUIREMENTS.values()) == {1: 70, 2: 183}


def test_every_requirement_has_a_state_and_what_shows_it() -> None:
    assert missing(PAGE.read_text("utf-8")) == []


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("| 4.2.1 |", "| 4.2.9 |", "4.2.1 is there 0 times"),
        ("| 4.1.3 |", "| 4.2.1 |", "4.2.1 is there 2 times"),
        ("| 4.2.1 | 2 |", "| 4.2.1 | 1 |", "4.2.1 is not of level 1"),
        ("test_no_origin_is_let_in_by_name", "test_no_such_thing", "3.4.2: tests/server/test_request_guard.py"),
        ("| met | `tests/server/test_request_guard.py::test_no_origin", "| open | `tests/server/x", "3.4.2 is open"),
        (
            "`tests/server/test_request_guard.py::test_no_origin_is_let_in_by_name`",
            "we think",
            "3.4.2 is met by nothing",
        ),
        ("| met | 5", "| met | 9", "met: "),
        ("- **14.2.1**", "- 14.2.1", "the list of what is not met"),
    ],
)
def test_a_gap_is_found(old: str, new: str, found: str) -> None:
    text = PAGE.read_text("utf-8")
    assert old in text
    assert [each for each in missing(text.replace(old, new)) if each.startswith(found)]
