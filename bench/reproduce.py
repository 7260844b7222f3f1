"""How long the published results take to run again: all papers at `--scale small`, against a quarter of an hour.

    SFUMATO_DATA=... python bench/reproduce.py [--scale small] [--papers peterson-2019 ...]

Every paper is run by the command itself in a folder of its own, with nothing trained before; the verdicts are printed
beside the time, so that a run that is fast because it did nothing is seen. Run it alone.
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
from sfumato_papers.outcome import Outcomes
from sfumato_papers.paper_page import tally_in_words

ALLOWED = {"small": 15 * 60, "cpu": len(PAPERS) * 60 * 60}
"""Seconds for all papers together on two cores."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--scale", choices=list(ALLOWED), default="small")
    parser.add_argument("--papers", nargs="*", choices=list(PAPERS), default=list(PAPERS))
    asked = parser.parse_args()
    seconds = cpu_seconds = 0.0
    for name in asked.papers:
        with tempfile.TemporaryDirectory() as folder:
            taken, used = run(name, asked.scale, Path(folder))
            tally = Outcomes.read(Path(folder) / f"{name}.csv").tally()
        seconds, cpu_seconds = seconds + taken, cpu_seconds + used
        print(f"{name:<18} {taken:7.0f} s {used:7.0f} CPU-s   {tally_in_words(tally)}")
    allowed = ALLOWED[asked.scale]
    share = f"{seconds / allowed:.2f} of {allowed / 60:.0f} minutes"
    print(f"{'together':<18} {seconds:7.0f} s {cpu_seconds:7.0f} CPU-s   {share}")


def run(name: str, scale: str, folder: Path) -> tuple[float, float]:
    """Seconds, and seconds of processors, that one paper takes."""
    command = [sys.executable, "-m", "sfumato", "reproduce", name, "--scale", scale, "-o", str(folder)]
    began, before = time.perf_counter(), _used()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - began, _used() - before


def _used() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


if __name__ == "__main__":
    main()
