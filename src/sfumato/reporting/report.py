"""The report of a study as one page: summary, people, models, plan, and the sources of every number."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from sfumato import __version__
from sfumato.evaluation.run_predictions import PREDICTIONS, RUN, UNFINISHED
from sfumato.reporting.blocks import Block, Column, Commands, Fact, Facts, Points, Prose, ReportTable
from sfumato.reporting.findings import findings
from sfumato.reporting.missing_scores import ProgressCallback, no_progress, score_models
from sfumato.reporting.model_scores import ModelScores
from sfumato.reporting.page import Page, Section
from sfumato.reporting.phrases import counted, for_whom, mean_figure
from sfumato.reporting.plan_page import plan_section
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.reporting.sections.agreement import agreement_section
from sfumato.reporting.sections.calibration import calibration_section
from sfumato.reporting.sections.collection import collection_section
from sfumato.reporting.sections.confusion import confusion_section
from sfumato.reporting.sections.cross_label import cross_label_section
from sfumato.reporting.sections.duplicates import duplicates_section
from sfumato.reporting.sections.label_changes import label_changes_section
from sfumato.reporting.sections.labels import labels_section
from sfumato.reporting.sections.model_robustness import robustness_section
from sfumato.reporting.sections.model_uncertainty import model_uncertainty_section
from sfumato.reporting.sections.screening import screening_section
from sfumato.reporting.sections.targets import single_scores_section, targets_section
from sfumato.reporting.sections.training_dynamics import training_dynamics_section
from sfumato.reporting.sections.uncertainty import uncertainty_section
from sfumato.tables.files.atomic_write import sha256_of
from sfumato.tables.files.json import read_document

SUMMARY, SOURCES = "Summary", "Sources"
PACKAGES = ("numpy", "scipy", "pyarrow", "altair", "vl-convert-python")


def sources_section(evidence: ReportInputs, models: ModelScores | None, *, command: str = "") -> Section:
    """Files with their SHA-256, the command that wrote the report, versions and warnings."""
    text = (
        "Below every figure and table are the command that computes its numbers and its data as CSV. Intervals are at "
        "95% unless stated otherwise."
    )
    blocks: list[Block] = [Prose((text,))]
    blocks += [Commands((command,))] if command else []
    blocks += [_files(evidence)] if evidence.origins else []
    unscored = evidence.runs is not None and evidence.people_labels is None
    notes = (*evidence.notes, *(["there are no labels of people: the models are not scored"] if unscored else []))
    if notes:
        blocks += [Prose(("Warnings about the files:",)), Points(notes)]
    if models is not None and models.notes:
        blocks += [Prose(("Warnings from scoring the models:",)), Points(tuple(models.notes))]
    return Section(SOURCES, (*blocks, _versions(evidence)))


def _files(evidence: ReportInputs) -> ReportTable:
    folders = {"runs": evidence.runs, "shifted": evidence.shifted, "attacked": evidence.attacked}
    origins = evidence.origins
    return ReportTable(
        "files",
        "Files read",
        "For a folder of runs, the SHA-256 is that of the list of its prediction files with their SHA-256.",
        (
            Column("input", tuple(origins)),
            Column("file", tuple(each.file for each in origins.values())),
            Column("SHA-256", tuple(each.sha256 or digest_of(folders.get(part)) for part, each in origins.items())),
        ),
    )


def digest_of(folder: Path | None) -> str | None:
    """One hash for a folder of runs: of the lines that `sha256sum` writes for their predictions, ordered by path."""
    if folder is None or not folder.is_dir():
        return None
    lines = []
    for path in sorted(folder.rglob(PREDICTIONS), key=lambda each: each.relative_to(folder).as_posix()):
        if UNFINISHED not in path.relative_to(folder).parts:
            lines.append(f"{sha256_of(path)}  {path.relative_to(folder).as_posix()}\n")
    return hashlib.sha256("".join(lines).encode()).hexdigest() if lines else None


def _versions(evidence: ReportInputs) -> ReportTable:
    ours = {"sfumato": __version__}
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            ours[name] = version(name)
    ours["python"] = platform.python_version()
    theirs = _versions_of_runs(evidence.runs)
    names = [*ours, *(name for name in theirs if name not in ours)]
    return ReportTable(
        "versions",
        "Versions",
        "The packages that wrote this report and, if recorded, those that trained the networks.",
        (
            Column("package", tuple(names)),
            Column("this report", tuple(ours.get(name) for name in names)),
            *([Column("runs", tuple(theirs.get(name) for name in names))] if theirs else []),
        ),
    )


def _versions_of_runs(folder: Path | None) -> dict[str, str]:
    """The versions that trained the runs, by package; several are joined by commas."""
    found: dict[str, dict[str, None]] = {}
    for path in sorted(folder.rglob(RUN)) if folder is not None else ():
        metadata = read_document(path)
        environment = metadata.get("environment", {}) if isinstance(metadata, dict) else {}
        for name in ("sfumato", "python", "torch", "numpy"):
            if isinstance(environment, dict) and name in environment:
                found.setdefault(name, {})[str(environment[name])] = None
    return {name: ", ".join(versions) for name, versions in found.items()}


PEOPLE_SECTIONS: tuple[Callable[[ReportInputs], Section | None], ...] = (
    collection_section,
    screening_section,
    agreement_section,
    uncertainty_section,
    labels_section,
    confusion_section,
    label_changes_section,
    duplicates_section,
)
MODEL_SECTIONS: tuple[Callable[[ModelScores], Section | None], ...] = (
    targets_section,
    calibration_section,
    model_uncertainty_section,
    robustness_section,
    cross_label_section,
    training_dynamics_section,
)
"""Both in the order of a report."""


@dataclass(frozen=True, eq=False)
class Report:
    """The report of a study. Sections without inputs are left out; Summary and Sources are always included.

    `level` and `resamples` set the bootstrap intervals for models.
    """

    evidence: ReportInputs
    title: str = ""
    level: float = 0.95
    resamples: int = 1000
    command: str = ""
    """The command that writes the report, printed in its last section."""

    def __repr__(self) -> str:
        title = f"{self.title!r} " if self.title else ""
        return f"<Report: {title}from {', '.join(self.evidence.parts) or 'nothing'}; .save('report.html') writes it>"

    def page(self, on_progress: ProgressCallback | None = None) -> Page:
        """The whole report; `on_progress` is called with the share done and the current step."""
        report_progress = on_progress or no_progress
        evidence = self.evidence
        report_progress(0.0, "scoring models")
        models = score_models(
            evidence,
            level=self.level,
            resamples=self.resamples,
            on_progress=lambda share, step: report_progress(0.7 * share, step),
        )
        makers: list[Callable[[], Section | None]] = [partial(section, evidence) for section in PEOPLE_SECTIONS]
        makers += [partial(section, models) for section in MODEL_SECTIONS] if models is not None else []
        makers += [partial(single_scores_section, evidence), partial(plan_section, evidence)]
        sections = [_summary(evidence, models)]
        for k, make in enumerate(makers):
            report_progress(0.7 + 0.3 * k / len(makers), f"writing section {k + 1} of {len(makers)}")
            section = make()
            sections += [section] if section is not None else []
        sections.append(sources_section(evidence, models, command=self.command))
        return Page(
            title=self.title or (evidence.study.title if evidence.study is not None else "") or "Report",
            lead=_lead(evidence, models),
            sections=tuple(sections),
            kind="sfumato · report",
            made=f"Written by sfumato {__version__} on {datetime.now(UTC):%d %B %Y}.",
        )

    def save(self, path: str | Path, *, on_progress: ProgressCallback | None = None) -> Page:
        """Write the report as one HTML file, and return its page."""
        page = self.page(on_progress)
        page.write(path)
        return page


def _summary(evidence: ReportInputs, models: ModelScores | None) -> Section:
    facts, points = _facts(evidence, models), findings(evidence, models)
    blocks: list[Block] = [Facts(tuple(facts))] if facts else []
    blocks += [Points(points)] if points else [Prose(("There are no labels and no models to summarize.",))]
    return Section(SUMMARY, tuple(blocks))


def _facts(evidence: ReportInputs, models: ModelScores | None) -> list[Fact]:
    facts = []
    labels = evidence.main_labels
    if labels is not None:
        each = labels.n_annotators
        note = f"{each.mean():.1f} annotators per item" if each is not None and len(each) and each.min() > 0 else ""
        facts.append(Fact(f"{len(labels):,}", "labeled items", note))
        mean = evidence.mean_doubt
        if mean is not None and mean.dissent is not None:
            shown, _, interval = mean_figure(mean.dissent, mean.n_measured).percent().partition(" (")
            whom = f"{interval.removesuffix(')')}, {for_whom(mean)}" if interval else ""
            facts.append(Fact(shown, "two people differ", whom))
        if evidence.plan is None:
            facts.append(Fact(f"{len(labels.classes)}", "classes"))
    if models is not None:
        n, seeds = len(models.targets), sorted({row.n_seeds for row in models.scores})
        least = "" if len(seeds) == 1 else f"{seeds[0]} to "
        note = f"{least}{counted(seeds[-1], 'seed')} per target"
        what = "training target" if models.is_of_targets else "model"
        facts.append(Fact(f"{n}", f"{what}{'s' * (n != 1)}", note if models.is_of_targets else ""))
        tested = max((row.n_items for row in models.scores), default=0)
        facts.append(Fact(f"{tested:,}", "test items", "not used for training" if models.folders else ""))
    if evidence.plan is not None:
        facts.append(Fact(f"{evidence.plan.cost.answers:,}", "answers planned", f"{evidence.plan.n_items:,} items"))
    return facts


def _lead(evidence: ReportInputs, models: ModelScores | None) -> str:
    answers = (evidence.annotations, evidence.beliefs, evidence.counts, evidence.study)
    has_answers = any(part is not None for part in answers)
    parts = {
        "the study and its answers": has_answers,
        "the labels": bool(evidence.labels),
        "the models trained on them": models is not None and models.is_of_targets,
        "the predictions of models": models is not None and not models.is_of_targets,
        "the plan for the next answers": evidence.plan is not None,
    }
    *first, last = [part for part, is_there in parts.items() if is_there] or [""]
    if not last:
        return "There is little to report on yet."
    return f"This report covers {', '.join(first)}{' and ' * bool(first)}{last}."
