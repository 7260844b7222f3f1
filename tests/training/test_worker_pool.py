"""Workers: as many processes as asked for, the same runs; who dies is replaced."""

from __future__ import annotations

import multiprocessing
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import toy_data

from sfumato.tables.errors import BadSetting, NotNow, SfumatoWarning
from sfumato.training.experiment import Experiment
from sfumato.training.grid import Grid
from sfumato.training.item_join import join_items
from sfumato.training.networks import LeNet, SimpleFfn
from sfumato.training.recipe import Recipe
from sfumato.training.run_folder import Run
from sfumato.training.splits import RandomSplit
from sfumato.training.targets import HardTarget, SoftTarget
from sfumato.training.training_progress import Progress, ProgressCounter, costs_of
from sfumato.training.worker_pool import _locked, _WorkerPool, run_experiment

GRID = Grid({"hard": HardTarget(), "soft": SoftTarget()}, {"ffn": SimpleFfn()}, (0, 1), Recipe(epochs=2, batch_size=16))


def experiment(folder: Path, grid: Grid = GRID, data: Any = None) -> Experiment:
    data = data or toy_data.data()
    return Experiment(grid, data, tuple(RandomSplit().folds(data)), folder)


def test_progress_counts_work() -> None:
    progress = Progress(n_groups=2, total=10.0, done=6.0, resumed=4.0, started_at=-500.0, first_epoch_at=0.0)
    assert progress.share == 0.6
    assert progress.seconds_left is not None
    # Two of ten since the clock was looked at, at 0: four are left, twice as long.
    assert progress.seconds_left / time.monotonic() == pytest.approx(2.0, rel=1e-3)
    assert progress.seconds == pytest.approx(time.monotonic() + 500, abs=1)
    assert Progress(2, 10.0).seconds_left is None


def test_progress_is_told(tmp_path: Path) -> None:
    shares: list[float] = []
    run_experiment(experiment(tmp_path), processes=1, on_progress=lambda progress: shares.append(progress.share))
    # Two keys of two epochs, and the end of each.
    assert shares == pytest.approx([0.25, 0.5, 0.5, 0.75, 1.0, 1.0])


def test_threads_are_as_before(tmp_path: Path) -> None:
    torch.set_num_threads(2)
    run_experiment(experiment(tmp_path, replace(GRID, seeds=(0,))), processes=1)
    assert torch.get_num_threads() == 2
    assert Run.read(tmp_path / "soft.ffn.seed-0.fold-0").metadata["environment"]["threads"] == 1


def test_larger_networks_cost_more(tmp_path: Path) -> None:
    made = experiment(tmp_path, replace(GRID, networks={"ffn": SimpleFfn(), "lenet": LeNet()}))
    cost = costs_of(made)
    ffn, lenet = (next(stack for stack in made.run_groups() if stack.network == name) for name in ("ffn", "lenet"))
    assert cost(lenet) > cost(ffn) > 0
    assert cost(replace(lenet, targets=("hard",))) == cost(lenet) / 2


def test_a_folder_has_one_command_at_a_time(tmp_path: Path) -> None:
    with _locked(tmp_path), pytest.raises(NotNow, match="another command that is training"), _locked(tmp_path):
        pass
    with _locked(tmp_path):
        pass


def pool(made: Experiment) -> _WorkerPool:
    """One worker for all that is missing."""
    keys = made.missing(made.run_groups())
    return _WorkerPool(made, keys, 1, ProgressCounter(made, keys, costs_of(made), None))


def test_processes_make_the_same_runs_also_where_one_dies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # What torch would take in a new process, if the worker did not ask for one thread.
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    # Deadly in workers alone, and only once.
    grid = replace(GRID, networks={"deadly": toy_data.Deadly(str(tmp_path), 1)})
    run_experiment(experiment(tmp_path / "one", grid), processes=1)
    with pytest.warns(SfumatoWarning, match=r"died .exit code -9.; another process continues"):
        run_experiment(experiment(tmp_path / "two", grid), processes=2)
    assert len(list(tmp_path.glob("death-*"))) == 1
    assert multiprocessing.active_children() == []
    for key in (key for stack in grid.run_groups(1) for key in stack.runs):
        one, two = (Run.read(tmp_path / folder / key.name) for folder in ("one", "two"))
        assert one.settings == two.settings
        assert two.metadata["environment"]["threads"] == 1
        assert all(np.array_equal(array, two.weights()[name]) for name, array in one.weights().items())


@pytest.mark.filterwarnings("ignore:the process training")
def test_who_dies_again_is_not_replaced(tmp_path: Path) -> None:
    made = experiment(tmp_path / "runs", replace(GRID, networks={"deadly": toy_data.Deadly(str(tmp_path), 99)}))
    made.folder.mkdir()
    with pytest.raises(NotNow, match="died 2 times") as caught:
        pool(made).run()
    assert caught.value.code == "worker-died"
    assert multiprocessing.active_children() == []


def test_errors_of_workers_are_ours(tmp_path: Path) -> None:
    small = replace(toy_data.inputs(), images=toy_data.images()[:, :4, :4].copy())
    made = experiment(tmp_path, replace(GRID, networks={"lenet": LeNet()}), join_items(small, people=toy_data.people()))
    with pytest.raises(BadSetting, match="4 x 4 pixels") as caught:
        pool(made).run()
    assert caught.value.code == "image-too-small"
    assert multiprocessing.active_children() == []
