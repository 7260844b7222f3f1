"""A rerun of the published data, and of a copy in which a test has changed judgments of mixed images."""

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
Change = Callable[[list[Row]], list[Row]]


@pytest.fixture(scope="session")
def rerun(published: Path, tmp_path_factory: pytest.TempPathFactory) -> Rerun:
    return Rerun(PublishedData(published), Scale.SMALL, tmp_path_factory.mktemp("runs"), processes=1)


@pytest.fixture
def changed(published: Path, tmp_path: Path) -> Callable[[Change], Rerun]:
    """A rerun of a copy of the data whose judgments went through a function."""

    def made(change: Change) -> Rerun:
        for name in ("cifar10s", "cifar10h", "cifar10-test"):
            (tmp_path / name).symlink_to(published / name)
        (tmp_path / "hmix").mkdir()
        for path in (published / "hmix").iterdir():
            shutil.copyfile(path, tmp_path / "hmix" / path.name)
        path = tmp_path / "hmix" / "infer_mixing_factor.csv.gz"
        with gzip.open(path, "rt", newline="") as file:
            rows = change(list(csv.DictReader(file)))
        with gzip.open(path, "wt", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        return Rerun(PublishedData(tmp_path), Scale.SMALL, tmp_path / "runs", processes=1)

    return made
