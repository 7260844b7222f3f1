"""`--engine ray`: two processes of a real cluster train what one does, also when one of them is killed."""

from __future__ import annotations

import os
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import deadly_on_ray
import numpy as np
import pytest
import toy_data

from sfumato.jobs import local_cluster
from sfumato.tables.errors import NotNow, UnknownName
from sfumato.training.experiment import Experiment
from sfumato.training.grid import Grid
from sfumato.training.networks import Network, SimpleFfn
from sfumato.training.recipe import Recipe
from sfumato.training.run_folder import Run
from sfumato.training.splits import RandomSplit
from sfumato.training.targets import HardTarget, SoftTarget
from sfumato.training.worker_pool import run_experiment

GRID = Grid({"hard": HardTarget(), "soft": SoftTarget()}, {"ffn": SimpleFfn()}, (0, 1), Recipe(epochs=2, batch_size=16))
needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")


def experiment(folder: Path, network: Network, seeds: tuple[int, ...] = (0, 1)) -> Experiment:
    data = toy_data.data()
    grid = replace(GRID, networks={"ffn": network}, seeds=seeds)
    return Experiment(grid, data, tuple(RandomSplit().folds(data)), folder)


@needs_ray
@pytest.mark.slow
def test_a_cluster_trains_what_one_process_does_also_when_a_worker_dies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.path.dirname(deadly_on_ray.__file__))
    deaths = tmp_path / "deaths"
    deaths.mkdir()
    run_experiment(experiment(tmp_path / "here", deadly_on_ray.Deadly(str(deaths), 0)), processes=1)
    with local_cluster(2, store_bytes=200_000_000):
        run_experiment(experiment(tmp_path / "there", deadly_on_ray.Deadly(str(deaths), 1)), processes=2, engine="ray")
        assert len(list(deaths.iterdir())) == 1
        always = deadly_on_ray.Deadly(str(deaths), 10**6)
        with pytest.raises(NotNow, match=r"worker-died.*died 4 times"):
            run_experiment(experiment(tmp_path / "never", always, (0,)), processes=2, engine="ray")
    names = [key.name for stack in experiment(tmp_path, SimpleFfn()).run_groups() for key in stack.runs]
    assert len(names) == 4
    for name in names:
        here, there = (Run.read(tmp_path / where / name) for where in ("here", "there"))
        assert np.array_equal(here.predictions.probs, there.predictions.probs)
        weights = here.weights()
        assert all(np.array_equal(weights[key], array) for key, array in there.weights().items())


def test_an_unknown_engine_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=r"local.*ray"):
        run_experiment(experiment(tmp_path, SimpleFfn()), engine="rya")
