"""Grid: targets x networks x seeds x folds, one recipe; what is trained side by side, and the table of runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import torch

from sfumato.tables.errors import BadSetting, BadTable, show
from sfumato.tables.files import write_rows
from sfumato.tables.strategies import described
from sfumato.training.networks import Network
from sfumato.training.recipe import Recipe
from sfumato.training.targets import Target

PRETRAINED = "pretrained"


@dataclass(frozen=True)
class RunKey:
    """Which network of a grid: what it learns, what it is, its seed, and its fold (none for a pretrained one)."""

    target: str
    network: str
    seed: int
    fold: int | None

    @property
    def name(self) -> str:
        """What its folder is called."""
        parts = [_in_a_path(self.target), _in_a_path(self.network), f"seed-{self.seed}"]
        return ".".join(parts if self.fold is None else [*parts, f"fold-{self.fold}"])


@dataclass(frozen=True)
class RunGroupKey:
    """Networks of one form, seed and fold that are trained side by side: they differ in their targets alone."""

    targets: tuple[str, ...]
    network: str
    seed: int
    fold: int | None

    @property
    def runs(self) -> tuple[RunKey, ...]:
        return tuple(RunKey(target, self.network, self.seed, self.fold) for target in self.targets)


@dataclass(frozen=True)
class Grid:
    """What is compared. Targets and networks stand under the names their runs get."""

    targets: Mapping[str, Target]
    networks: Mapping[str, Network]
    seeds: tuple[int, ...] = (0,)
    recipe: Recipe = field(default_factory=Recipe)
    pretraining: Recipe | None = None
    """How networks learn hard labels before they learn any target."""
    device: str = "cpu"

    def __post_init__(self) -> None:
        for what, values in (("targets", self.targets), ("networks", self.networks), ("seeds", self.seeds)):
            if not values:
                raise BadSetting(
                    f"found no {what}", expected="at least one", fix=f"name the {what}", code="bad-setting"
                )
        if len(set(self.seeds)) < len(self.seeds) or min(self.seeds) < 0:
            raise BadSetting(
                f"found the seeds {list(self.seeds)}",
                expected="whole numbers from 0, each once",
                fix="choose other seeds",
                code="bad-setting",
            )
        if PRETRAINED in self.targets:
            raise BadSetting(
                f"found a target called {PRETRAINED}",
                expected="another name: it is that of networks before they learn a target",
                fix="rename it",
                code="bad-setting",
            )
        names = [RunKey(target, network, 0, 0).name for target in self.targets for network in self.networks]
        if len(set(names)) < len(names):
            raise BadSetting(
                "found targets or networks whose runs would share a folder",
                expected="names that differ in letters and digits",
                fix="name each of them once",
                code="bad-setting",
            )
        check_device(self.device)

    def stacks(self, n_folds: int) -> list[RunGroupKey]:
        """Everything there is to train, seed by seed: a grid that is stopped early has whole seeds."""
        return [
            RunGroupKey(tuple(self.targets), network, seed, fold)
            for seed in self.seeds
            for network in self.networks
            for fold in range(n_folds)
        ]

    def pretraining_stacks(self) -> list[RunGroupKey]:
        """What must be trained before: one network a form and seed."""
        if self.pretraining is None:
            return []
        return [RunGroupKey((PRETRAINED,), network, seed, None) for seed in self.seeds for network in self.networks]

    def settings_of(self, key: RunKey) -> dict[str, Any]:
        """Everything but the data that decides how a run comes out."""
        is_first = key.target == PRETRAINED and key.fold is None
        return {
            "target": {"name": PRETRAINED} if is_first else described(self.targets[key.target]),
            "network": described(self.networks[key.network]),
            "seed": key.seed,
            "fold": key.fold,
            "recipe": described(self.pretraining if is_first else self.recipe),
            "pretraining": None if is_first else described(self.pretraining),
            "device": self.device,
        }


@dataclass(frozen=True)
class RunRow:
    """How one run of the grid stands."""

    key: RunKey
    status: str
    """`done` or `to do`."""
    epochs: int | None = None
    ended: str | None = None
    seconds: float | None = None


def write_table(rows: list[RunRow], path: Path) -> None:
    """The table of runs: one a row, in the order they are trained."""
    table = pa.table(
        {
            "run": pa.array([row.key.name for row in rows], pa.string()),
            "target": pa.array([row.key.target for row in rows], pa.string()),
            "network": pa.array([row.key.network for row in rows], pa.string()),
            "seed": pa.array([row.key.seed for row in rows], pa.int64()),
            "fold": pa.array([row.key.fold for row in rows], pa.int64()),
            "status": pa.array([row.status for row in rows], pa.string()),
            "epochs": pa.array([row.epochs for row in rows], pa.int64()),
            "ended": pa.array([row.ended for row in rows], pa.string()),
            "seconds": pa.array([row.seconds for row in rows], pa.float64()),
        }
    )
    write_rows(table.schema, iter([table]), path)


def check_device(name: str) -> torch.device:
    """The device called `name`, or an error unless this machine has it."""
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise BadSetting(
            f"found the device {show(name)} ({str(error).splitlines()[0][:80]})",
            expected="a device of this machine: cpu, cuda, cuda:1, mps ...",
            fix="leave --device out to train on the CPU",
            code="bad-setting",
        ) from None
    return device


def check_pictures_fit(shape: tuple[int, ...], other: tuple[int, ...]) -> None:
    """An error unless pictures to learn from before are of the same size."""
    if shape != other:
        raise BadTable(
            f"found images of {' x '.join(map(str, other))} to pretrain on",
            expected=f"the size of the others: {' x '.join(map(str, shape))}",
            fix="give images of one size",
            code="wrong-shape",
        )


def _in_a_path(name: str) -> str:
    """A name as part of a folder's: letters, digits, dots and dashes."""
    return "".join(c if c.isalnum() or c in ".-_" else "-" for c in name).rstrip("-")
