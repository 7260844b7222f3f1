"""Rank correlation of a data map with people's uncertainty about the same items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Float

from sfumato.evaluation.data_map import DataMap
from sfumato.evaluation.rank_correlation import rank_correlation
from sfumato.tables.column_reader import read_columns
from sfumato.tables.doubt import DISSENT_COLUMNS, ENTROPY_COLUMNS, entropy
from sfumato.tables.errors import BadTable, listing, missing_column, warn
from sfumato.tables.files.table_file import Rows, check_columns, read_rows
from sfumato.tables.scores import ALL, Score, Scores
from sfumato.tables.setting_checks import between_0_and_1
from sfumato.tables.soft_labels import SoftLabels

SIGNALS = (*DISSENT_COLUMNS, *ENTROPY_COLUMNS, "mean_doubt", "unsure_proportion")
"""The columns of a Doubt table that measure uncertainty."""
AXES = ("confidence", "variability")


@dataclass(frozen=True, eq=False)
class HumanDoubt:
    """People's uncertainty about each item, by one or more measures; NaN if unknown."""

    items: pa.StringArray
    signals: Mapping[str, Float[np.ndarray, "items"]]
    path: Path | None = None

    @classmethod
    def of_labels(cls, people: SoftLabels) -> HumanDoubt:
        """The entropy of people's labels, in nats."""
        return cls(people.items, {"entropy": entropy(people.probs)}, people.path)

    @classmethod
    def read(cls, path: str | Path) -> HumanDoubt:
        """A Doubt table as written by `sfumato doubt` and `sfumato label --doubt`: item, and any of its measures.

        Measures that no item has, such as the parts of votes' dissent, are left out.
        """
        return cls.from_rows(read_rows(path))

    @classmethod
    def from_rows(cls, rows: Rows) -> HumanDoubt:
        check_columns(rows, ("item",))
        there = [name for name in SIGNALS if name in rows.schema.names]
        if not there:
            fix = "make the table with sfumato doubt"
            raise missing_column(rows.schema.names, f"any of {listing(SIGNALS)}", fix, rows.where())
        columns = read_columns(rows, ("item",), there, optional=there)
        coded = columns.texts["item"]
        n_rows = len(coded.codes)
        if len(coded.names) < n_rows:
            found = f"{n_rows:,} rows about {len(coded.names):,} items"
            raise BadTable(found, "each item once", "keep one row per item", "doubled-item", rows.where(None, "item"))
        known = {name: values for name, values in columns.numbers.items() if not np.isnan(values).all()}
        return cls(coded.text(), known or columns.numbers, rows.path)


def doubt_correlations(drawn: DataMap, doubts: Sequence[HumanDoubt], *, level: float = 0.95) -> Scores:
    """Spearman's rho of confidence and of variability with every measure of people's uncertainty.

    The metrics are named `confidence_entropy_spearman` and so on. Intervals cover the choice of items. If a network is
    uncertain about the same items as people, confidence decreases with uncertainty (rho < 0), and often variability
    increases.
    """
    between_0_and_1("level", level)
    scores = []
    for doubt in doubts:
        found = pc.index_in(drawn.items, value_set=doubt.items)
        here = np.flatnonzero(found.is_valid().to_numpy(zero_copy_only=False))
        theirs = found.drop_null().to_numpy().astype(np.int64)
        if not len(here):
            ours, map_items = (listing(each.items[:3].to_pylist()) for each in (doubt, drawn))
            text = f"uncertainty of items {ours}, of which none is on the map ({map_items})"
            expected, fix = "people's uncertainty about the training items", "give both tables the same ids"
            raise BadTable(text, expected, fix, "no-common-items", doubt.path)
        if len(here) < len(drawn):
            warn(f"{len(drawn) - len(here):,} of {len(drawn):,} items on the map have no human uncertainty; skipped")
        for name, values in doubt.signals.items():
            for axis in AXES:
                placed = np.asarray(getattr(drawn, axis))[here]
                scores.append(_score(f"{axis}_{name}_spearman", placed, np.asarray(values[theirs]), level))
    return Scores.of(scores)


def _score(metric: str, placed: Float[np.ndarray, "items"], doubt: Float[np.ndarray, "items"], level: float) -> Score:
    known = ~np.isnan(doubt)
    if known.sum() < 2:
        warn(f"{metric} cannot be computed: fewer than two items with this measure")
        return Score(metric, ALL, np.nan, np.nan, np.nan, int(known.sum()), np.nan, "none: too few items")
    found = rank_correlation(placed[known], doubt[known], level=level)
    if np.isnan(found.rho):
        warn(f"{metric} is undefined: one of the two is the same for every item")
    between = found.interval
    return Score(metric, ALL, found.rho, between.low, between.high, found.n, np.nan, between.kind)
