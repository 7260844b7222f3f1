"""Rerun: where a paper's data stands, how much of its work is done, and where its trainings are kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sfumato_papers.part import Scale
from sfumato_papers.published_data import PublishedData

if TYPE_CHECKING:
    from sfumato.training.grid import Grid
    from sfumato.training.item_join import JoinedItems
    from sfumato.training.splits import Fold

Value = TypeVar("Value")
Say = Callable[[float, str], None]


def silent(share: float, line: str) -> None:
    """Says nothing."""


@dataclass(frozen=True, eq=False)
class Rerun:
    """All that a part of a paper is run with. Trainings are kept under `runs`, and done once."""

    data: PublishedData
    scale: Scale
    runs: Path
    device: str = "cpu"
    processes: int = 0
    """How many trainings at once; 0 is one a core."""
    say: Say = silent
    _known: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    @property
    def folder(self) -> Path:
        """Where what is made at this scale is kept."""
        return self.runs / str(self.scale)

    def once(self, name: str, found: Callable[[], Value]) -> Value:
        """What `found` returns; kept under `name`, for parts that read the same."""
        if name not in self._known:
            self._known[name] = found()
        value: Value = self._known[name]
        return value

    def train(
        self, name: str, *, data: JoinedItems, folds: Sequence[Fold], grid: Grid, before: JoinedItems | None = None
    ) -> Path:
        """The folder with the runs of `grid`: those that are missing are trained now."""
        from sfumato.training.experiment import Experiment
        from sfumato.training.worker_pool import run_experiment

        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        experiment = Experiment(grid, data, tuple(folds), folder, before)
        run_experiment(experiment, processes=self.processes)
        return folder
