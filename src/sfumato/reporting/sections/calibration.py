"""Calibration: whether models are as sure as they are right, and what is gained by asking people about the rest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from sfumato.evaluation.calibration_curves import Reliability, risk_coverage
from sfumato.evaluation.calibration_curves import reliability as table_of
from sfumato.evaluation.matched_labels import MatchedLabels
from sfumato.reporting.blocks import Block, Prose
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts import Field, curve, reliability
from sfumato.reporting.model_scores import MOST_COLOURS, ModelScores
from sfumato.reporting.page import Section
from sfumato.reporting.phrases import figure
from sfumato.reporting.sections.targets import compared, score_panels

TITLE = "Whether the models know when they are right"
CALIBRATION = ("ece", "rms_calibration", "aurc")
BINS = 10
COVERAGES = np.linspace(0.05, 1, 39)
KEPT = 0.8
"""The coverage at which risks are told in words."""
LEAST_ITEMS = 5
"""Bins with fewer items are not drawn: their accuracy would be chance."""


def calibration(models: ModelScores) -> Section | None:
    """Calibration errors, reliability diagrams and risk against coverage, a colour a target."""
    if not any(row.metric in CALIBRATION for row in models.scores):
        return None
    chart = score_panels(
        models,
        "calibration",
        "How far confidence is from being right",
        "Lower is better. The thin line is for another training (t over seeds), the thick one for other items.",
        CALIBRATION,
    )
    blocks: list[Block] = [Prose(tuple(_words(models))), *([chart] if chart is not None else [])]
    if models.beside:
        blocks += [_reliability(models), _risk(models)]
    return Section(TITLE, tuple(blocks))


def _words(models: ModelScores) -> list[str]:
    said = [
        "A model is calibrated when, of all answers it is 80% sure of, 80% are right: people's first choice is what "
        "counts as right here. Expected calibration error is the mean distance from that."
    ]
    found = models.difference("ece", models.treated) if models.treated else None
    if found is not None:
        said.append(f"By expected calibration error, {compared(found, models.level)}.")
    return said


def _reliability(models: ModelScores) -> Chart:
    targets = models.drawn(MOST_COLOURS)
    tables = {name: mean_reliability(models.beside[name], models.level) for name in targets if name in models.beside}
    shown = {name: np.flatnonzero(table.n_items >= LEAST_ITEMS) for name, table in tables.items()}
    said = ", ".join(f"{name} {figure(_too_sure(table), signed=True)}" for name, table in tables.items())
    return reliability(
        "reliability",
        title="Reliability",
        caption=f"Below the dashed line models are too sure. Mean confidence less accuracy: {said}. "
        f"Lines are {models.level:.0%} intervals over items "
        f"(Wilson), the mean of all seeds; bins of fewer than {LEAST_ITEMS} items are left out."
        f"{models.only_drawn(MOST_COLOURS)}",
        data={
            "target": [name for name, rows in shown.items() for _ in rows],
            **{
                column: np.concatenate(
                    [np.asarray(getattr(tables[name], column))[rows] for name, rows in shown.items()]
                )
                for column in ("confidence", "accuracy", "low", "high", "n_items")
            },
        },
        low="low",
        high="high",
        n="n_items",
        series="target",
        source=models.evidence.source("runs", note=f"{BINS} bins of equal width."),
    )


def mean_reliability(seeds: Sequence[MatchedLabels], level: float) -> Reliability:
    """The reliability of several trainings of one target: bins hold the mean over seeds.

    Intervals are as wide as those of one training, for seeds are not more items.
    """
    tables = [table_of(each, bins=BINS, level=level) for each in seeds]
    n_items = np.mean([each.n_items for each in tables], axis=0)
    sure, right = (
        np.mean([np.nan_to_num(getattr(each, name)) * each.n_items for each in tables], axis=0)
        for name in ("confidence", "accuracy")
    )
    return Reliability.of(tables[0].start, tables[0].end, n_items, sure, right, level)


def _too_sure(table: Reliability) -> float:
    """Mean confidence less mean accuracy."""
    filled = table.n_items > 0
    apart = (table.confidence - table.accuracy)[filled]
    return float(np.average(apart, weights=table.n_items[filled]))


def _risk(models: ModelScores) -> Chart:
    targets = [name for name in models.drawn(MOST_COLOURS) if name in models.beside]
    risks = {name: np.mean([risk_at(each, COVERAGES) for each in models.beside[name]], axis=0) for name in targets}
    at = int(np.argmin(np.abs(COVERAGES - KEPT)))
    said = ", ".join(f"{name} {figure(float(risks[name][at]))}" for name in targets)
    return curve(
        "risk-coverage",
        title="Risk where the least sure answers go to people",
        caption=f"Items are kept from the surest on; of those kept, the share that is wrong. "
        f"With {KEPT:.0%} kept: {said}. The mean over seeds.{models.only_drawn(MOST_COLOURS)}",
        data={
            "target": np.repeat(np.asarray(targets, object), len(COVERAGES)),
            "coverage": np.tile(COVERAGES, len(targets)),
            "risk": np.concatenate([risks[name] for name in targets]),
        },
        x=Field("coverage", "share of items kept", ".0%", domain=(0, 1)),
        y=Field("risk", "share wrong among those kept", ".0%", zero=True),
        series="target",
        source=models.evidence.source("runs"),
    )


def risk_at(matched: MatchedLabels, coverages: Float[np.ndarray, "points"]) -> Float[np.ndarray, "points"]:
    """The risk at some coverages, straight lines between the thresholds there are."""
    found = risk_coverage(matched)
    return np.asarray(np.interp(coverages, found.coverage, found.risk))
