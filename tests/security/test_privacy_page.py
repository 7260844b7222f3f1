"""docs/privacy.md: every column about people is explained, and every test it names exists."""

from __future__ import annotations

import re
from pathlib import Path

from sfumato.store.schema import METADATA

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "privacy.md"
ROW = re.compile(r"^\| `(\w+)` \| ((?:`\w+`(?:, )?)+) \|", re.M)
TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
ABOUT_NOBODY = {"studies", "items"}


def explained(text: str) -> dict[str, list[str]]:
    """The columns that the page explains, by table."""
    found: dict[str, list[str]] = {}
    for table, columns in ROW.findall(text):
        found.setdefault(table, []).extend(re.findall(r"`(\w+)`", columns))
    return found


def test_every_column_about_people_is_explained() -> None:
    expected = {name: sorted(table.c.keys()) for name, table in METADATA.tables.items() if name not in ABOUT_NOBODY}
    assert {name: sorted(columns) for name, columns in explained(PAGE.read_text("utf-8")).items()} == expected


def test_every_test_it_names_exists() -> None:
    named = TEST.findall(PAGE.read_text("utf-8"))
    assert len(named) > 10
    for file, name in named:
        assert re.search(rf"^def {name}\(", (ROOT / file).read_text("utf-8"), re.M), f"{file}::{name}"
