"""Data maps of several targets and label sets by stratum: the mean confidence and variability of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.evaluation.data_map import REGIONS, MapRegion, Regions, data_map
from sfumato.evaluation.epoch_predictions import GOLD, RunFound, TrainingDynamics
from sfumato.evaluation.matched_labels import MatchedLabels
from sfumato.evaluation.strata import Stratification, Stratum, strata_of
from sfumato.tables.base_table import RecordTable
from sfumato.tables.errors import BadTable, show
from sfumato.tables.row_numbers import check_same_rows, items_like
from sfumato.tables.scores import ALL
from sfumato.tables.soft_labels import SoftLabels


@dataclass(frozen=True)
class MapStratum:
    """The items of one stratum in the map of one target and network: means, and the share of each region."""

    target: str
    network: str
    label_set: str
    """The label set that the target is trained on; empty if the runs do not say it."""
    stratum: str
    n_items: int
    n_runs: int
    confidence: float
    variability: float
    correctness: float
    """The share of predictions in which the gold class was most probable."""
    easy: float
    ambiguous: float
    hard: float


@dataclass(frozen=True, eq=False, repr=False)
class MapStrata(RecordTable):
    """One row per target, network and stratum."""

    rows: tuple[MapStratum, ...]

    record = MapStratum


def data_map_strata(
    runs: Sequence[RunFound],
    people: SoftLabels,
    strata: Sequence[Stratification | Stratum],
    *,
    last: int | None = None,
    when: str | None = None,
    by: str = GOLD,
    regions: Regions | None = None,
) -> MapStrata:
    """The map of every target and network, over all items and by strata of people's labels."""
    rows: list[MapStratum] = []
    for target, network in dict.fromkeys((run.target, run.network) for run in runs):
        own = [run for run in runs if (run.target, run.network) == (target, network)]
        drawn = data_map([TrainingDynamics.read(run.path, when=when, by=by) for run in own], last=last, regions=regions)
        matched = _judged(drawn.items, people)
        for stratum in (Stratum(ALL, np.arange(len(drawn))), *strata_of(matched, strata)):
            part = stratum.rows
            if not len(part):
                continue
            share = {region: float((drawn.region[part] == REGIONS.index(region)).mean()) for region in REGIONS}
            rows.append(
                MapStratum(
                    target,
                    network,
                    own[0].label_set,
                    stratum.name,
                    len(part),
                    len(own),
                    float(drawn.confidence[part].mean()),
                    float(drawn.variability[part].mean()),
                    float(drawn.correctness[part].sum() / drawn.n_moments[part].sum()),
                    *(share[each] for each in (MapRegion.EASY, MapRegion.AMBIGUOUS, MapRegion.HARD)),
                )
            )
    return MapStrata(tuple(rows))


def _judged(items: pa.StringArray, people: SoftLabels) -> MatchedLabels:
    """People's labels of the items of a map, from which strata are made."""
    check_same_rows(items_like(items.to_pylist(), None), people)
    found = pc.index_in(items, value_set=people.items)
    if found.null_count:
        missing = items.filter(found.is_null())[0].as_py()
        text = f"no label for item {show(missing)} of the map ({found.null_count:,} of {len(items):,} items have none)"
        fix = "give the labels of all training items with --people"
        raise BadTable(text, "people's label for every item", fix, "missing-item", people.path)
    rows = found.to_numpy().astype(np.int64)
    probs = people.probs[rows]
    counts = None if people.n_annotators is None else people.n_annotators[rows]
    return MatchedLabels(items, people.classes, probs, probs, None, counts, people.made_by)
