"""Records of answers (`sfumato export --records`) matched with the answers, for the screening rules that need them."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path

import numpy as np

from sfumato.labeling.screening import AnswerRecords
from sfumato.tables.annotations import Annotations
from sfumato.tables.errors import BadTable
from sfumato.tables.files.table_file import check_columns, read_rows

DEVICE = ("network", "pointer", "width", "height", "pixel_ratio")
COLUMNS = ("annotator", "trial", "claimed_seconds", "n_inputs", *DEVICE)


def read_records(path: str | Path, annotations: Annotations) -> AnswerRecords:
    """The records in a file, matched with `annotations` by annotator and trial. The device is that of the first
    record."""
    rows = read_rows(path)
    check_columns(rows, COLUMNS)
    names = {name: code for code, name in enumerate(annotations.annotator.names.to_pylist())}
    trials = annotations.trial.to_pylist()
    row_of = {(who, trials[row]): row for row, who in enumerate(annotations.annotator.codes.tolist())}
    claimed = np.full(len(annotations), np.nan)
    n_inputs = np.full(len(annotations), -1)
    network, device = np.full(len(names), -1), np.full(len(names), -1)
    numbers: dict[Hashable, int] = {}
    for chunk in rows.chunks:
        columns = [chunk.column(each).to_pylist() for each in COLUMNS]
        for name, trial, seconds, inputs, *where in zip(*columns, strict=True):
            who = names.get(str(name), -1)
            if who >= 0 and where[0] and network[who] < 0:
                network[who] = numbers.setdefault(where[0], len(numbers))
                device[who] = numbers.setdefault(tuple(where), len(numbers))
            row = row_of.get((who, int(trial)))
            if row is not None:
                claimed[row], n_inputs[row] = float(seconds), int(inputs)
    if len(annotations) and (n_inputs < 0).all():
        found, expected = "records of no answer in the annotations", "the records of the same study"
        fix = "export both together: sfumato export STUDY -o annotations.parquet --records records.parquet"
        raise BadTable(found, expected, fix, "other-records", rows.where())
    return AnswerRecords(claimed, n_inputs, network, device)
