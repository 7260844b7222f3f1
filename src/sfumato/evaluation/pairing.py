"""Pairing: several runs beside people's labels, item by item."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.evaluation.compared import MatchedLabels, match_labels
from sfumato.evaluation.run_folders import RunPredictions
from sfumato.tables.errors import BadTable, ErrorLocation, SfumatoWarning
from sfumato.tables.soft_labels import SoftLabels


def compared_runs(
    runs: Sequence[RunPredictions], *, people: SoftLabels, original: SoftLabels | None = None, common: bool = False
) -> list[MatchedLabels]:
    """Every run beside people's labels: the same items in the same order, the same classes in the same order."""
    check_some(runs)
    kept = runs[0].predictions.items
    n_most = max(len(run.predictions) for run in runs)
    for run in runs[1:]:
        kept = kept.filter(pc.is_in(kept, value_set=run.predictions.items))
    if not len(kept):
        other = next(run for run in runs if not pc.any(pc.is_in(run.predictions.items, runs[0].predictions.items)))
        raise BadTable(
            f"found no item that all runs predict: {runs[0].name} and {other.name} share none",
            expected="runs that predict the same items",
            fix="score runs of different splits apart",
            code="no-common-items",
            where=_where(other),
        )
    if len(kept) < n_most:
        _warn(f"the runs predict different items: only the {len(kept):,} that all of them predict are scored")
    first = match_labels(predicted=_only(runs[0], kept), people=people, original=original, common=common)
    beside = [first]
    for run in runs[1:]:
        own = match_labels(predicted=run.predictions, people=people, common=True)
        rows = pc.index_in(first.items, value_set=own.items).to_numpy().astype(np.int64)
        columns = [own.classes.index(name) for name in first.classes]
        beside.append(replace(first, predicted=np.ascontiguousarray(own.predicted[rows][:, columns])))
    return beside


def _only(run: RunPredictions, items: pa.StringArray) -> SoftLabels:
    table = run.predictions
    if len(items) == len(table):
        return table
    return replace(table, items=items, probs=table.probs[table.rows_of(items)], n_annotators=None)


def check_some(runs: Sequence[RunPredictions]) -> None:
    """An error where there are no runs."""
    if not runs:
        raise BadTable(
            "found no runs", expected="at least one", fix="train some with sfumato learn first", code="no-runs"
        )


def _where(run: RunPredictions) -> ErrorLocation:
    return ErrorLocation(str(run.predictions.path) if run.predictions.path else None)


def _warn(sentence: str) -> None:
    warnings.warn(sentence, SfumatoWarning, stacklevel=4)
