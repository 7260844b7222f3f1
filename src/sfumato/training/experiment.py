"""Experiment: a grid, its data and the folder for its runs. Finds missing runs, trains run groups, writes runs."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from sfumato.tables.base_table import columns_of
from sfumato.tables.errors import BadSetting, show, warn, wrong_shape
from sfumato.tables.files.atomic_write import atomic_write
from sfumato.tables.files.table_file import write_table
from sfumato.tables.row_numbers import items_like
from sfumato.tables.soft_labels import SoftLabels
from sfumato.training.checkpoint import delete_checkpoints
from sfumato.training.fingerprint import Fingerprint
from sfumato.training.grid import PRETRAINED, Grid, RunGroupKey, RunKey, RunRow
from sfumato.training.random_streams import rng_of
from sfumato.training.ranks import Ranks
from sfumato.training.resumable_run import train_group
from sfumato.training.run_folder import RUN, PixelScale, Run, shape_of, write_run
from sfumato.training.run_group import RunGroup, RunState
from sfumato.training.splits import Fold, names_of
from sfumato.training.targets.hard import HardTarget
from sfumato.training.training_set import TrainingSet, digest_of

UNFINISHED = "unfinished"
"""The folder, inside that of the runs, for checkpoints of trainings that are not finished."""
GROUP, TABLE = "stack.json", "runs.csv"
OPTIONAL_SOURCES = ("beliefs", "predicted")
"""Sources that do not change a run which was trained without them."""


@dataclass(frozen=True, eq=False)
class Experiment:
    """A grid and its data. Finished runs are never trained again."""

    grid: Grid
    data: TrainingSet
    folds: tuple[Fold, ...]
    folder: Path
    pretraining_set: TrainingSet | None = None
    """Items with hard labels that networks are pretrained on."""
    allow_drift: bool = False
    """Keep runs made with other settings or data, with a warning instead of an error."""
    _cache: dict[str, RunRow] = field(default_factory=dict, init=False, repr=False)
    """Rows of finished runs, which do not change."""

    def __post_init__(self) -> None:
        assert (self.grid.pretraining is None) == (self.pretraining_set is None), "pretraining has a recipe and data"
        if self.pretraining_set is not None:
            size, other = (" x ".join(map(str, each.images.shape[1:])) for each in (self.data, self.pretraining_set))
            if size != other:
                expected, fix = f"the size of the other images: {size}", "give images of the same size"
                raise wrong_shape(f"images of {other} to pretrain on", expected, fix)
            assert self.pretraining_set.classes == self.data.classes
        # Every target checks its label sources now, before any training.
        few = self.data.take(self.folds[0].train)
        for target in self.grid.targets.values():
            target.labels(few, np.random.default_rng(0))

    # --- missing runs ---

    def run_groups(self) -> list[RunGroupKey]:
        """All run groups of the grid, finished or not; pretraining comes first."""
        return [*self.grid.pretraining_groups(), *self.grid.run_groups(len(self.folds))]

    def missing(self, keys: list[RunGroupKey]) -> list[RunGroupKey]:
        """Those of `keys` that are not finished; an error if a run was made with other settings or data.

        A group that was interrupted is trained again with all of its runs, also those that are written already, so
        that the result is the same as without the interruption.
        """
        found = []
        for key in keys:
            targets = tuple(run.target for run in key.runs if not self._is_done(run))
            if targets:
                started = self._started(key, targets)
                found.append(RunGroupKey(started or targets, key.network, key.seed, key.fold))
        return found

    def run(self, key: RunKey) -> Run | None:
        """The run, if it is finished."""
        folder = self.folder / key.name
        return Run.read(folder) if (folder / RUN).is_file() else None

    def predictions(self, target: str, network: str, seed: int) -> SoftLabels | None:
        """Predictions for the test items of all folds; None if a fold is not finished or diverged."""
        runs = [self.run(RunKey(target, network, seed, fold.number)) for fold in self.folds]
        tables = [run.predictions for run in runs if run is not None and run.metadata["ended"] != "diverged"]
        complete = [table for table in tables if table is not None]
        if len(complete) < len(runs):
            return None
        ids = (item for table in complete for item in table.items.to_pylist())
        items = items_like(ids, complete[0]) if complete else ()
        probs = np.concatenate([table.probs for table in complete])
        made_by = RunKey(target, network, seed, None).name
        return SoftLabels.from_numpy(items, probs, self.data.classes, 0, made_by=made_by)

    def write_table(self) -> list[RunRow]:
        """The status of every run; also written to `runs.csv`."""
        rows = []
        for key in (run for group in self.run_groups() for run in group.runs):
            row = self._cache.get(key.name)
            if row is None and (run := self.run(key)) is not None:
                seconds = run.metadata["seconds"]["wall"]
                row = RunRow.of(key, "done", run.metadata["epochs"], run.metadata["ended"], seconds)
                self._cache[key.name] = row
            rows.append(row or RunRow.of(key, "to do"))
        write_table(columns_of(rows, RunRow), self.folder / TABLE)
        return rows

    # --- one run group ---

    def run_group(self, key: RunGroupKey) -> RunGroup:
        """The runs of `key`, ready to be trained."""
        train, test = self._train_and_test(key)
        recipe = self.grid.pretraining if key.fold is None else self.grid.recipe
        assert recipe is not None
        targets = [HardTarget() if name == PRETRAINED else self.grid.targets[name] for name in key.targets]
        scale = self._scale(train)
        return RunGroup(
            names=key.targets,
            network=self.grid.networks[key.network],
            # The same random numbers for every target of a seed.
            labels=tuple(target.labels(train, rng_of(key.seed, "labels")) for target in targets),
            training_set=train,
            images=scale.applied(train.images),
            recipe=recipe,
            seed=key.seed,
            test_images=scale.applied(test.images),
            initial_weights=self._initial_weights(key),
            device=torch.device(self.grid.device),
        )

    def train(self, key: RunGroupKey, on_epoch: Callable[[int, int], None] | None = None) -> None:
        """Train a run group, from its checkpoint if there is one, and write its runs."""
        started_at, cpu_at = time.perf_counter(), time.process_time()
        ranks, unfinished = Ranks.here(), self._unfinished(key)
        if ranks.writes:
            unfinished.mkdir(parents=True, exist_ok=True)
            with atomic_write(unfinished / GROUP) as part:
                part.write_text(json.dumps(list(key.targets)), "utf-8")
        group = self.run_group(key)
        hashes = self._data_hashes(key)
        fingerprint = Fingerprint.now(
            settings={"runs": [self.grid.settings_of(run) for run in key.runs]},
            data=hashlib.sha256(json.dumps(hashes, sort_keys=True).encode()).hexdigest(),
            device=group.device,
            precision=group.recipe.precision,
        )
        runs = train_group(
            group, folder=unfinished, fingerprint=fingerprint, allow_drift=self.allow_drift, on_epoch=on_epoch
        )
        seconds = {
            "wall": (time.perf_counter() - started_at) / len(runs),
            "cpu": (time.process_time() - cpu_at) / len(runs),
            "side_by_side": len(runs),
        }
        if ranks.writes:
            self._write(key, runs, group, {"data": hashes, "seconds": seconds})
        ranks.wait()

    def _write(self, key: RunGroupKey, states: list[RunState], group: RunGroup, more: dict[str, Any]) -> None:
        """Write the runs of a group, then delete its checkpoints."""
        unfinished = self._unfinished(key)
        test_items = self.data.items if key.fold is None else names_of(self.data, self.folds[key.fold].test)
        scale = self._scale(group.training_set)
        for run, state in zip(key.runs, states, strict=True):
            folder = self.folder / run.name
            if (folder / RUN).is_file():
                continue
            metadata = {
                "run": run.name,
                **asdict(run),
                "settings": self.grid.settings_of(run),
                "classes": list(self.data.classes),
                "shape": list(shape_of(self.data.images)),
                "scale": {"mean": list(scale.mean), "std": list(scale.std)},
                **more,
            }
            write_run(folder, state, group, test_items, metadata)
        delete_checkpoints(unfinished)
        # Last: as long as this file exists, a group that is interrupted here is recognized.
        (unfinished / GROUP).unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            unfinished.rmdir()

    # --- data ---

    def _train_and_test(self, key: RunGroupKey) -> tuple[TrainingSet, TrainingSet]:
        """Training and test items of a run group."""
        if key.fold is None:
            assert self.pretraining_set is not None
            return self.pretraining_set, self.data
        fold = self.folds[key.fold]
        return self.data.take(fold.train), self.data.take(fold.test)

    def _scale(self, train: TrainingSet) -> PixelScale:
        # Pretrained weights need the scale that they were trained with.
        return PixelScale.of(train.images if self.pretraining_set is None else self.pretraining_set.images)

    def _initial_weights(self, key: RunGroupKey) -> dict[str, torch.Tensor] | None:
        if self.pretraining_set is None or key.fold is None:
            return None
        run = self.run(RunKey(PRETRAINED, key.network, key.seed, None))
        assert run is not None, "networks are pretrained before any target is trained"
        if run.metadata["ended"] == "diverged":
            found, fix = f"that {run.folder.name} diverged", "pretrain with a smaller rate, into another folder"
            raise BadSetting(found, "a pretrained network to start with", fix, "diverged", run.folder)
        return run.weights()

    @cached_property
    def _hashes(self) -> dict[str, str]:
        return self.data.hashes()

    @cached_property
    def _pretraining_hashes(self) -> dict[str, str]:
        hashes = {} if self.pretraining_set is None else self.pretraining_set.hashes()
        return {f"pretraining.{name}": value for name, value in hashes.items()}

    def _data_hashes(self, key: RunGroupKey | RunKey) -> dict[str, str]:
        """Hashes of all data that a run depends on."""
        if key.fold is None:
            return self._pretraining_hashes
        train, test = (names_of(self.data, part) for part in (self.folds[key.fold].train, self.folds[key.fold].test))
        return {**self._hashes, "train": digest_of(train), "test": digest_of(test), **self._pretraining_hashes}

    def _is_done(self, key: RunKey) -> bool:
        run = self.run(key)
        if run is None:
            return False
        now = {"settings": self.grid.settings_of(key), "data": self._data_hashes(key)}
        before = {"settings": run.settings, "data": run.metadata.get("data", {})}
        differences = [
            f"{name} was {show(old, 30)} and is {show(new, 30)}"
            for name, old, new in _differences(before, now)
            if not (name.removeprefix("data.") in OPTIONAL_SOURCES and None in (old, new))
        ]
        if not differences:
            return True
        found = f"found a run with other settings or data: {'; '.join(differences[:5])}"
        if not self.allow_drift:
            fix = "choose another folder with -o, or keep the run with --allow-drift"
            raise BadSetting(found, "a folder with runs of this grid only", fix, "drift", run.folder)
        warn(f"{found}; it is kept ({run.folder})")
        return True

    def _unfinished(self, key: RunGroupKey) -> Path:
        names = hashlib.sha256("\0".join(key.targets).encode()).hexdigest()[:8]
        first = RunKey("stack", key.network, key.seed, key.fold).name
        return self.folder / UNFINISHED / f"{first}.{names}"

    def _started(self, key: RunGroupKey, targets: tuple[str, ...]) -> tuple[str, ...] | None:
        """The targets of an interrupted group that includes all of `targets`, if there is one."""
        pattern = f"{glob.escape(RunKey('stack', key.network, key.seed, key.fold).name)}.????????/{GROUP}"
        for path in sorted((self.folder / UNFINISHED).glob(pattern)):
            started = _names_in(path)
            if set(targets) <= set(started) <= set(key.targets):
                return started
        return None


def _names_in(path: Path) -> tuple[str, ...]:
    """The names in a JSON file of an interrupted group; none if it is damaged."""
    try:
        names = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return ()
    return tuple(names) if isinstance(names, list) and all(isinstance(name, str) for name in names) else ()


def _differences(before: Any, now: Any, name: str = "") -> list[tuple[str, Any, Any]]:
    """The values that differ between two nested tables: name, earlier value, current value."""
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        pairs = {f"{name}.{key}" if name else str(key): (before.get(key), now.get(key)) for key in [*before, *now]}
        return [each for key, (old, new) in pairs.items() for each in _differences(old, new, key)]
    # Compared as JSON, where a tuple is a list.
    return [] if json.dumps(before, sort_keys=True) == json.dumps(now, sort_keys=True) else [(name, before, now)]
