"""A rerun of the published data, and of a copy in which a test has changed something."""

from __future__ import annotations

import csv
import gzip
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from sfumato_papers.paper import Rerun, Scale
from sfumato_papers.published_data import PublishedData

Row = dict[str, str]


@pytest.fixture(scope="session")
def rerun(published: Path, tmp_path_factory: pytest.TempPathFactory) -> Rerun:
    return Rerun(PublishedData(published), Scale.SMALL, tmp_path_factory.mktemp("runs"), processes=1)


@pytest.fixture
def changed(published: Path, tmp_path: Path) -> Callable[[Callable[[list[Row]], list[Row]]], Rerun]:
    """A rerun of a copy of the data whose rows of answers went through a function."""

    def made(change: Callable[[list[Row]], list[Row]]) -> Rerun:
        for name in ("cifar10s", "cifar10h"):
            (tmp_path / name).mkdir(exist_ok=True)
            for path in (published / name).iterdir():
                shutil.copyfile(path, tmp_path / name / path.name)
        path = tmp_path / "cifar10s" / "elicitations.csv.gz"
        with gzip.open(path, "rt", newline="") as file:
            rows = list(csv.DictReader(file))
        rows = change(rows)
        with gzip.open(path, "wt", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        return Rerun(PublishedData(tmp_path), Scale.SMALL, tmp_path / "runs", processes=1)

    return made
