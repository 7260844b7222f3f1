"""Papers, their parts, and the settings of a rerun. Every paper folder builds on these; `reproduction.py` runs them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from sfumato import Inputs
from sfumato.evaluation import RunPredictions, read_runs
from sfumato.reporting.chart import Chart
from sfumato.tables.errors import unknown
from sfumato_papers.finding import Finding, Statement
from sfumato_papers.published_data import PublishedData
from sfumato_papers.verdict import Judged, Verdict, judge

if TYPE_CHECKING:
    from sfumato.training.grid import Grid
    from sfumato.training.robustness_runs import Corrupted
    from sfumato.training.splits import Fold
    from sfumato.training.training_set import TrainingSet


BEYOND = "Beyond the paper"
"""The place of what is in no paper."""


@dataclass(frozen=True, eq=False)
class Part:
    """What one table, figure or section of a paper says, next to what came out here.

    `place` is where a reader of the paper looks for it (`Table 1`). `scaled_down` says in what the protocol is smaller
    than the paper's (network, epochs, seeds, items), and is empty where it is the paper's own, or the figures are
    counted from the released data.
    """

    place: str
    title: str
    findings: Sequence[Finding | Statement]
    about: str = ""
    """How it was done here, in Markdown: what a reader must know to believe it."""
    scaled_down: str = ""
    charts: tuple[Chart, ...] = ()
    after: str = ""
    """What came out, in Markdown; for what no verdict says."""

    def __post_init__(self) -> None:
        cells = Counter((each.row, getattr(each, "column", "")) for each in self.findings)
        twice = [cell for cell, n in cells.items() if n > 1]
        assert not twice, f"{self.place}: {twice[0]} stands twice"

    @cached_property
    def judged(self) -> tuple[Judged, ...]:
        """The verdict on every finding, in their order."""
        return tuple(judge(each, scaled_down=bool(self.scaled_down)) for each in self.findings)

    def tally(self) -> Counter[Verdict]:
        return Counter(each.verdict for each in self.judged)


Value = TypeVar("Value")
Arguments = ParamSpec("Arguments")


class Scale(StrEnum):
    """How large a rerun is. What a paper counts from its data is the same at every scale."""

    SMALL = "small"
    """Minutes on two cores: every path is walked, trainings are short."""
    CPU = "cpu"
    """Up to an hour on two cores."""
    FULL = "full"
    """The published protocol, which wants a graphics card."""

    def of(self, values: Mapping[Scale, Value]) -> Value:
        return values[self]


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
    known: dict[tuple[Any, ...], Any] = field(default_factory=dict, init=False, repr=False)
    """What functions that are run `once` have returned, by function and arguments."""

    @property
    def folder(self) -> Path:
        """Where what is made at this scale is kept."""
        return self.runs / str(self.scale)

    def train(
        self, name: str, *, data: TrainingSet, folds: Sequence[Fold], grid: Grid, before: TrainingSet | None = None
    ) -> Path:
        """The folder with the runs of `grid`: those that are missing are trained now."""
        from sfumato.training.experiment import Experiment
        from sfumato.training.worker_pool import run_experiment

        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        experiment = Experiment(grid, data, tuple(folds), folder, before)
        run_experiment(experiment, processes=self.processes)
        return folder

    def shifted(
        self,
        folder: Path,
        name: str,
        *,
        inputs: Inputs | None = None,
        corrupted: Sequence[Corrupted] = (),
        extra: Mapping[str, Inputs] | None = None,
    ) -> list[RunPredictions]:
        """What the runs of `folder` predict for corrupted pictures or other sets; kept in `name` next to it."""
        from sfumato.training.robustness_runs import ShiftExperiment, run_missing
        from sfumato.training.trained_runs import TrainedRuns

        runs, output = TrainedRuns.in_folder(folder).runs, folder.parent / name
        work = ShiftExperiment(runs, output, inputs, tuple(corrupted), extra or {}, device=self.device)
        run_missing(work, processes=self.processes)
        return read_runs(output)


def once(function: Callable[Concatenate[Rerun, Arguments], Value]) -> Callable[Concatenate[Rerun, Arguments], Value]:
    """A function of a rerun that is run once with the same arguments, for parts that read the same."""

    @wraps(function)
    def kept(rerun: Rerun, /, *arguments: Arguments.args, **named: Arguments.kwargs) -> Value:
        key = (kept, *arguments, *named.items())
        if key not in rerun.known:
            rerun.known[key] = function(rerun, *arguments, **named)
        value: Value = rerun.known[key]
        return value

    return kept


Step = Callable[[Rerun], Part]
"""Produces a part of a paper: reads, trains or simulates what it needs."""


@dataclass(frozen=True)
class Paper:
    """A published paper as a list of its parts, in its own order."""

    name: str
    title: str
    authors: str
    year: int
    venue: str
    data: tuple[str, ...]
    """The data sets it needs, by the names of their folders."""
    steps: tuple[Step, ...]

    def step(self, name: str) -> Step:
        found = next((step for step in self.steps if name_of(step) == name.lower().replace("_", "-")), None)
        if found is None:
            raise unknown("part", name, [name_of(step) for step in self.steps])
        return found

    def parts(self, rerun: Rerun, steps: Sequence[Step] = ()) -> Iterator[Part]:
        """Every part, or those of `steps`, run as `rerun` says."""
        todo = steps or self.steps
        for number, step in enumerate(todo):
            rerun.say(number / len(todo), f"{self.name}: {name_of(step)}, {number + 1} of {len(todo)}")
            yield step(rerun)


def name_of(step: Step) -> str:
    """What a part is called on the command line: `table-1`."""
    return step.__name__.replace("_", "-")
