"""Conditions: what a run predicts of pictures that were changed: a folder a condition, and in it one a run.

Each holds `predictions.parquet` and `run.json`: all that the run says of itself, the `condition`, and what decided it
(`under`). It is whole once `run.json` stands in it, and never written twice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from sfumato.tables.errors import BadSetting, ErrorLocation, listing
from sfumato.tables.files import read_document
from sfumato.tables.files.atomic_write import atomic_write
from sfumato.tables.soft_labels import SoftLabels
from sfumato.training.runs import PREDICTIONS, RUN, Run, environment

CLEAN = "clean"
"""The condition of pictures as they are."""
NOT_COMPARED = ("environment", "seconds")
"""What `run.json` says that may differ between two times the same is done."""


@dataclass(frozen=True)
class Condition:
    """What was done to the pictures, and everything that decides how it came out."""

    name: str
    under: Mapping[str, Any] = field(default_factory=dict)

    def folder_of(self, run: Run) -> Path:
        """`gaussian-noise-3/soft.lenet.seed-0.fold-0`."""
        return Path(in_a_path(self.name), run.folder.resolve().name)


def in_a_path(name: str) -> str:
    """A condition's name as part of a folder's: letters, digits, dots and dashes."""
    return "".join(c if c.isalnum() or c in ".-_" else "-" for c in name)


def is_written(output: Path, run: Run, condition: Condition) -> bool:
    """Whether it is there already; an error where what is there was made otherwise."""
    path = output / condition.folder_of(run) / RUN
    if not path.is_file():
        return False
    was, asked = read_document(path), _said(run, condition)
    asked = json.loads(json.dumps(asked))
    differing = [
        key for key in dict.fromkeys([*was, *asked]) if key not in NOT_COMPARED and was.get(key) != asked.get(key)
    ]
    if differing:
        under = [key for key in asked["under"] if was.get("under", {}).get(key) != asked["under"][key]]
        names = [key for key in differing if key != "under"] + (under if "under" in differing else [])
        raise BadSetting(
            f"found predictions made otherwise: with another {listing(names, 5)}",
            expected="what is asked for, or nothing yet",
            fix="choose another folder with -o",
            code="drift",
            where=ErrorLocation(str(path.parent)),
        )
    return True


def write(
    output: Path, run: Run, condition: Condition, items: tuple[str, ...], probs: Float[np.ndarray, "items classes"]
) -> None:
    """Write what the run predicts under a condition; several processes may do so at once."""
    folder = output / condition.folder_of(run)
    folder.mkdir(parents=True, exist_ok=True)
    SoftLabels.from_numpy(items, probs, run.classes, 0).write(folder / PREDICTIONS)
    said = {**_said(run, condition), "environment": environment()}
    with atomic_write(folder / RUN) as part:
        part.write_text(json.dumps(said, indent=1, ensure_ascii=False, allow_nan=False), "utf-8")


def _said(run: Run, condition: Condition) -> dict[str, Any]:
    return {**run.said, "condition": condition.name, "under": dict(condition.under)}
