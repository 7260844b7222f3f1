"""Texts that a person reads use plain words: docs, pages, help, messages, docstrings and comments."""

from __future__ import annotations

from pathlib import Path

import pytest
from plain_words import COMPILED, files, hits

ROOT = Path(__file__).parent.parent
PLACES = (
    *sorted(path for path in (ROOT / "src" / "sfumato").iterdir() if path.is_dir() or path.suffix == ".py"),
    ROOT / "papers" / "src",
    ROOT / "docs",
    ROOT / "examples",
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "Makefile",
)
ALLOWED = {
    "extremise",  # an option and a setting of the pools
    "normalised",  # the name of a way to compare images, in files of users
    "licence",  # an option of `sfumato share`
}
"""Names that users type or that stand in their files."""
GENERATED = ("docs/papers/",)
"""Pages that a command writes; their words are those of the command."""


@pytest.mark.parametrize("place", PLACES, ids=lambda path: str(path.relative_to(ROOT)))
def test_texts_use_plain_words(place: Path) -> None:
    found = [
        str(hit)
        for path in files([place])
        if not str(path.relative_to(ROOT)).startswith(GENERATED)
        for hit in hits(path)
        if hit.phrase not in ALLOWED
    ]
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


@pytest.mark.parametrize(
    "text", ["one row per item", "Who can see this?", "people who came by a link", "0.14", "v1.2.3"]
)
def test_plain_phrases_are_not(text: str) -> None:
    assert not any(pattern.search(text) for pattern, _ in COMPILED)
