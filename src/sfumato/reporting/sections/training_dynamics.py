"""Report section: data maps colored by people's uncertainty, and changes of predictions between epochs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float

from sfumato.evaluation.data_map import REGIONS, DataMap, data_map
from sfumato.evaluation.doubt_correlation import HumanDoubt, doubt_correlations
from sfumato.evaluation.epoch_predictions import BY_EPOCH, DYNAMICS, TrainingDynamics, epoch_shifts
from sfumato.evaluation.paired_tests import t_interval
from sfumato.reporting.blocks import Block, Column, DataSource, Points, Prose, ReportTable
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts import curve
from sfumato.reporting.charts.encoding_field import Field
from sfumato.reporting.charts.scatter import sample_of, shaded_scatter
from sfumato.reporting.item_votes import rows_by_name
from sfumato.reporting.model_scores import MAX_COLORS, ModelScores
from sfumato.reporting.page import Section
from sfumato.reporting.phrases import interval_text, number_text
from sfumato.tables.doubt import entropy
from sfumato.tables.errors import SfumatoError, warnings_off
from sfumato.tables.scores import Scores
from sfumato.tables.soft_labels import SoftLabels

TITLE = "Data maps"
MAX_MAPS = 4
MAX_POINTS = 1200
"""The most items drawn; of more, a random sample."""


def training_dynamics_section(models: ModelScores) -> Section | None:
    """Data maps and changes between epochs; None if the runs recorded neither."""
    blocks = (*data_maps(models), *stability(models))
    return Section(TITLE, blocks) if blocks else None


def _map_of(paths: Sequence[Path]) -> DataMap | None:
    """The map of one target; None if each item was predicted once, as by one seed of a model without epochs."""
    try:
        return data_map([TrainingDynamics.read(path) for path in paths])
    except SfumatoError as error:
        if error.code != "one-epoch":
            raise
        return None


def data_maps(models: ModelScores) -> tuple[Block, ...]:
    """One map per target, its regions, and its correlation with people's uncertainty; empty without dynamics."""
    runs = {target: models.folders_with(DYNAMICS, target) for target in models.shown_targets(MAX_MAPS)}
    maps = {target: made for target, own in runs.items() if own and (made := _map_of(own)) is not None}
    people = models.evidence.people_labels
    if not maps or people is None:
        return ()
    doubt = [HumanDoubt.of_labels(people)]
    with warnings_off():
        scores = {name: doubt_correlations(found, doubt, level=models.level) for name, found in maps.items()}
    sentences = (
        "A data map (Swayamdipta et al. 2020) places each training item by the mean probability of its class over "
        "epochs (confidence) and the standard deviation of that probability (variability). The color is people's "
        "uncertainty.",
        "Rank correlation with people's entropy per target, with intervals over items:",
    )
    points = Points(tuple(f"`{name}`: {_correlation_text(found)}." for name, found in scores.items()))
    return Prose(sentences), points, _chart(models, maps, people), _regions(models, maps, people)


def _correlation_text(scores: Scores) -> str:
    parts = [
        f"{'confidence' if row.metric.startswith('confidence') else 'variability'} {number_text(row.value)} "
        f"({interval_text(row.low, row.high)})"
        for row in scores.rows()
    ]
    return f"{' and '.join(parts)}, {scores.n_items.max():,} items"


def _people_entropy(mapped: DataMap, people: SoftLabels) -> Float[np.ndarray, "items"]:
    """People's entropy of each item on a map; NaN if nobody judged it."""
    rows = rows_by_name(mapped.items, people.items)
    return np.where(rows >= 0, entropy(people.probs)[rows], np.nan)


def _chart(models: ModelScores, maps: dict[str, DataMap], people: SoftLabels) -> Chart:
    columns: dict[str, list[object]] = defaultdict(list)
    n_most = max(len(mapped) for mapped in maps.values())
    for target, mapped in maps.items():
        rows = sample_of(len(mapped), MAX_POINTS // max(len(maps) // 2, 1))
        columns["target"] += [target] * len(rows)
        columns["item"] += mapped.items.take(rows).to_pylist()
        columns["variability"] += np.asarray(mapped.variability)[rows].round(4).tolist()
        columns["confidence"] += np.asarray(mapped.confidence)[rows].round(4).tolist()
        columns["doubt"] += _people_entropy(mapped, people)[rows].round(4).tolist()
    n_shown = len(columns["item"]) // len(maps)
    part = f" {n_shown:,} of {n_most:,} items are shown, at random." if n_shown < n_most else ""
    return shaded_scatter(
        "data-maps",
        title="Data maps of the training items",
        caption=f"Top left: easy. Right: ambiguous. Bottom left: hard. The color is people's entropy.{part}"
        f"{models.subset_note(MAX_MAPS)}",
        data=columns,
        x=Field("variability", "variability", ".2~f", zero=True),
        y=Field("confidence", "confidence", ".0%", domain=(0, 1)),
        value=Field("doubt", "people's entropy, nats", ".1f"),
        of="item",
        panel="target" if len(maps) > 1 else None,
        source=models.evidence.source("runs", command="sfumato map {file} --target TARGET --people LABELS -o map.csv"),
    )


def _regions(models: ModelScores, maps: dict[str, DataMap], people: SoftLabels) -> ReportTable:
    rows = [(target, k) for target in maps for k in range(len(REGIONS))]
    here = {(target, k): np.asarray(maps[target].region) == k for target, k in rows}
    entropies = {target: _people_entropy(mapped, people) for target, mapped in maps.items()}

    def mean(values: Float[np.ndarray, "items"], row: tuple[str, int]) -> float | None:
        own = values[here[row] & np.isfinite(values)]
        return float(own.mean()) if len(own) else None

    return ReportTable(
        "regions",
        "Regions of the data maps",
        "Ambiguous: variability of at least 0.2. Of the rest, easy: confidence of at least 0.75; hard: at most 0.25.",
        (
            Column("target", tuple(target for target, _ in rows)),
            Column("region", tuple(str(REGIONS[k]) for _, k in rows)),
            Column("items", tuple(int(here[row].sum()) for row in rows), 0),
            Column("share, %", tuple(100 * float(here[row].mean()) for row in rows), 1),
            Column("mean confidence", tuple(mean(np.asarray(maps[row[0]].confidence), row) for row in rows), 3),
            Column("mean entropy of people", tuple(mean(entropies[row[0]], row) for row in rows), 3),
        ),
        models.evidence.source("runs", command="sfumato map {file} --target TARGET -o map.csv"),
    )


Row = tuple[str, int, float, float, float]


def stability(models: ModelScores) -> tuple[Block, ...]:
    """The Jensen-Shannon divergence between epochs, one line per target; empty if no epochs were kept."""
    rows = _from_runs(models)
    source = models.evidence.source("runs", command="sfumato map {file} --target TARGET -o map.csv --shifts shifts.csv")
    if not rows:
        rows, source = _from_table(models)
    if not rows:
        return ()
    last = max(epoch for _, epoch, *_ in rows)
    values = [
        f"`{target}` {number_text(value)}" + (f" ({interval_text(low, high)})" if low == low else "")
        for target, epoch, value, low, high in rows
        if epoch == last
    ]
    text = (
        "Change of the predictions for test items from one epoch to the next: the mean Jensen-Shannon divergence over "
        f"items in nats, from 0 (no change) to {np.log(2):.2f}. In the last epoch: {', '.join(values)}; "
        f"{models.level:.0%} t intervals over seeds."
    )
    chart = curve(
        "stability",
        title="Change of predictions between epochs",
        caption=f"Lower is more stable. The band is the t interval over seeds.{models.subset_note(MAX_COLORS)}",
        data=dict(zip(("target", "epoch", "jsd", "low", "high"), zip(*rows, strict=True), strict=True)),
        x=Field("epoch", "epoch", ",d"),
        y=Field("jsd", "Jensen-Shannon divergence, nats", ".3~g", zero=True),
        low="low",
        high="high",
        series="target",
        source=source,
    )
    return Prose((text,)), chart


def _from_runs(models: ModelScores) -> list[Row]:
    rows: list[Row] = []
    for target in models.shown_targets(MAX_COLORS):
        tables = [epoch_shifts([path]) for path in models.folders_with(BY_EPOCH, target)]
        for epoch in sorted({int(each) for table in tables for each in table.epoch}):
            values = np.array([float(t.jsd[t.epoch == epoch][0]) for t in tables if (t.epoch == epoch).any()])
            spread = t_interval(values, models.level).within((0.0, float(np.log(2))))
            rows.append((target, epoch, float(values.mean()), spread.low, spread.high))
    return rows


def _from_table(models: ModelScores) -> tuple[list[Row], DataSource]:
    table = models.evidence.columns.get("shifts", {})
    rows: list[Row] = []
    if {"epoch", "jsd"} <= set(table):
        none = float("nan")
        pairs = zip(table["epoch"], table["jsd"], strict=True)
        rows = [("all runs", int(epoch), float(value), none, none) for epoch, value in pairs if value is not None]
    return rows, models.evidence.source("shifts")
