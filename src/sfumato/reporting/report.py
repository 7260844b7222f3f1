"""The report: everything that evidence says, from the question to the models and the plan, as one page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sfumato import __version__
from sfumato.reporting.blocks import Block, Fact, Facts, Points, Prose
from sfumato.reporting.findings import findings
from sfumato.reporting.measuring_models import ProgressCallback, models_of, untold
from sfumato.reporting.page import Page, Section
from sfumato.reporting.provenance import counted, provenance
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.reporting.sections import PEOPLE_SECTIONS
from sfumato.reporting.sections.calibration import calibration
from sfumato.reporting.sections.cross_label import cross_labels
from sfumato.reporting.sections.data_maps import data_maps
from sfumato.reporting.sections.model_uncertainty import doubt_of_models
from sfumato.reporting.sections.plan import planning
from sfumato.reporting.sections.robustness import robustness
from sfumato.reporting.sections.single_scores import single_scores
from sfumato.reporting.sections.stability import stability
from sfumato.reporting.sections.targets import targets
from sfumato.reporting.trained_models import ModelScores

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
