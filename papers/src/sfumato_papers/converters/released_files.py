"""Files of a set's folder, packed the same way each time."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np


def write_arrays(path: Path, **arrays: np.ndarray) -> None:
    np.savez_compressed(path, **arrays)  # type: ignore[arg-type]


def write_table(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A `.csv.gz` with a head."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    path.write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))


def write_document(path: Path, document: object) -> None:
    """A `.json.gz` without blanks."""
    path.write_bytes(gzip.compress(json.dumps(document, separators=(",", ":")).encode(), mtime=0))


def read_table(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file, every field as it is written."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def read_document(path: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads(path.read_text("utf-8"))
    return found


def numbered(names: Iterable[str]) -> dict[str, int]:
    """Names and their numbers, in the order of their first appearance: nobody's own id is kept."""
    return {name: number for number, name in enumerate(dict.fromkeys(names))}
