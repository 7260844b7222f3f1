"""Small files in the published form, and the published ones read apart from anything under test."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sfumato.tables.annotations import Annotations

Written = Callable[[str, str], Path]


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """Writes a text file and returns its path; line ends stay as they are."""

    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_bytes(text.encode("utf-8"))
        return path

    return write


@pytest.fixture
def raw_rows() -> Callable[[Path], list[dict[str, str]]]:
    """The rows of a CSV as Python's own csv module reads them, apart from anything under test."""

    def read(path: Path) -> list[dict[str, str]]:
        opening = gzip.open if path.suffix == ".gz" else open
        with opening(path, "rt", encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    return read


@pytest.fixture
def answers() -> Callable[[Annotations], list[dict[str, Any]]]:
    """The rows of Annotations as plain values, payloads decoded."""

    def read(table: Annotations) -> list[dict[str, Any]]:
        rows = table.to_arrow().to_pylist()
        return [{**row, "payload": json.loads(row["payload"])} for row in rows]

    return read
