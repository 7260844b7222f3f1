"""Report section: the uncertainty of predictions compared with the uncertainty of people."""

from __future__ import annotations

import numpy as np

from sfumato.reporting.blocks import Block, Prose
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts.encoding_field import Field
from sfumato.reporting.charts.scatter import sample_of, scatter
from sfumato.reporting.model_scores import CORRELATIONS, ModelScores
from sfumato.reporting.page import Section
from sfumato.reporting.phrases import interval_text, number_text
from sfumato.reporting.sections.targets import lines_text, score_panels

TITLE = "Model and human uncertainty"
MAX_PANELS = 4
MAX_POINTS = 1200
"""The most points over all panels."""
MEASURED = {
    "dissent_pearson": "Uncertainty is the probability that two people, or two draws from a prediction, differ. The "
    "correlation is corrected for chance in the votes.",
    "entropy_pearson": "Uncertainty is measured as entropy; 0 is full certainty. If labels are of few answers, the "
    "correlation is too low.",
}
"""How uncertainty is measured in each correlation."""


def model_uncertainty_section(models: ModelScores) -> Section | None:
    """Entropies per item and their correlation; None if they were not scored."""
    found = [(metric, models.of_metric(metric, shown=True)) for metric in CORRELATIONS]
    metric, rows = next(((metric, rows) for metric, rows in found if rows), ("", []))
    if not rows:
        return None
    correlations = "; ".join(
        f"`{row.target}` r = {number_text(row.value)} ({interval_text(row.low, row.high)})" for row in rows
    )
    text = (
        f"A good model is uncertain about the same items as people. {MEASURED[metric]} Pearson correlation over test "
        f"items, with {models.level:.0%} intervals over {models.covered}: {correlations}."
    )
    blocks: list[Block] = [Prose((text, *models.compared(metric)))]
    if models.matched:
        blocks.append(_chart(models))
    title, caption = "Correlation of model and human uncertainty", f"Higher is better. {lines_text(models)}"
    blocks += score_panels(models, "doubt-correlations", title, caption, (metric,))
    return Section(TITLE, tuple(blocks))


def _chart(models: ModelScores) -> Chart:
    targets = [name for name in models.shown_targets(MAX_PANELS) if name in models.matched]
    first = models.matched[targets[0]][0]
    n_items = len(first)
    rows = sample_of(n_items, MAX_POINTS // len(targets))
    n_shown = len(rows)
    own = {name: np.mean([each.predicted_entropy for each in models.matched[name]], axis=0) for name in targets}
    sample = f" {n_shown:,} of {n_items:,} items are shown, at random; correlations use all."
    return scatter(
        "doubts",
        title="Entropy of models and of people",
        caption=f"One point per item{'; model entropy is the mean over seeds' * bool(models.mean)}. The line is a "
        "least-squares fit."
        f"{sample * (n_shown < n_items)}{models.subset_note(MAX_PANELS)}",
        data={
            models.noun: np.repeat(np.asarray(targets, object), n_shown),
            "item": first.items.take(rows).to_pylist() * len(targets),
            "people": np.tile(first.people_entropy[rows].round(4), len(targets)),
            "predicted": np.concatenate([own[name][rows].round(4) for name in targets]),
        },
        x=Field("people", "people's entropy, nats", ".1f", zero=True),
        y=Field("predicted", "models' entropy, nats", ".1f", zero=True),
        of="item",
        series=models.noun,
        panel=models.noun if len(targets) > 1 else None,
        regression=True,
        source=models.evidence.source("runs"),
    )
