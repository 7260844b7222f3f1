"""A rerun of the published data, and of a copy in which a test has changed the votes."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sfumato_papers.paper import Rerun, Scale
from sfumato_papers.published_data import PublishedData

Change = Callable[[np.ndarray], np.ndarray]


@pytest.fixture(scope="session")
def rerun(published: Path, tmp_path_factory: pytest.TempPathFactory) -> Rerun:
    return Rerun(PublishedData(published), Scale.SMALL, tmp_path_factory.mktemp("runs"), processes=1)


@pytest.fixture
def with_votes(published: Path, tmp_path: Path) -> Callable[[Change], Rerun]:
    """A rerun of CIFAR-10H whose votes went through a function."""

    def made(change: Change) -> Rerun:
        folder = tmp_path / "cifar10h"
        shutil.copytree(published / "cifar10h", folder, copy_function=shutil.copyfile)
        folder.chmod(0o755)
        with np.load(folder / "counts.npz") as file:
            arrays = dict(file)
        arrays["counts"] = change(arrays["counts"].astype(np.int64)).astype(np.uint8)
        (folder / "counts.npz").unlink()
        np.savez(folder / "counts.npz", **arrays)
        return Rerun(PublishedData(tmp_path), Scale.SMALL, tmp_path / "runs", processes=1)

    return made
