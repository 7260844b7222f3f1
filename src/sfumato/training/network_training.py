"""Trains the networks of a run group and writes their runs; resumes from checkpoints."""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from sfumato.tables.errors import BadSetting
from sfumato.tables.files.atomic_write import atomic_write
from sfumato.training.checkpoint import delete_checkpoints
from sfumato.training.fingerprint import Fingerprint
from sfumato.training.grid import GROUP, PRETRAINED, RunGroupKey, RunKey
from sfumato.training.network_inputs import InputScale, input_scale, input_shape
from sfumato.training.network_run import write_run
from sfumato.training.ranks import Ranks
from sfumato.training.resumable_run import train_group
from sfumato.training.run_folder import RUN
from sfumato.training.run_group import RunGroup, RunState, ValidationItems
from sfumato.training.seeds import rng_of
from sfumato.training.splits import names_of
from sfumato.training.targets.hard import HardTarget

if TYPE_CHECKING:
    from sfumato.training.experiment import Experiment
    from sfumato.training.networks.network import Network
    from sfumato.training.training_set import TrainingSet


def train_networks(
    experiment: Experiment, key: RunGroupKey, on_epoch: Callable[[int, int], None] | None = None
) -> None:
    """Train a run group, from its checkpoint if there is one, and write its runs."""
    started_at, cpu_at = time.perf_counter(), time.process_time()
    ranks, unfinished = Ranks.here(), experiment.unfinished(key)
    if ranks.writes:
        unfinished.mkdir(parents=True, exist_ok=True)
        with atomic_write(unfinished / GROUP) as part:
            part.write_text(json.dumps(list(key.targets)), "utf-8")
    group = run_group(experiment, key)
    hashes = experiment.data_hashes(key)
    fingerprint = Fingerprint.now(
        settings={"runs": [experiment.grid.settings_of(run) for run in key.runs]},
        data=hashlib.sha256(json.dumps(hashes, sort_keys=True).encode()).hexdigest(),
        device=group.device,
        precision=group.recipe.precision,
    )
    runs = train_group(
        group, folder=unfinished, fingerprint=fingerprint, allow_drift=experiment.allow_drift, on_epoch=on_epoch
    )
    seconds = {
        "wall": (time.perf_counter() - started_at) / len(runs),
        "cpu": (time.process_time() - cpu_at) / len(runs),
        "side_by_side": len(runs),
    }
    if ranks.writes:
        _write(experiment, key, runs, group, seconds)
    ranks.wait()


def run_group(experiment: Experiment, key: RunGroupKey) -> RunGroup:
    """The runs of `key`, ready to be trained."""
    items, grid = experiment.items_of(key), experiment.grid
    train, held_out = items.train, items.validation
    targets = [HardTarget() if name == PRETRAINED else grid.targets[name] for name in key.targets]
    network: Network = grid.networks[key.network]  # type: ignore[assignment]
    scale = _scale(experiment, train, network)
    return RunGroup(
        names=key.targets,
        network=network,
        # The same random numbers for every target of a seed.
        labels=tuple(target.labels(train, rng_of(key.seed, "labels")) for target in targets),
        training_set=train,
        images=scale.applied(train),
        recipe=grid.recipe_of(key),
        seed=key.seed,
        test_images=scale.applied(items.test),
        initial_weights=_initial_weights(experiment, key),
        device=torch.device(grid.device),
        validation=None
        if held_out is None
        else ValidationItems(
            held_out,
            scale.applied(held_out),
            # Among themselves: a mean over a class must not carry validation labels into training.
            tuple(target.labels(held_out, rng_of(key.seed, "labels")).mean() for target in targets),
        ),
    )


def _write(
    experiment: Experiment, key: RunGroupKey, states: list[RunState], group: RunGroup, seconds: dict[str, Any]
) -> None:
    """Write the runs of a group, then delete its checkpoints."""
    unfinished = experiment.unfinished(key)
    data = experiment.data
    test_items = data.items if key.fold is None else names_of(data, experiment.folds[key.fold].test)
    scale = _scale(experiment, group.training_set, group.network)
    for run, state in zip(key.runs, states, strict=True):
        folder = experiment.folder / run.name
        if (folder / RUN).is_file():
            continue
        metadata = {
            **experiment.run_metadata(run),
            "kind": data.kind,
            "shape": list(group.images.shape[1:]),
            "scale": {"mean": list(scale.mean), "std": list(scale.std)},
            "seconds": seconds,
        }
        write_run(folder, state, group, test_items, metadata)
    delete_checkpoints(unfinished)
    # Last: as long as this file exists, a group that is interrupted here is recognized.
    (unfinished / GROUP).unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        unfinished.rmdir()


def _scale(experiment: Experiment, train: TrainingSet, network: Network) -> InputScale:
    # Pretrained weights need the scale that they were trained with.
    if experiment.start is not None and (scale := experiment.start.scale(train.kind)) is not None:
        return scale
    return input_scale(train if experiment.pretraining_set is None else experiment.pretraining_set, network)


def _initial_weights(experiment: Experiment, key: RunGroupKey) -> dict[str, torch.Tensor] | None:
    if experiment.start is not None:
        network: Network = experiment.grid.networks[key.network]  # type: ignore[assignment]
        return experiment.start.initial(
            network, key.network, input_shape(experiment.data, network), experiment.data.classes
        )
    if experiment.pretraining_set is None or key.fold is None:
        return None
    run = experiment.run(RunKey(PRETRAINED, key.network, key.seed, None))
    assert run is not None, "networks are pretrained before any target is trained"
    if run.metadata["ended"] == "diverged":
        found, fix = f"that {run.folder.name} diverged", "pretrain with a smaller rate, into another folder"
        raise BadSetting(found, "a pretrained network to start with", fix, "diverged", run.folder)
    return {name: torch.from_numpy(array) for name, array in run.weights().items()}
