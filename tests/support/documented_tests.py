"""Tests that a page of the documentation names (`tests/x.py::test_y`): which of them do not exist."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def absent_tests(text: str) -> list[str]:
    """The tests named in a text that are not there."""
    return [f"{file}::{name} is not there" for file, name in TEST.findall(text) if name not in tests_in(file)]


@cache
def tests_in(file: str) -> frozenset[str]:
    """The names of the tests in a file; none if there is no such file."""
    path = ROOT / file
    return frozenset(re.findall(r"^def (test_\w+)\(", path.read_text("utf-8"), re.M) if path.exists() else ())
