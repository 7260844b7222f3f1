"""Time to reproduce the papers: all papers at `--scale small`, required in 15 minutes.

    SFUMATO_DATA=... python bench/reproduce.py [--scale small] [--papers peterson-2019 ...]

`sfumato reproduce` runs every paper in a new folder, without earlier runs. The verdicts are printed with the time, to
show that the results were computed. Run nothing else at the same time.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sfumato_papers import PAPERS
from sfumato_papers.paper_page import tally_in_words
from sfumato_papers.reproduction import Outcomes

LIMITS = {"small": 15 * 60, "cpu": len(PAPERS) * 60 * 60}
"""Maximum seconds for all papers together on two cores."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--scale", choices=list(LIMITS), default="small")
    parser.add_argument("--papers", nargs="*", choices=list(PAPERS), default=list(PAPERS))
    options = parser.parse_args()
    seconds = cpu_seconds = 0.0
    for name in options.papers:
        with tempfile.TemporaryDirectory() as folder:
            taken, used = run(name, options.scale, Path(folder))
            tally = Outcomes.read(Path(folder) / f"{name}.csv").tally()
        seconds, cpu_seconds = seconds + taken, cpu_seconds + used
        print(f"{name:<18} {taken:7.0f} s {used:7.0f} CPU-s   {tally_in_words(tally)}")
    limit = LIMITS[options.scale]
    share = f"{seconds / limit:.2f} of the allowed {limit / 60:.0f} minutes"
    print(f"{'total':<18} {seconds:7.0f} s {cpu_seconds:7.0f} CPU-s   {share}")


def run(name: str, scale: str, folder: Path) -> tuple[float, float]:
    """Wall and CPU seconds of one paper."""
    command = [sys.executable, "-m", "sfumato", "reproduce", name, "--scale", scale, "-o", str(folder)]
    began, before = time.perf_counter(), _cpu_seconds()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - began, _cpu_seconds() - before


def _cpu_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


if __name__ == "__main__":
    main()
