"""Provenance: where every number of a report comes from: files and their hashes, commands, versions, warnings.

The report: everything that evidence says, from the question to the models and the plan, as one page.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from sfumato import __version__
from sfumato.evaluation.run_predictions import PREDICTIONS, RUN, UNFINISHED
from sfumato.reporting.blocks import Block, Column, Commands, Fact, Facts, Points, Prose, ReportTable
from sfumato.reporting.findings import findings
from sfumato.reporting.model_scores import ModelScores, ProgressCallback, models_of, untold
from sfumato.reporting.page import Page, Section
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.reporting.sections import PEOPLE_SECTIONS
from sfumato.reporting.sections.calibration import calibration
from sfumato.reporting.sections.cross_label import cross_labels
from sfumato.reporting.sections.model_uncertainty import doubt_of_models
from sfumato.reporting.sections.plan import planning
from sfumato.reporting.sections.robustness import robustness
from sfumato.reporting.sections.targets import single_scores, targets
from sfumato.reporting.sections.training_dynamics import data_maps, stability
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


MODEL_SECTIONS: tuple[Callable[[ModelScores], Section | None], ...] = (
    targets,
    calibration,
    doubt_of_models,
    robustness,
    cross_labels,
    data_maps,
    stability,
)
"""In the order of a report, after what people said."""
SUMMARY = "In short"


@dataclass(frozen=True, eq=False)
class Report:
    """The report of some evidence. Sections whose parts are missing are left out; the summary and the provenance of
    every number are always there.

    `level` is that of the intervals about models, `resamples` how often items are drawn anew for them.
    """

    evidence: ReportInputs
    title: str = ""
    level: float = 0.95
    resamples: int = 500
    command: str = ""
    """What made the report, to be told at its end."""

    def page(self, on_progress: ProgressCallback | None = None) -> Page:
        """The whole report; `on_progress` is told what share is done, and what is being done."""
        told = on_progress or untold
        evidence = self.evidence
        told(0.0, "measuring the models")
        models = models_of(
            evidence,
            level=self.level,
            resamples=self.resamples,
            on_progress=lambda share, line: told(0.7 * share, line),
        )
        made: list[Section | None] = []
        n = len(PEOPLE_SECTIONS) + len(MODEL_SECTIONS)
        for k, section in enumerate(PEOPLE_SECTIONS):
            told(0.7 + 0.25 * k / n, f"writing about people: {section.__name__.replace('_', ' ')}")
            made.append(section(evidence))
        for k, about in enumerate(MODEL_SECTIONS if models is not None else ()):
            told(
                0.7 + 0.25 * (len(PEOPLE_SECTIONS) + k) / n, f"writing about models: {about.__name__.replace('_', ' ')}"
            )
            assert models is not None
            made.append(about(models))
        made += [single_scores(evidence), planning(evidence)]
        told(0.95, "putting it together")
        sections = (
            _summary(evidence, models),
            *(each for each in made if each is not None),
            provenance(evidence, models, command=self.command),
        )
        return Page(
            title=self.title or (evidence.study.title if evidence.study is not None else "") or "Report",
            lead=_lead(evidence, models),
            sections=sections,
            kind="sfumato · report",
            made=f"Made with sfumato {__version__} on {datetime.now(UTC):%d %B %Y}.",
        )

    def write(self, path: str | Path, *, on_progress: ProgressCallback | None = None) -> Page:
        """Write the report as one HTML file, and return its page."""
        page = self.page(on_progress)
        page.write(path)
        return page


def _summary(evidence: ReportInputs, models: ModelScores | None) -> Section:
    facts, points = _facts(evidence, models), findings(evidence, models)
    blocks: list[Block] = [Facts(tuple(facts))] if facts else []
    blocks += [Points(points)] if points else [Prose(("Neither labels nor models are here to say anything of.",))]
    return Section(SUMMARY, tuple(blocks))


def _facts(evidence: ReportInputs, models: ModelScores | None) -> list[Fact]:
    facts = []
    labels = evidence.main_labels
    if labels is not None:
        each = labels.n_annotators
        note = f"{each.mean():.1f} answers each" if each is not None and len(each) and each.min() > 0 else ""
        facts.append(Fact(f"{len(labels):,}", "items judged by people", note))
        if evidence.plan is None:
            facts.append(Fact(f"{len(labels.classes)}", "classes"))
    if models is not None:
        n = len(models.targets)
        facts.append(Fact(f"{n}", f"training target{'s' * (n != 1)}", _seeds(models)))
        tested = max((row.n_items for row in models.scores), default=0)
        facts.append(Fact(f"{tested:,}", "items tested", "not learnt from"))
    if evidence.plan is not None:
        facts.append(Fact(f"{evidence.plan.cost.answers:,}", "answers planned", f"{evidence.plan.n_items:,} items"))
    return facts


def _seeds(models: ModelScores) -> str:
    counts = sorted({row.n_seeds for row in models.scores})
    most = f"{counts[-1]} seed{'s' * (counts[-1] != 1)} each"
    return most if len(counts) == 1 else f"{counts[0]} to {most}"


def _lead(evidence: ReportInputs, models: ModelScores | None) -> str:
    parts = []
    if any(part is not None for part in (evidence.annotations, evidence.beliefs, evidence.study)):
        parts.append("what people were asked and answered")
    if evidence.labels:
        parts.append("how far they agree")
    if models is not None:
        parts.append("what networks learnt from that")
    if evidence.plan is not None:
        parts.append("what to ask next")
    return f"This report says {counted(parts)}." if parts else "There is little to report on yet."
