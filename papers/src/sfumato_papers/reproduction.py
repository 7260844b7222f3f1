"""Reproduction: a paper run again, and the files that tell of it."""

from __future__ import annotations

import re
import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sfumato.evaluation.run_predictions import RUN
from sfumato.reporting.chart_renderer import check_report_installed
from sfumato.tables.files import read_document
from sfumato.tables.files.atomic_write import atomic_write
from sfumato_papers import paper_named
from sfumato_papers.outcome import Outcomes
from sfumato_papers.paper import Paper, Part, Rerun, Say, Scale, silent
from sfumato_papers.paper_page import page_of, write_index
from sfumato_papers.published_data import Described, PublishedData

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
