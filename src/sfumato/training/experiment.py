"""Experiment: a grid, the data it is about, and the folder its runs go to. Knows what is missing there."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from sfumato.tables.errors import BadSetting, ErrorLocation, SfumatoWarning, show
from sfumato.tables.files.atomic_write import atomic_write
from sfumato.training.checkpoint import forget
from sfumato.training.fingerprint import Fingerprint
from sfumato.training.grid import (
    PRETRAINED,
    Grid,
    RunGroupKey,
    RunKey,
    RunRow,
    check_pictures_fit,
    write_table,
)
from sfumato.training.item_join import JoinedItems, digest_of
from sfumato.training.random_streams import generator_of
from sfumato.training.ranks import Ranks
from sfumato.training.recipe import Recipe
from sfumato.training.resumable_run import train_group
from sfumato.training.run_folder import RUN, PixelScale, Run, shape_of, write_run
from sfumato.training.run_group import RunGroup, RunState
from sfumato.training.splits import Fold, names_of
from sfumato.training.targets import HardTarget
from sfumato.training.training_set import TrainingSet

UNFINISHED = "unfinished"
"""The folder inside that of the runs where trainings stand that were cut off."""
STACK, TABLE = "stack.json", "runs.csv"
ADDED = ("beliefs", "predicted")
"""Sources that a run which did without them does not change by."""


@dataclass(frozen=True, eq=False)
class Experiment:
    """A grid about some data. Runs that are finished are never done again."""

    grid: Grid
    data: JoinedItems
    folds: tuple[Fold, ...]
    folder: Path
    before: JoinedItems | None = None
    """What networks are pretrained on, with hard labels."""
    allow_drift: bool = False
    """Keep what was made with other settings or data, with a warning, where else it is an error."""
    _known: dict[str, Any] = field(default_factory=dict, init=False, repr=False)
    """What was found out once and does not change: hashes of the data, and how finished runs ended."""

    def __post_init__(self) -> None:
        assert (self.grid.pretraining is None) == (self.before is None), "pretraining has a recipe and data"
        if self.before is not None:
            check_pictures_fit(self.data.images.shape[1:], self.before.images.shape[1:])
            assert self.before.lesson.classes == self.data.lesson.classes
        # Every target must find what it needs, before any time is spent.
        few = self.data.lesson.take(self.folds[0].train)
        for target in self.grid.targets.values():
            target.labels(few, np.random.default_rng(0))

    # --- what there is to do ---

    def stacks(self) -> list[RunGroupKey]:
        """Everything the grid asks for, done or not; what is pretrained comes first."""
        return [*self.grid.pretraining_stacks(), *self.grid.stacks(len(self.folds))]

    def missing(self, stacks: list[RunGroupKey]) -> list[RunGroupKey]:
        """What of `stacks` is still to be trained; an error where a run was made otherwise than the grid asks for.

        A stack that was cut off is trained again with all of its members, also those that are written already: so that
        it ends as it would have.
        """
        hashes = self._hashes()
        found = []
        for stack in stacks:
            targets = tuple(key.target for key in stack.runs if not self._is_done(key, hashes))
            if targets:
                begun = self._begun(stack, targets)
                found.append(RunGroupKey(begun or targets, stack.network, stack.seed, stack.fold))
        return found

    def run(self, key: RunKey) -> Run | None:
        """The run, if it is finished."""
        folder = self.folder / key.name
        return Run.read(folder) if (folder / RUN).is_file() else None

    def write_table(self) -> list[RunRow]:
        """How every run stands, also written to `runs.csv`."""
        rows = []
        for key in (key for stack in self.stacks() for key in stack.runs):
            row = self._known.get(key.name)
            if row is None and (run := self.run(key)) is not None:
                row = RunRow(key, "done", run.said["epochs"], run.said["ended"], run.said["seconds"]["wall"])
                self._known[key.name] = row
            rows.append(row or RunRow(key, "to do"))
        write_table(rows, self.folder / TABLE)
        return rows

    # --- a stack ---

    def task(self, stack: RunGroupKey) -> RunGroup:
        """The networks of `stack`, ready to be trained."""
        return self._task(stack, self._parts(stack))

    def _task(self, stack: RunGroupKey, parts: _Parts) -> RunGroup:
        lesson = parts.learnt.lesson
        targets = [HardTarget() if name == PRETRAINED else self.grid.targets[name] for name in stack.targets]
        return RunGroup(
            names=stack.targets,
            network=self.grid.networks[stack.network],
            labels=tuple(target.labels(lesson, _luck(stack.seed)) for target in targets),
            lesson=lesson,
            pictures=parts.scale.applied(parts.learnt.images),
            recipe=parts.recipe,
            seed=stack.seed,
            tested=parts.scale.applied(parts.tested.images),
            start=self._start(stack),
            device=torch.device(self.grid.device),
        )

    def carry_out(self, stack: RunGroupKey, on_epoch: Callable[[int, int], None] | None = None) -> None:
        """Train `stack`, from where it was left, and write its runs."""
        begun_at, cpu_at = time.perf_counter(), time.process_time()
        ranks, unfinished = Ranks.here(), self._unfinished(stack)
        if ranks.writes:
            unfinished.mkdir(parents=True, exist_ok=True)
            with atomic_write(unfinished / STACK) as part:
                part.write_text(json.dumps(list(stack.targets)), "utf-8")
        parts = self._parts(stack)
        task = self._task(stack, parts)
        hashes = self._data_hashes(stack, self._hashes())
        fingerprint = Fingerprint.now(
            settings={"runs": [self.grid.settings_of(key) for key in stack.runs]},
            data=hashlib.sha256(json.dumps(hashes, sort_keys=True).encode()).hexdigest(),
            device=task.device,
            precision=task.recipe.precision,
        )
        members = train_group(
            task, folder=unfinished, fingerprint=fingerprint, allow_drift=self.allow_drift, on_epoch=on_epoch
        )
        seconds = {
            "wall": (time.perf_counter() - begun_at) / len(members),
            "cpu": (time.process_time() - cpu_at) / len(members),
            "side_by_side": len(members),
        }
        if ranks.writes:
            self._write(stack, members, task, parts, {"data": hashes, "seconds": seconds})
        ranks.wait()

    def _write(
        self, stack: RunGroupKey, members: list[RunState], task: RunGroup, parts: _Parts, said_too: dict[str, Any]
    ) -> None:
        """Write the runs of a stack, then forget how it came to them."""
        unfinished = self._unfinished(stack)
        for key, member in zip(stack.runs, members, strict=True):
            folder = self.folder / key.name
            if (folder / RUN).is_file():
                continue
            said = {
                "run": key.name,
                "target": key.target,
                "network": key.network,
                "seed": key.seed,
                "fold": key.fold,
                "settings": self.grid.settings_of(key),
                "classes": list(task.lesson.classes),
                "shape": list(shape_of(self.data.images)),
                "scale": {"mean": list(parts.scale.mean), "std": list(parts.scale.std)},
                **said_too,
            }
            write_run(folder, member, task, parts.tested.lesson.items, said)
        forget(unfinished)
        # Last: as long as it stands, a stack that was cut off here is known to be one.
        (unfinished / STACK).unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            unfinished.rmdir()

    # --- parts ---

    def _parts(self, stack: RunGroupKey) -> _Parts:
        if stack.fold is None:
            assert self.before is not None
            assert self.grid.pretraining is not None
            return _Parts(self.before, self.data, self.grid.pretraining, PixelScale.of(self.before.images))
        fold = self.folds[stack.fold]
        learnt = self.data.take(fold.train)
        # Weights go with the scale they were found on.
        scale = PixelScale.of(learnt.images if self.before is None else self.before.images)
        return _Parts(learnt, self.data.take(fold.test), self.grid.recipe, scale)

    def _start(self, stack: RunGroupKey) -> dict[str, torch.Tensor] | None:
        if self.before is None or stack.fold is None:
            return None
        run = self.run(RunKey(PRETRAINED, stack.network, stack.seed, None))
        assert run is not None, "networks are pretrained before any target is learnt"
        if run.said["ended"] == "diverged":
            raise BadSetting(
                f"found that {run.folder.name} diverged",
                expected="a pretrained network to begin with",
                fix="pretrain with a smaller rate, into another folder",
                code="diverged",
                where=ErrorLocation(str(run.folder)),
            )
        return run.weights()

    def _hashes(self) -> dict[str, dict[str, str]]:
        """What all data is, by source; found once, because all of it must be gone through."""
        if "hashes" not in self._known:
            before = {} if self.before is None else self.before.hashes()
            self._known["hashes"] = {"data": self.data.hashes(), "before": before}
        hashes: dict[str, dict[str, str]] = self._known["hashes"]
        return hashes

    def _data_hashes(self, stack: RunGroupKey | RunKey, hashes: Mapping[str, dict[str, str]]) -> dict[str, str]:
        """What a run is made of."""
        first = {f"pretraining.{name}": value for name, value in hashes["before"].items()}
        if stack.fold is None:
            return first
        fold = self.folds[stack.fold]
        lesson: TrainingSet = self.data.lesson
        return {
            **hashes["data"],
            "train": digest_of(names_of(lesson, fold.train)),
            "test": digest_of(names_of(lesson, fold.test)),
            **first,
        }

    def _is_done(self, key: RunKey, hashes: Mapping[str, dict[str, str]]) -> bool:
        run = self.run(key)
        if run is None:
            return False
        asked = {"settings": self.grid.settings_of(key), "data": self._data_hashes(key, hashes)}
        was = {"settings": run.settings, "data": run.said.get("data", {})}
        differing = [
            f"{name} was {show(old, 30)} and is {show(new, 30)}"
            for name, old, new in _differences(was, asked)
            if not (name.removeprefix("data.") in ADDED and None in (old, new))
        ]
        if not differing:
            return True
        found = f"found a run made otherwise: {'; '.join(differing[:5])}"
        if not self.allow_drift:
            raise BadSetting(
                found,
                expected="runs of this grid alone in its folder",
                fix="choose another folder with -o, or keep the run with --allow-drift",
                code="drift",
                where=ErrorLocation(str(run.folder)),
            )
        warnings.warn(f"{found}; it is kept as it is ({run.folder})", SfumatoWarning, stacklevel=2)
        return True

    def _unfinished(self, stack: RunGroupKey) -> Path:
        names = hashlib.sha256("\0".join(stack.targets).encode()).hexdigest()[:8]
        first = RunKey("stack", stack.network, stack.seed, stack.fold).name
        return self.folder / UNFINISHED / f"{first}.{names}"

    def _begun(self, stack: RunGroupKey, targets: tuple[str, ...]) -> tuple[str, ...] | None:
        """The members of a stack that was cut off and holds all of `targets`, if there is one."""
        pattern = f"{glob.escape(RunKey('stack', stack.network, stack.seed, stack.fold).name)}.????????/{STACK}"
        for path in sorted((self.folder / UNFINISHED).glob(pattern)):
            members = tuple(json.loads(path.read_text("utf-8")))
            if set(targets) <= set(members) <= set(stack.targets):
                return members
        return None


@dataclass(frozen=True, eq=False)
class _Parts:
    """What a stack learns from, what it predicts, and how."""

    learnt: JoinedItems
    tested: JoinedItems
    recipe: Recipe
    scale: PixelScale


def _luck(seed: int) -> np.random.Generator:
    """The luck of a target's labels: the same for every target of a seed."""
    return np.random.default_rng(generator_of(seed, "labels").initial_seed())


def _differences(was: Any, now: Any, name: str = "") -> list[tuple[str, Any, Any]]:
    """Where two nested tables differ: the name of each value, what it was and what it is."""
    if isinstance(was, Mapping) and isinstance(now, Mapping):
        keys = dict.fromkeys([*was, *now])
        return [
            each
            for key in keys
            for each in _differences(was.get(key), now.get(key), f"{name}.{key}" if name else str(key))
        ]
    # As JSON holds them: a tuple is a list there.
    return [] if json.dumps(was, sort_keys=True) == json.dumps(now, sort_keys=True) else [(name, was, now)]
