"""Published data where it is at hand, and small files in the published form where it is not."""

from __future__ import annotations

import csv
import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sfumato.annotations import Annotations

Written = Callable[[str, str], Path]


@pytest.fixture
def published() -> Path:
    """The folder of the published sets, as `SFUMATO_DATA` names it."""
    folder = os.environ.get("SFUMATO_DATA")
    if not folder:
        pytest.skip("SFUMATO_DATA does not name the folder of the published data")
    return Path(folder)


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
