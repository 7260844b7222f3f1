"""A study for reports: simulated runs of three targets, on clean, corrupted and attacked pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import trained

from sfumato.reporting.report_inputs import ReportInputs

TARGETS = ("hard", "majority", "soft")
SHIFTS = {"clean": 0.0, "gaussian-noise/1": 0.2, "gaussian-noise/3": 0.5, "gaussian-blur/1": 0.3}
ATTACKS = {
    "fgsm eps=2/255 targets=hard": 0.2,
    "pgd eps=4/255 targets=hard step 1": 0.3,
    "pgd eps=4/255 targets=hard step 2": 0.6,
}


def write_study(folder: Path, targets: Sequence[str] = TARGETS, seeds: Sequence[int] = range(4)) -> Path:
    """Write labels.parquet, original.parquet, runs/, shifted/ and attacked/."""
    trained.people().write(folder / "labels.parquet")
    trained.original().write(folder / "original.parquet")
    for run in trained.grid(targets, seeds):
        trained.write_run(folder / "runs", run)
        for place, conditions in (("shifted", SHIFTS), ("attacked", ATTACKS)):
            for name, worse in conditions.items():
                trained.write_run(folder / place, trained.shifted(run, name, worse))
    return folder


def evidence(folder: Path) -> ReportInputs:
    return ReportInputs.read(folder)
