"""Grids by processes and by a real cluster: bit for bit what one process finds, also when a worker is killed."""

from __future__ import annotations

import os
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import deadly_embedder
import pytest

from sfumato.jobs import local_cluster, run_jobs
from sfumato.planning.informativeness.label_types import HardLabels, SoftLabelType, SparseLabels
from sfumato.planning.informativeness.simulation import Cells, GridCell, SimulationGrid
from sfumato.tables.errors import BadTable, NotNow, UnknownName

SMALL = SimulationGrid(
    n=(4, 12), k=(3, 6), d=(2, 5), kinds=(SoftLabelType(), HardLabels(), SparseLabels(2)), n_seeds=2, noise=0.2
)
needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")


def deadly(folder: Path, times: int) -> SimulationGrid:
    return replace(SMALL, embedder=deadly_embedder.Deadly(str(folder), times, os.getpid()))


def figures(cells: Cells) -> list[GridCell]:
    """Everything but the time."""
    return [replace(cell, seconds=0.0) for cell in cells.cells]


@needs_ray
@pytest.mark.slow
def test_a_cluster_finds_what_one_process_does_also_when_a_worker_dies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.path.dirname(deadly_embedder.__file__))
    done: list[tuple[int, int]] = []
    here = figures(deadly(tmp_path, 0).run())
    assert here == figures(SMALL.run())
    with local_cluster(2, store_bytes=200_000_000):
        there = deadly(tmp_path, 1).run(n_processes=2, engine="ray", progress=lambda n, of: done.append((n, of)))
        assert len(list(tmp_path.iterdir())) == 1
        assert figures(there) == here
        assert done == [(4, 16), (8, 16), (12, 16), (16, 16)]
        with pytest.raises(NotNow, match=r"worker-died.*died 4 times"):
            list(run_jobs(os._exit, [1], engine="ray", workers=2))
        with pytest.raises(BadTable, match="found something"):
            list(run_jobs(wrong, [1, 2], engine="ray", workers=2))


def test_processes_find_what_one_does_also_when_one_is_killed(tmp_path: Path) -> None:
    found = deadly(tmp_path, 1).run(n_processes=2)
    assert len(list(tmp_path.iterdir())) >= 1
    assert figures(found) == figures(SMALL.run())


def test_processes_that_always_die_are_given_up() -> None:
    with pytest.raises(NotNow, match=r"worker-died.*died 4 times"):
        list(run_jobs(os._exit, [1, 1], workers=2))


def test_processes_have_a_thread_each_and_this_program_is_left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    names = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"]
    assert list(run_jobs(os.getenv, names, workers=2)) == ["1", "1"]
    assert [os.environ.get(name) for name in names] == ["7", None]


def test_an_unknown_engine_is_named() -> None:
    with pytest.raises(UnknownName, match=r"processes.*ray"):
        SMALL.run(engine="rya")


def wrong(piece: int) -> int:
    raise BadTable(f"found something wrong with {piece}", expected="nothing", fix="none", code="bad-labels")
