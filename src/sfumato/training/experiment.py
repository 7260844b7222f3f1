"""Experiment: a grid, its data and the folder for its runs. Finds missing runs, trains run groups, writes runs."""

from __future__ import annotations

import glob
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.tables.base_table import columns_of
from sfumato.tables.errors import BadSetting, show, warn, wrong_shape
from sfumato.tables.files.table_file import write_table
from sfumato.tables.option_words import option
from sfumato.tables.row_numbers import items_like
from sfumato.tables.soft_labels import SoftLabels
from sfumato.training.fitted_run import check_model_takes, fit_models
from sfumato.training.grid import GROUP, Grid, RunGroupKey, RunKey, RunRow
from sfumato.training.label_set import sets_used_by
from sfumato.training.models import is_network
from sfumato.training.run_folder import RUN, Run
from sfumato.training.setting_selection import TrialGrid
from sfumato.training.splits import Fold, names_of
from sfumato.training.start_weights import StartWeights
from sfumato.training.training_set import ORIGINAL, PEOPLE, TrainingSet, digest_of

UNFINISHED = "unfinished"
"""The folder, inside that of the runs, for checkpoints of trainings that are not finished."""
TABLE = "runs.csv"
LABEL_SETS = "label-sets"
"""The folder, inside that of the runs, with the label sets if there are several."""
OPTIONAL_SOURCES = ("beliefs", "predicted")
"""Sources that do not change a run which was trained without them."""


@dataclass(frozen=True, eq=False)
class GroupItems:
    """The items of a run group; `validation` is None if none are held out."""

    train: TrainingSet
    validation: TrainingSet | None
    test: TrainingSet


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
    start: StartWeights | None = None
    """Weights that networks start with."""
    only: tuple[RunGroupKey, ...] | None = None
    """The run groups to train, if not all of the grid."""
    _cache: dict[str, RunRow] = field(default_factory=dict, init=False, repr=False)
    """Rows of finished runs, which do not change."""

    def __post_init__(self) -> None:
        assert (self.grid.pretraining is None) == (self.pretraining_set is None), "pretraining has a recipe and data"
        for name, model in self.grid.networks.items():
            check_model_takes(model, name, self.data)
        if self.pretraining_set is not None:
            size, other = (" x ".join(map(str, each.images.shape[1:])) for each in (self.data, self.pretraining_set))
            if size != other:
                expected, fix = f"the size of the other images: {size}", "give images of the same size"
                raise wrong_shape(f"images of {other} to pretrain on", expected, fix)
            assert self.pretraining_set.classes == self.data.classes
        self._check_validation()
        if self.start is not None:
            self.start.check(self.grid, self.data)
        # Every target checks its label sources now, before any training.
        few = self.data.take(self.folds[0].train)
        for target in self.grid.targets.values():
            target.labels(few, np.random.default_rng(0))

    # --- missing runs ---

    def run_groups(self) -> list[RunGroupKey]:
        """All run groups of the grid, finished or not; pretraining comes first."""
        groups = [*self.grid.pretraining_groups(), *self.grid.run_groups(len(self.folds))]
        return groups if self.only is None else list(self.only)

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
                found.append(replace(key, targets=started or targets))
        return found

    def run(self, key: RunKey) -> Run | None:
        """The run, if it is finished."""
        folder = self.folder / key.name
        return Run.read(folder) if (folder / RUN).is_file() else None

    def predictions(self, target: str, network: str, seed: int, recipe: str = "") -> SoftLabels | None:
        """Predictions for the test items of all folds; None if a fold is not finished or diverged."""
        runs = [self.run(RunKey(target, network, seed, fold.number, recipe)) for fold in self.folds]
        tables = [run.predictions for run in runs if run is not None and run.metadata["ended"] != "diverged"]
        complete = [table for table in tables if table is not None]
        if len(complete) < len(runs):
            return None
        ids = (item for table in complete for item in table.items.to_pylist())
        items = items_like(ids, complete[0]) if complete else ()
        probs = np.concatenate([table.probs for table in complete])
        made_by = RunKey(target, network, seed, None, recipe).name
        return SoftLabels.from_numpy(items, probs, self.data.classes, 0, made_by=made_by)

    def write_label_sets(self) -> None:
        """Write the label sets next to the runs, so that these can be scored against each of them."""
        data = self.data
        if not data.label_sets:
            return
        for name in data.set_names:
            table = data.named_set(name)
            assert table is not None
            rows = np.flatnonzero(table.known)
            items = items_like((data.items[row] for row in rows), data.items)
            labels = SoftLabels.from_numpy(items, table.probs[rows], data.classes, estimand=table.estimand)
            (self.folder / LABEL_SETS).mkdir(parents=True, exist_ok=True)
            replace(labels, made_by=table.made_by).write(self.folder / LABEL_SETS / f"{name}.parquet")

    def write_table(self) -> list[RunRow]:
        """The status of every run; also written to `runs.csv`."""
        rows = []
        for key in (run for group in self.run_groups() for run in group.runs):
            row, label_set = self._cache.get(key.name), self.grid.label_set_of(key)
            if row is None and (run := self.run(key)) is not None:
                seconds = run.metadata["seconds"]["wall"]
                row = RunRow.of(key, label_set, "done", run.metadata["epochs"], run.metadata["ended"], seconds)
                self._cache[key.name] = row
            rows.append(row or RunRow.of(key, label_set, "to do"))
        write_table(columns_of(rows, RunRow), self.folder / TABLE)
        return rows

    # --- one run group ---

    def train(self, key: RunGroupKey, on_epoch: Callable[[int, int], None] | None = None) -> None:
        """Train a run group, from its checkpoint if there is one, and write its runs."""
        if is_network(self.grid.networks[key.network]):
            from sfumato.training.network_training import train_networks

            train_networks(self, key, on_epoch)
        else:
            fit_models(self, key)

    def run_metadata(self, key: RunKey) -> dict[str, Any]:
        """What `run.json` says about a run before it is trained."""
        return {
            "run": key.name,
            "target": key.label,
            "network": key.network,
            "seed": key.seed,
            "fold": key.fold,
            "label_set": self.grid.label_set_of(key),
            **({"mixing": key.recipe} if key.recipe else {}),
            "settings": self.grid.settings_of(key),
            "classes": list(self.data.classes),
            "data": self.data_hashes(key),
        }

    # --- data ---

    def items_of(self, key: RunGroupKey) -> GroupItems:
        """Training, validation and test items of a run group."""
        data, fold = self.data, None if key.fold is None else self.folds[key.fold]
        if fold is None:
            assert self.pretraining_set is not None
            data = self.pretraining_set
            fold = Fold(0, np.arange(data.n_items), np.arange(0))
        parts = fold.held_out(data, self.grid.held_out(key), key.seed)
        validation = None if parts.validation is None else data.take(parts.validation)
        test = self.data if key.fold is None else data.take(parts.test)
        return GroupItems(data.take(parts.train), validation, test)

    @cached_property
    def _hashes(self) -> dict[str, str]:
        return self.data.hashes()

    @cached_property
    def _pretraining_hashes(self) -> dict[str, str]:
        hashes = {} if self.pretraining_set is None else self.pretraining_set.hashes()
        return {f"pretraining.{name}": value for name, value in hashes.items()}

    def data_hashes(self, key: RunGroupKey | RunKey) -> dict[str, str]:
        """Hashes of all data that a run depends on."""
        if key.fold is None:
            return self._pretraining_hashes
        targets = key.targets if isinstance(key, RunGroupKey) else (key.target,)
        used = {f"labels.{name}" for target in targets for name in sets_used_by(self.grid.targets[target])}
        hashes = {name: each for name, each in self._hashes.items() if not name.startswith("labels.") or name in used}
        fold = self.folds[key.fold]
        parts = {"train": fold.train, "validation": fold.validation, "test": fold.test}
        digests = {name: digest_of(names_of(self.data, rows)) for name, rows in parts.items() if rows is not None}
        if self.start is not None and is_network(self.grid.networks[key.network]):
            digests["start"] = self.start.digest
        return {**hashes, **digests, **self._pretraining_hashes}

    def _check_validation(self) -> None:
        """Raise an error if patience, a schedule or a selection needs validation items and there are none."""
        grid = self.grid
        has_items = all(fold.validation is not None for fold in self.folds)
        if grid.pretraining is not None:
            grid.pretraining.check_validation(has_items=grid.pretraining.validation > 0)
        for key in grid.run_groups(1):
            is_held = has_items or grid.held_out(key) > 0
            if (recipe := grid.recipe_of(key)) is not None:
                recipe.check_validation(has_items=is_held)
            if grid.selection is not None and not is_held:
                found, expected = "a selection of settings without validation items", "items to choose them on"
                fix = f"give {option('validation', '0.1')}, or a split with validation items"
                raise BadSetting(found, expected, fix, "no-validation")
        if grid.selection is not None:
            TrialGrid.of(grid)  # an error for a setting that nothing has
        labels = {PEOPLE: self.data.reference, ORIGINAL: self.data.original}
        if grid.selection is not None and labels[grid.selection.by] is None:
            found, fix = (
                f"a selection by {grid.selection.by} labels, which are missing",
                "give them, or select by others",
            )
            raise BadSetting(found, f"{grid.selection.by} labels of the items", fix, "missing-source")
        if has_items and any(grid.held_out(key) for key in grid.run_groups(1)):
            found = "a share of validation items, and a split that has them"
            raise BadSetting(found, "one of them", "omit validation, or the validation items of the split")

    def _is_done(self, key: RunKey) -> bool:
        run = self.run(key)
        if run is None:
            return False
        now = {"settings": self.grid.settings_of(key), "data": self.data_hashes(key)}
        before = {"settings": run.metadata.get("asked", run.settings), "data": run.metadata.get("data", {})}
        differences = [
            f"{name} was {show(old, 30)} and is {show(new, 30)}"
            for name, old, new in _differences(before, now)
            if not (name.removeprefix("data.") in OPTIONAL_SOURCES and None in (old, new))
            and not (name == "data.people" and old is None)  # a label set more
        ]
        if not differences:
            return True
        found = f"found a run with other settings or data: {'; '.join(differences[:5])}"
        if not self.allow_drift:
            fix = "choose another folder with -o, or keep the run with --allow-drift"
            raise BadSetting(found, "a folder with runs of this grid only", fix, "drift", run.folder)
        warn(f"{found}; it is kept ({run.folder})")
        return True

    def unfinished(self, key: RunGroupKey) -> Path:
        """The folder for checkpoints of a run group."""
        names = hashlib.sha256("\0".join(key.targets).encode()).hexdigest()[:8]
        first = RunKey("stack", key.network, key.seed, key.fold, key.recipe).name
        return self.folder / UNFINISHED / f"{first}.{names}"

    def _started(self, key: RunGroupKey, targets: tuple[str, ...]) -> tuple[str, ...] | None:
        """The targets of an interrupted group that includes all of `targets`, if there is one."""
        stack = RunKey("stack", key.network, key.seed, key.fold, key.recipe).name
        pattern = f"{glob.escape(stack)}.????????/{GROUP}"
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
