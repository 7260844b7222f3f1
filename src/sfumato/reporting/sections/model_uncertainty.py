"""Do models doubt what people doubt? The entropy of what is predicted against that of people's labels."""

from __future__ import annotations

import numpy as np

from sfumato.reporting.blocks import Block, Prose
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts import Field, scatter
from sfumato.reporting.model_scores import ModelScores
from sfumato.reporting.page import Section
from sfumato.reporting.phrases import between, figure
from sfumato.reporting.sections.targets import compared, score_panels

TITLE = "Whether the models doubt what people doubt"
MOST_PANELS = 4
MOST_POINTS = 1200
"""So many items are drawn over all panels."""


def doubt_of_models(models: ModelScores) -> Section | None:
    """Entropies item by item, with their correlation; None where they were not scored."""
    rows = [row for row in models.of_metric("entropy_pearson") if row.value == row.value]
    if not rows:
        return None
    told = "; ".join(
        f"`{row.target}` r = {figure(row.value)} ({between(row.items_low, row.items_high)})"
        for row in rows
        if row.target in models.drawn()
    )
    said = [
        "A model that knows when to doubt is unsure of the items that people are unsure of. Entropy measures both: 0 "
        f"is one class beyond doubt. Pearson's correlation over the test items, with {models.level:.0%} intervals over "
        f"items: {told}."
    ]
    found = models.difference("entropy_pearson", models.treated) if models.treated else None
    if found is not None:
        said.append(f"By this correlation, {compared(found, models.level)}.")
    blocks: list[Block] = [Prose(tuple(said))]
    if models.beside:
        blocks.append(_chart(models))
    panels = score_panels(
        models,
        "doubt-correlations",
        "How closely doubt follows people's",
        "Higher is closer. The thin line is for another training (t over seeds), the thick one for other items.",
        ("entropy_pearson",),
    )
    blocks += [panels] if panels is not None else []
    return Section(TITLE, tuple(blocks))


def _chart(models: ModelScores) -> Chart:
    targets = [name for name in models.drawn(MOST_PANELS) if name in models.beside]
    n_items = len(models.beside[targets[0]][0])
    n_shown = min(n_items, MOST_POINTS // len(targets))
    rows = np.sort(np.random.default_rng(0).choice(n_items, n_shown, replace=False))
    people = models.beside[targets[0]][0].people_entropy
    own = {name: np.mean([each.predicted_entropy for each in models.beside[name]], axis=0) for name in targets}
    items = models.beside[targets[0]][0].items.take(rows.tolist()).to_pylist()
    part = (
        f" {n_shown:,} of {n_items:,} items are drawn, at random; correlations are of all." if n_shown < n_items else ""
    )
    return scatter(
        "doubts",
        title="Entropy of models and of people",
        caption=f"A point an item, the models' entropy being the mean over seeds; the line is least squares.{part}"
        f"{models.only_drawn(MOST_PANELS)}",
        data={
            "target": np.repeat(np.asarray(targets, object), n_shown),
            "item": items * len(targets),
            "people": np.tile(people[rows].round(4), len(targets)),
            "model": np.concatenate([own[name][rows].round(4) for name in targets]),
        },
        x=Field("people", "people's entropy, nats", ".1f", zero=True),
        y=Field("model", "models' entropy, nats", ".1f", zero=True),
        of="item",
        series="target",
        panel="target" if len(targets) > 1 else None,
        regression=True,
        source=models.evidence.source("runs"),
    )
