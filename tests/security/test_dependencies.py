"""S38: what the server is made of: floors below which a known hole is open, every file locked by its hash, one list."""

from __future__ import annotations

import importlib.util
import json
import re
import tomllib
from importlib import metadata
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
FLOORS = {"starlette": (1, 3, 1), "pillow": (12, 3), "pyarrow": (14, 0, 1), "torch": (2, 6), "jinja2": (3, 1, 6)}
"""The first releases without holes that were published before: below these nothing may be installed."""


def version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text.partition("+")[0])[:3])


def asked_for() -> dict[str, tuple[int, ...]]:
    """The lowest version of each package that pyproject.toml lets in."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [
        *project["dependencies"],
        *(each for extra in project["optional-dependencies"].values() for each in extra),
    ]
    found: dict[str, tuple[int, ...]] = {}
    for each in wanted:
        if match := re.match(r"([\w-]+)(?:\[[\w,]+\])?>=([\d.]+)", each):
            found[match[1].lower()] = min(version(match[2]), found.get(match[1].lower(), (999,)))
    return found


def module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sbom", Path(__file__).parent / "sbom.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


@pytest.mark.parametrize("name", FLOORS)
def test_no_release_with_a_known_hole_is_let_in(name: str) -> None:
    assert asked_for()[name] >= FLOORS[name]
    assert version(metadata.version(name)) >= FLOORS[name]


def test_a_floor_too_low_is_found() -> None:
    assert version("1.3.0") < FLOORS["starlette"]
    assert version("2.5.1+cpu") < FLOORS["torch"]


def test_every_package_of_the_server_is_locked_by_its_hash() -> None:
    locked = module().locked((ROOT / "requirements-serve.lock").read_text("utf-8"))
    asked = re.findall(r"^([\w-]+)>=([\d.]+)", (ROOT / "requirements-serve.txt").read_text("utf-8"), re.M)
    assert len(asked) >= 10
    for name, lowest in asked:
        assert version(locked[name][0]) >= version(lowest), name
    assert all(hashes for _, hashes in locked.values())
    # The versions are those everything here was tested with.
    constraints = dict(re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "constraints.txt").read_text("utf-8"), re.M))
    known = {name.lower().replace("_", "-"): each for name, each in constraints.items()}
    different = {name: each for name, (each, _) in locked.items() if known.get(name, each) != each}
    assert different == {}


def test_a_lock_without_a_hash_is_found() -> None:
    assert module().locked("a==1\nb==2 \\\n    --hash=sha256:" + "0" * 64) == {"a": ("1", []), "b": ("2", ["0" * 64])}


def test_the_list_of_parts_is_that_of_the_lock() -> None:
    sbom = module()
    assert json.loads(sbom.WRITTEN.read_text("utf-8")) == sbom.sbom(sbom.LOCK.read_text("utf-8"))
