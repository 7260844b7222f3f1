"""Report section: calibration errors, reliability diagram and risk-coverage curve."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from sfumato.evaluation.calibration_curves import Reliability, risk_coverage
from sfumato.evaluation.calibration_curves import reliability as table_of
from sfumato.evaluation.matched_labels import MatchedLabels
from sfumato.reporting.blocks import Block, Prose
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts import curve
from sfumato.reporting.charts.curve import reliability
from sfumato.reporting.charts.encoding_field import Field
from sfumato.reporting.model_scores import MAX_COLORS, ModelScores
from sfumato.reporting.page import Section
from sfumato.reporting.phrases import number_text
from sfumato.reporting.sections.targets import lines_text, score_panels

TITLE = "Calibration"
CALIBRATION = ("ece", "rms_calibration", "aurc")
BINS = 10
COVERAGES = np.linspace(0.05, 1, 39)
KEPT = 0.8
"""The coverage at which the caption states risks."""
LEAST_ITEMS = 5
"""The fewest items of a bin that is drawn."""


def calibration_section(models: ModelScores) -> Section | None:
    """Calibration errors, reliability diagram and risk-coverage curve; None if they were not scored."""
    if not any(row.metric in CALIBRATION for row in models.scores):
        return None
    text = (
        "A model is calibrated if 80% of the predictions with a confidence of 80% are correct. Correct means people's "
        "first choice. The expected calibration error is the mean distance between confidence and accuracy."
    )
    blocks: list[Block] = [Prose((text, *models.compared("ece")))]
    blocks += score_panels(
        models, "calibration", "Calibration errors", f"Lower is better. {lines_text(models)}", CALIBRATION
    )
    if models.matched:
        blocks += [_reliability(models), _risk(models)]
    return Section(TITLE, tuple(blocks))


def _reliability(models: ModelScores) -> Chart:
    targets = models.shown_targets(MAX_COLORS)
    tables = {name: mean_reliability(models.matched[name], models.level) for name in targets if name in models.matched}
    shown = {name: np.flatnonzero(table.n_items >= LEAST_ITEMS) for name, table in tables.items()}
    gaps = ", ".join(f"{name} {number_text(_overconfidence(table), signed=True)}" for name, table in tables.items())
    return reliability(
        "reliability",
        title="Reliability diagram",
        caption=f"Below the dashed line models are overconfident. Mean confidence minus accuracy: {gaps}. Lines are "
        f"{models.level:.0%} Wilson intervals over items. {models.mean}Bins with fewer than "
        f"{LEAST_ITEMS} items are left out.{models.subset_note(MAX_COLORS)}",
        data={
            models.noun: [name for name, rows in shown.items() for _ in rows],
            **{
                column: [value for name, rows in shown.items() for value in getattr(tables[name], column)[rows]]
                for column in ("confidence", "accuracy", "low", "high", "n_items")
            },
        },
        low="low",
        high="high",
        n="n_items",
        series=models.noun,
        source=models.evidence.source("runs", note=f"{BINS} bins of equal width."),
    )


def mean_reliability(seeds: Sequence[MatchedLabels], level: float) -> Reliability:
    """The reliability of several runs of one target: means over seeds per bin.

    Intervals are as wide as for one run, because more seeds are not more items.
    """
    tables = [table_of(each, bins=BINS, level=level) for each in seeds]
    n_items = np.mean([each.n_items for each in tables], axis=0)
    sure, right = (
        np.mean([np.nan_to_num(getattr(each, name)) * each.n_items for each in tables], axis=0)
        for name in ("confidence", "accuracy")
    )
    return Reliability.from_sums(tables[0].start, tables[0].end, n_items, sure, right, level)


def _overconfidence(table: Reliability) -> float:
    """Mean confidence minus mean accuracy."""
    apart = np.nan_to_num(table.confidence - table.accuracy)
    return float(np.average(apart, weights=table.n_items))


def _risk(models: ModelScores) -> Chart:
    targets = [name for name in models.shown_targets(MAX_COLORS) if name in models.matched]
    risks = {name: np.mean([risk_at(each, COVERAGES) for each in models.matched[name]], axis=0) for name in targets}
    at = int(np.argmin(np.abs(COVERAGES - KEPT)))
    risks_at = ", ".join(f"{name} {number_text(float(risks[name][at]))}" for name in targets)
    return curve(
        "risk-coverage",
        title="Risk-coverage curve",
        caption=f"The error rate if only the most confident predictions are kept. With {KEPT:.0%} kept: {risks_at}. "
        f"{models.mean}".rstrip()
        + models.subset_note(MAX_COLORS),
        data={
            models.noun: np.repeat(np.asarray(targets, object), len(COVERAGES)),
            "coverage": np.tile(COVERAGES, len(targets)),
            "risk": np.concatenate([risks[name] for name in targets]),
        },
        x=Field("coverage", "coverage: share of items kept", ".0%", domain=(0, 1)),
        y=Field("risk", "risk: error rate of kept items", ".0%", zero=True),
        series=models.noun,
        source=models.evidence.source("runs"),
    )


def risk_at(labels: MatchedLabels, coverages: Float[np.ndarray, "points"]) -> Float[np.ndarray, "points"]:
    """The risk at some coverages, with linear interpolation."""
    found = risk_coverage(labels)
    return np.asarray(np.interp(coverages, found.coverage, found.risk))
