"""Data maps: how each training item was learnt, beside how much people doubt it.

Stability of learning: how far predictions still move from one epoch to the next.
"""

from __future__ import annotations

import warnings

import numpy as np
import pyarrow.compute as pc
from jaxtyping import Float

from sfumato.evaluation.data_map import REGIONS, DataMap, data_map
from sfumato.evaluation.doubt_correlation import HumanDoubt, doubt_correlations
from sfumato.evaluation.paired_tests import t_interval
from sfumato.evaluation.training_dynamics import BY_EPOCH, DYNAMICS, TrainingDynamics, epoch_shifts
from sfumato.reporting.blocks import Column, DataSource, Points, Prose, ReportTable
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts import Field, curve, shaded
from sfumato.reporting.model_scores import MOST_COLOURS, ModelScores
from sfumato.reporting.page import Section
from sfumato.reporting.phrases import between, figure
from sfumato.tables.doubt import entropy
from sfumato.tables.errors import SfumatoWarning
from sfumato.tables.scores import Scores
from sfumato.tables.soft_labels import SoftLabels

TITLE = "How each item was learnt"
MOST_MAPS = 4
MOST_POINTS = 1200
"""Of more items than these, so many are drawn."""


def data_maps(models: ModelScores) -> Section | None:
    """A map a target coloured by people's doubt, its regions, and how it goes with doubt; None without dynamics."""
    maps = _maps(models)
    people = models.evidence.main_labels
    if not maps or people is None:
        return None
    scores = {name: _correlated(drawn, people, models.level) for name, drawn in maps.items()}
    said = [
        "Networks that noted how they predicted their training items after every epoch place each item on a map "
        "(Swayamdipta et al. 2020): how probable its class was held on average (confidence), and how much that changed "
        "(variability). Colour is people's doubt."
    ]
    said.append("Rank correlation with people's entropy, by target, with intervals over items:")
    told = Points(tuple(f"`{name}`: {_told(found)}." for name, found in scores.items()))
    return Section(TITLE, (Prose(tuple(said)), told, _chart(models, maps, people), _regions(models, maps, people)))


def _maps(models: ModelScores) -> dict[str, DataMap]:
    """A map of every target drawn whose runs noted their dynamics; all seeds of it together."""
    found = [run for run in models.folders if (run.path / DYNAMICS).is_file()]
    maps = {}
    for target in models.drawn(MOST_MAPS):
        own = [run for run in found if (run.target, run.network) == (target, models.network)]
        if own:
            maps[target] = data_map([TrainingDynamics.read(run.path) for run in own])
    return maps


def _correlated(drawn: DataMap, people: SoftLabels, level: float) -> Scores:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SfumatoWarning)
        return doubt_correlations(drawn, [HumanDoubt.of_labels(people)], level=level)


def _told(scores: Scores) -> str:
    parts = [
        f"of confidence {figure(row.value)} ({between(row.low, row.high)})"
        if row.metric.startswith("confidence")
        else f"of variability {figure(row.value)} ({between(row.low, row.high)})"
        for row in scores.rows()
    ]
    return " and ".join(parts) + f", over {scores.n_items.max():,} items"


def _doubts(drawn: DataMap, people: SoftLabels) -> Float[np.ndarray, "items"]:
    """People's entropy of each item on a map; NaN where nobody judged it."""
    place = pc.index_in(drawn.items, value_set=people.items).fill_null(-1).to_numpy().astype(np.int64)
    doubt = entropy(people.probs)
    return np.where(place >= 0, doubt[np.maximum(place, 0)], np.nan)


def _chart(models: ModelScores, maps: dict[str, DataMap], people: SoftLabels) -> Chart:
    columns: dict[str, list[object]] = {name: [] for name in ("target", "item", "variability", "confidence", "doubt")}
    n_most = max(len(drawn) for drawn in maps.values())
    for target, drawn in maps.items():
        rows = _some(len(drawn), MOST_POINTS // max(len(maps) // 2, 1))
        columns["target"] += [target] * len(rows)
        columns["item"] += drawn.items.take(rows).to_pylist()
        columns["variability"] += np.asarray(drawn.variability)[rows].round(4).tolist()
        columns["confidence"] += np.asarray(drawn.confidence)[rows].round(4).tolist()
        columns["doubt"] += _doubts(drawn, people)[rows].round(4).tolist()
    n_shown = len(columns["item"]) // len(maps)
    part = f" {n_shown:,} of {n_most:,} items are drawn, at random." if n_shown < n_most else ""
    return shaded(
        "data-maps",
        title="Maps of the training items",
        caption=f"Above left: learnt at once and for good. Right: wavering. Below left: never learnt. Colour is "
        f"people's doubt, as in the legend.{part}{models.only_drawn(MOST_MAPS)}",
        data=columns,
        x=Field("variability", "variability", ".2~f", zero=True),
        y=Field("confidence", "confidence", ".0%", domain=(0, 1)),
        value=Field("doubt", "people's entropy, nats", ".1f"),
        of="item",
        panel="target" if len(maps) > 1 else None,
        source=models.evidence.source("runs", command="sfumato map {file} --target TARGET --people LABELS -o map.csv"),
    )


def _some(n: int, most: int) -> list[int]:
    """Rows to draw: all, or so many at random, always the same."""
    if n <= most:
        return list(range(n))
    return [int(row) for row in np.sort(np.random.default_rng(0).choice(n, most, replace=False))]


def _regions(models: ModelScores, maps: dict[str, DataMap], people: SoftLabels) -> ReportTable:
    rows = [(target, k) for target in maps for k in range(len(REGIONS))]
    here = {(target, k): np.asarray(maps[target].region) == k for target, k in rows}
    doubts = {target: _doubts(drawn, people) for target, drawn in maps.items()}

    def mean(values: Float[np.ndarray, "items"], row: tuple[str, int]) -> float | None:
        own = values[here[row]]
        own = own[np.isfinite(own)]
        return float(own.mean()) if len(own) else None

    return ReportTable(
        "regions",
        "Regions of the maps",
        "Ambiguous: variability of 0.2 or more; of the rest, easy: confidence of 0.75 or more, hard: 0.25 or less.",
        (
            Column("target", tuple(target for target, _ in rows)),
            Column("region", tuple(str(REGIONS[k]) for _, k in rows)),
            Column("items", tuple(int(here[row].sum()) for row in rows), 0),
            Column("share, %", tuple(100 * float(here[row].mean()) for row in rows), 1),
            Column("mean confidence", tuple(mean(np.asarray(maps[row[0]].confidence), row) for row in rows), 3),
            Column("mean entropy of people", tuple(mean(doubts[row[0]], row) for row in rows), 3),
        ),
        models.evidence.source("runs", command="sfumato map {file} --target TARGET -o map.csv"),
    )


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
