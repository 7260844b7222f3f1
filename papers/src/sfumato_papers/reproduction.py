"""Reproduction: a paper run again, every published figure next to ours, and the files that tell of it."""

from __future__ import annotations

import re
import resource
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from sfumato.evaluation.run_predictions import RUN
from sfumato.reporting.chart_renderer import check_report_installed
from sfumato.tables.base_table import Table, columns_of, rows_of
from sfumato.tables.files import read_document, read_rows
from sfumato.tables.files.atomic_write import atomic_write
from sfumato_papers import PAPERS, paper_named
from sfumato_papers.finding import Statement
from sfumato_papers.paper import Paper, Part, Rerun, Say, Scale, silent
from sfumato_papers.paper_page import SHOWN, markdown_table, page_of
from sfumato_papers.published_data import Described, PublishedData
from sfumato_papers.verdict import MARKS, Verdict


@dataclass(frozen=True)
class Outcome:
    """One cell of a published table, or one sentence: as printed, as it came out here, and the verdict with its
    reason. `scaled_down` says in what our protocol is smaller."""

    paper: str
    place: str
    row: str
    column: str
    published: str
    ours: str
    value: float
    low: float
    high: float
    covers: str
    verdict: str
    why: str
    scaled_down: str
    how: str


@dataclass(frozen=True, eq=False, repr=False)
class Outcomes(Table):
    outcomes: tuple[Outcome, ...]

    classes = ()

    @classmethod
    def of(cls, paper: str, parts: Iterable[Part]) -> Outcomes:
        return cls(tuple(outcome for part in parts for outcome in _outcomes(paper, part)))

    @classmethod
    def read(cls, path: str | Path) -> Outcomes:
        return cls(rows_of(read_rows(path), Outcome))

    def chunk(self, start: int, stop: int, *, wide: bool) -> pa.Table:  # noqa: ARG002
        return columns_of(self.outcomes[start:stop], Outcome)

    def __len__(self) -> int:
        return len(self.outcomes)

    def tally(self) -> Counter[Verdict]:
        return Counter(Verdict(each.verdict) for each in self.outcomes)


def _outcomes(paper: str, part: Part) -> Iterable[Outcome]:
    for finding, judged in zip(part.findings, part.judged, strict=True):
        if isinstance(finding, Statement):
            column, published, ours, value, low, high, covers = "", finding.says, finding.ours, *[np.nan] * 3, ""
        else:
            column, published = finding.column, str(finding.published or "")
            figure = finding.ours
            ours = "" if figure is None else f"{figure.value:.{finding.places}f}"
            value, low, high = (np.nan,) * 3 if figure is None else (figure.value, figure.low, figure.high)
            covers = "" if figure is None else figure.covers
        yield Outcome(
            paper, part.place, finding.row, column, published, ours, value, low, high, covers,
            judged.verdict.value, judged.why, part.scaled_down, finding.how,
        )  # fmt: skip


IMAGES = "images"


@dataclass(frozen=True, eq=False)
class Reproduction:
    """What came of a paper: its parts in its own order, each figure next to the published one."""

    paper: Paper
    scale: Scale
    parts: tuple[Part, ...]
    described: tuple[Described, ...]
    """The data: where it is from, and whether it is as released."""
    command: str
    cost: str
    """What it took, in a sentence."""

    def outcomes(self) -> Outcomes:
        return Outcomes.of(self.paper.name, self.parts)

    def write(self, folder: str | Path) -> Path:
        """Write the page, its pictures, every outcome as CSV, and the list of all papers; returns the page."""
        folder = Path(folder)
        (folder / IMAGES).mkdir(parents=True, exist_ok=True)
        for part in self.parts:
            for chart in part.charts:
                for mode, dark in (("", False), ("-dark", True)):
                    with atomic_write(folder / IMAGES / f"{self.paper.name}-{chart.name}{mode}.svg") as file:
                        # A page shows it as a picture, whose words stand next to it: no words mark by mark.
                        svg = re.sub(r' (?:aria-[a-z]+|role)="[^"]*"', "", chart.svg(dark=dark))
                        file.write_text(svg + "\n", "utf-8")
        self.outcomes().write(folder / f"{self.paper.name}.csv")
        path = folder / f"{self.paper.name}.md"
        with atomic_write(path) as file:
            file.write_text(page_of(self), "utf-8")
        write_index(folder)
        return path


def reproduce(
    name: str,
    *,
    data: PublishedData,
    runs: str | Path,
    scale: Scale = Scale.SMALL,
    only: Sequence[str] = (),
    device: str = "cpu",
    processes: int = 0,
    command: str = "",
    say: Say = silent,
) -> Reproduction:
    """The paper called `name`, run again: its parts, or those of `only` (as `sfumato reproduce PAPER --parts` lists
    them). Trainings are kept under `runs` and done once; a rerun that was stopped goes on where it was."""
    check_report_installed()
    paper = paper_named(name)
    steps = [paper.step(each) for each in only] or list(paper.steps)
    data.need(paper.data)
    rerun = Rerun(data, scale, Path(runs) / name, device, processes, say)
    began, used = time.perf_counter(), _cpu_seconds()
    parts = tuple(paper.parts(rerun, steps))
    cost = _cost(rerun, time.perf_counter() - began, _cpu_seconds() - used)
    command = command or f"sfumato reproduce {name} --scale {scale}"
    return Reproduction(paper, scale, parts, data.described(paper.data), command, cost)


def _cost(rerun: Rerun, seconds: float, cpu_seconds: float) -> str:
    """What the rerun took, and what of it trainings took that may have been done before."""
    documents = [read_document(path) for path in sorted(rerun.folder.rglob(RUN))]
    trainings = [run for run in documents if isinstance(run, dict) and "seconds" in run and "condition" not in run]
    minutes = sum(run["seconds"]["cpu"] for run in trainings) / 60
    trained = f"{len(trainings):,} trainings took {minutes:.0f} CPU-minutes in all; " if trainings else ""
    return (
        f"Scale `{rerun.scale}`: {trained}the command that wrote this page took {seconds / 60:.1f} minutes "
        f"({cpu_seconds / 60:.1f} CPU-minutes). Trainings are done once and kept."
    )


def _cpu_seconds() -> float:
    """Of this process and of those it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


INDEX = "index.md"


INDEX_HEAD = """# The published results, run again

A published number that nobody can run again is hearsay. `sfumato reproduce PAPER` prints and writes a paper's own \
tables next to ours, from the released data, with verdicts that are computed: of every cell, \
every sentence with a figure in it.
"""


INDEX_FOOT = """
What is counted from released data is exact, and comes out the same at every scale. What is trained is smaller here than
in the papers unless a page says otherwise: `--scale small` takes minutes, `--scale cpu` up to an hour on two cores, and
`--scale full` is the published protocol, for a graphics card. Every page names what was scaled down, gives the command
that wrote it, and has every verdict with its reason in a CSV next to it."""
"""The last sentences of the list."""


def write_index(folder: Path) -> None:
    """Write `index.md` about the papers whose outcomes are in `folder`."""
    rows = []
    for name, title in PAPERS.items():
        path = folder / f"{name}.csv"
        if path.exists():
            tally = Outcomes.read(path).tally()
            rows.append([f"[{title}]({name}.md)", *(str(tally[each]) for each in SHOWN)])
    table = markdown_table(["paper", *(f"{MARKS[each]} {each.value}" for each in SHOWN)], rows)
    with atomic_write(folder / INDEX) as file:
        file.write_text("\n".join([INDEX_HEAD, table, INDEX_FOOT]) + "\n", "utf-8")
