"""Texts that a person reads use plain words: docs, pages, help, messages, docstrings and comments."""

from __future__ import annotations

from pathlib import Path

import pytest
from plain_words import COMPILED, files, hits

ROOT = Path(__file__).parent.parent
PACKAGE = "src/sfumato"
PLACES = (
    *sorted(path for path in (ROOT / PACKAGE).iterdir() if path.is_dir() or path.suffix == ".py"),
    ROOT / "papers" / "src",
    ROOT / "docs",
    ROOT / "bench",
    ROOT / "tests" / "faults",
    ROOT / "tests" / "support",
    ROOT / "examples",
    ROOT / "Makefile",
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
)
GENERATED = ("docs/papers/", "docs/guide.md")
"""Pages with texts that a command wrote; the command's own words are checked where they are."""
QUOTED = ("tests/support/plain_words.py", "tests/support/made_up_sets.py")
"""Files that contain such phrases as data."""
NAMES = {
    "extremise": "",
    "licence": "",
    "normalised": "",
    "relabelled": "papers/",
    "colour": f"{PACKAGE}/",
    "told": "",
}
"""Words that are names in users' files, options, JSON, SQL or CSS hooks, and below which path they are."""
NAMED_IN = {
    "colour": (".css", ".js", ".html", "corruptions.py", "robustness_runs.py"),
    "told": (
        ".css", ".js", ".html", "extending.md", "platforms.md", "reconciliation.py", "served_study.py",
        "v0001_first_tables.py", "queries.py", "schema.py", "big_store.py", "browser.py",
    ),
}  # fmt: skip


def is_name(path: str, phrase: str) -> bool:
    """Whether a phrase is a name that must stay as it is."""
    within = NAMED_IN.get(phrase)
    return phrase in NAMES and path.startswith(NAMES[phrase]) and (within is None or path.endswith(within))


@pytest.mark.parametrize("place", PLACES, ids=lambda path: str(path.relative_to(ROOT)))
def test_texts_use_plain_words(place: Path) -> None:
    found = []
    for path in files([place]):
        name = str(path.relative_to(ROOT))
        if not name.startswith((*GENERATED, *QUOTED)):
            found += [str(hit) for hit in hits(path) if not is_name(name, hit.phrase)]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "one row an item", "answers an item", "who was told", "beside it", "for who came by a link", "set aside",
        "made anew", "a colour", "it was .14", "Who finishes gets a code.", "labels that were learnt",
    ],
)  # fmt: skip
def test_mannered_phrases_are_found(text: str) -> None:
    assert any(pattern.search(text) for pattern, _ in COMPILED)


@pytest.mark.parametrize("text", ["one row per item", "Who can see this?", "people who came by a link", "0.14", "v1.2"])
def test_plain_phrases_are_not(text: str) -> None:
    assert not any(pattern.search(text) for pattern, _ in COMPILED)
