"""Names say what is inside: modules are nouns of the field, and no module or class name is used twice.

Also how modules depend on each other: no import cycles, and no chain of imports longer than `LONGEST_CHAIN`.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = {"sfumato": ROOT / "src" / "sfumato", "sfumato_papers": ROOT / "papers" / "src" / "sfumato_papers"}
FAMILIES = (
    "importers", "kinds", "metrics", "targets", "networks", "corruptions", "mixing", "charts", "sections", "cli",
    "versions", "converters", "peterson_2019", "collins_2022", "collins_mixup", "soft_digits", "sucholutsky_2023",
)  # fmt: skip
"""Folders of siblings, in which a basename may be that of a module elsewhere."""
FIELD_TERMS = {
    "training",
    "screening",
    "mixing",
    "smoothing",
    "sampling",
    "labeling",
    "planning",
    "reporting",
    "embedding",
    "finding",
}
"""Words that end in -ing and are terms of the field."""
METAPHORS = {
    "aside", "beside", "books", "chance", "course", "desk", "door", "doors", "feed", "growing", "hands", "lesson",
    "memory", "pace", "standing", "told", "turns", "vault", "wire", "witness",
}  # fmt: skip
PARTICIPLES = {
    "adapted", "asked", "believed", "checked", "compared", "drawn", "imported", "judged", "labelled", "measured",
    "mixed", "planned", "printed", "recorded", "released", "saved", "scored", "simulated", "told", "tuned",
}  # fmt: skip
LONGEST_CHAIN = 14


def modules(package: str) -> dict[str, Path]:
    """Dotted name and file of every module of a package."""
    root = PACKAGES[package]
    found = {}
    for path in sorted(root.rglob("*.py")):
        parts = [package, *path.relative_to(root).with_suffix("").parts]
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


EVERY = {name: path for package in PACKAGES for name, path in modules(package).items()}


def bad_name(name: str) -> bool:
    """Whether a module is named by a gerund, a metaphor or a participle."""
    base = name.rsplit(".", 1)[-1]
    words = base.split("_")
    gerund = bool(re.search(r"[a-z]{2,}ing$", words[-1])) and words[-1] not in FIELD_TERMS
    return gerund or base in METAPHORS | PARTICIPLES


@pytest.mark.parametrize("name", ["sfumato.a.judging", "sfumato.desk", "sfumato.b.printed", "sfumato.x.dealing"])
def test_a_bad_name_is_seen(name: str) -> None:
    assert bad_name(name)


def test_modules_are_nouns_of_the_field() -> None:
    assert [name for name in EVERY if bad_name(name)] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_basenames_are_unique(package: str) -> None:
    homes = defaultdict(list)
    for name, path in modules(package).items():
        if path.name != "__init__.py" and path.parent.name not in FAMILIES and path.parent.parent.name not in FAMILIES:
            homes[path.stem].append(name)
    assert {base: names for base, names in homes.items() if len(names) > 1} == {}


def test_class_names_are_unique() -> None:
    homes = defaultdict(list)
    for name, path in modules("sfumato").items():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(name)
    # Metrics and aggregators keep the bare name of what they are.
    assert {each: names for each, names in homes.items() if len(names) > 1} == {}


def imports(path: Path) -> set[str]:
    """Our modules that a module imports when it is imported itself."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                found.add(full if full in EVERY else node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    # The root holds the version alone, and loads nothing.
    return {name for name in found if name in EVERY} - {"sfumato"}


def chains() -> dict[str, tuple[str, ...]]:
    """The longest chain of imports from every module; a cycle ends in a `RecursionError`."""
    graph = {name: imports(path) - {name} for name, path in EVERY.items() if name.startswith("sfumato.")}

    @cache
    def longest(name: str) -> tuple[str, ...]:
        return (name, *max((longest(each) for each in sorted(graph[name])), key=len, default=()))

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(2000)
    try:
        return {name: longest(name) for name in graph}
    finally:
        sys.setrecursionlimit(limit)


def test_import_chains_are_short() -> None:
    longest = max(chains().values(), key=len)
    assert len(longest) <= LONGEST_CHAIN, " -> ".join(longest)
