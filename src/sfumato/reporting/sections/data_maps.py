"""Data maps: how each training item was learnt, beside how much people doubt it."""

from __future__ import annotations

import warnings

import numpy as np
import pyarrow.compute as pc
from jaxtyping import Float

from sfumato.evaluation.data_map import REGIONS, DataMap, data_map
from sfumato.evaluation.doubt_correlation import HumanDoubt, doubt_correlations
from sfumato.evaluation.training_dynamics import DYNAMICS, TrainingDynamics
from sfumato.reporting.blocks import Points, Prose
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts import Field, shaded
from sfumato.reporting.listing import Column, ReportTable
from sfumato.reporting.page import Section
from sfumato.reporting.trained_models import ModelScores
from sfumato.reporting.wording import between, figure
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
