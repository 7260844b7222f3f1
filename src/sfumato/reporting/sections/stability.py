"""Stability of learning: how far predictions still move from one epoch to the next."""

from __future__ import annotations

import numpy as np

from sfumato.evaluation.paired_tests import t_interval
from sfumato.evaluation.training_dynamics import BY_EPOCH, epoch_shifts
from sfumato.reporting.blocks import Prose
from sfumato.reporting.charts import Field, curve
from sfumato.reporting.data import DataSource
from sfumato.reporting.page import Section
from sfumato.reporting.trained_models import MOST_COLOURS, ModelScores
from sfumato.reporting.wording import between, figure

STABILITY_TITLE = "How steadily the models learnt"
Row = tuple[str, int, float, float, float]


def stability(models: ModelScores) -> Section | None:
    """The Jensen-Shannon divergence between epochs, a line a target; None where no epochs were kept."""
    rows = _from_runs(models)
    source = models.evidence.source("runs", command="sfumato map {file} --target TARGET -o map.csv --shifts shifts.csv")
    if not rows:
        rows, source = _from_table(models)
    if not rows:
        return None
    last = max(epoch for _, epoch, *_ in rows)
    told = [
        f"`{target}` {figure(value)} ({between(low, high)})" if low == low else f"`{target}` {figure(value)}"
        for target, epoch, value, low, high in rows
        if epoch == last
    ]
    said = (
        "From one epoch to the next, how far did the prediction of a test item move? The mean Jensen-Shannon "
        f"divergence over items, in nats: 0 is not at all, {np.log(2):.2f} the most there can be. In the last epoch: "
        f"{', '.join(told)}; {models.level:.0%} t intervals over seeds.",
    )
    chart = curve(
        "stability",
        title="Movement from the epoch before",
        caption="Lower is steadier. The band is the interval for another training (t over seeds)."
        f"{models.only_drawn(MOST_COLOURS)}",
        data={
            "target": [target for target, *_ in rows],
            "epoch": [epoch for _, epoch, *_ in rows],
            "jsd": [value for _, _, value, _, _ in rows],
            "low": [low for *_, low, _ in rows],
            "high": [high for *_, high in rows],
        },
        x=Field("epoch", "epoch", ",d"),
        y=Field("jsd", "Jensen-Shannon divergence, nats", ".3~g", zero=True),
        low="low",
        high="high",
        series="target",
        source=source,
    )
    return Section(STABILITY_TITLE, (Prose(said), chart))


def _from_runs(models: ModelScores) -> list[Row]:
    found = [run for run in models.folders if (run.path / BY_EPOCH).is_file()]
    rows: list[Row] = []
    for target in models.drawn(MOST_COLOURS):
        own = [run.path for run in found if (run.target, run.network) == (target, models.network)]
        tables = [epoch_shifts([path]) for path in own]
        for epoch in sorted({int(each) for table in tables for each in table.epoch}):
            values = np.array([float(t.jsd[t.epoch == epoch][0]) for t in tables if (t.epoch == epoch).any()])
            spread = t_interval(values, models.level)
            rows.append((target, epoch, float(values.mean()), max(spread.low, 0.0), spread.high))
    return rows


def _from_table(models: ModelScores) -> tuple[list[Row], DataSource]:
    table = models.evidence.columns.get("shifts", {})
    rows: list[Row] = []
    if {"epoch", "jsd"} <= set(table):
        none = float("nan")
        pairs = zip(table["epoch"], table["jsd"], strict=True)
        rows = [("all runs", int(epoch), float(value), none, none) for epoch, value in pairs if value is not None]
    return rows, models.evidence.source("shifts")
