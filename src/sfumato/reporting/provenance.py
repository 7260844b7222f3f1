"""Provenance: where every number of a report comes from: files and their hashes, commands, versions, warnings."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from sfumato.evaluation.run_predictions import PREDICTIONS, RUN, UNFINISHED
from sfumato.reporting.blocks import Block, Commands, Points, Prose
from sfumato.reporting.listing import Column, ReportTable
from sfumato.reporting.page import Section
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.reporting.trained_models import ModelScores
from sfumato.tables.files import read_document

TITLE = "Where every number comes from"
PACKAGES = ("sfumato", "numpy", "scipy", "pyarrow", "altair", "vl-convert-python")


def provenance(evidence: ReportInputs, models: ModelScores | None, *, command: str = "") -> Section:
    """Files with their SHA-256, the command that made the report, versions, and what was warned of."""
    said = [
        "Below every figure and table stands the command that computes its numbers anew, and its data as a CSV. "
        "Intervals are at 95% unless said otherwise."
    ]
    blocks: list[Block] = [Prose(tuple(said))]
    blocks += [Commands((command,))] if command else []
    blocks += [_files(evidence)] if evidence.origins else []
    if models is not None and models.notes:
        blocks += [Prose(("What was warned of while the models were scored:",)), Points(tuple(models.notes))]
    return Section(TITLE, (*blocks, _versions(evidence)))


def _files(evidence: ReportInputs) -> ReportTable:
    folders = {"runs": evidence.runs, "shifted": evidence.shifted, "attacked": evidence.attacked}
    rows = [(part, each.file, each.sha256 or digest_of(folders.get(part))) for part, each in evidence.origins.items()]
    return ReportTable(
        "files",
        "Files read",
        "The SHA-256 of a file; of a folder of runs, that of the list of its predictions and of the SHA-256 of each.",
        (
            Column("what", tuple(part for part, _, _ in rows)),
            Column("file", tuple(file for _, file, _ in rows)),
            Column("SHA-256", tuple(digest for _, _, digest in rows)),
        ),
    )


def digest_of(folder: Path | None) -> str | None:
    """One hash for a folder of runs: of the lines `SHA-256  path` of their predictions, in order of paths, as
    `sha256sum` writes them."""
    if folder is None or not folder.is_dir():
        return None
    lines = []
    for path in sorted(folder.rglob(PREDICTIONS), key=lambda each: each.relative_to(folder).as_posix()):
        if UNFINISHED in path.relative_to(folder).parts:
            continue
        with path.open("rb") as file:
            lines.append(f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {path.relative_to(folder).as_posix()}\n")
    return hashlib.sha256("".join(lines).encode()).hexdigest() if lines else None


def _versions(evidence: ReportInputs) -> ReportTable:
    ours = {name: found for name in PACKAGES if (found := _version(name))} | {"python": platform.python_version()}
    theirs = _of_runs(evidence.runs)
    names = [*ours, *(name for name in theirs if name not in ours)]
    return ReportTable(
        "versions",
        "Versions",
        "Of what made this report, and of what trained the networks where their runs say so.",
        (
            Column("package", tuple(names)),
            Column("this report", tuple(ours.get(name) for name in names)),
            *([Column("the runs", tuple(theirs.get(name) for name in names))] if theirs else []),
        ),
    )


def _of_runs(folder: Path | None) -> dict[str, str]:
    """What the runs were trained with, by package; several versions with commas between them."""
    found: dict[str, dict[str, None]] = {}
    for path in sorted(folder.rglob(RUN)) if folder is not None else ():
        said = read_document(path)
        environment = said.get("environment", {}) if isinstance(said, dict) else {}
        for name in ("sfumato", "python", "torch", "numpy"):
            if isinstance(environment, dict) and name in environment:
                found.setdefault(name, {})[str(environment[name])] = None
    return {name: ", ".join(versions) for name, versions in found.items()}


def _version(package: str) -> str | None:
    if package == "sfumato":
        from sfumato import __version__

        return __version__
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def counted(parts: Sequence[str]) -> str:
    """Words in a row: `a, b and c`."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else ""
