"""Records of answers matched with the answers, for the screening rules that need them (`record_rules.py`)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Int

from sfumato.labeling.screening import AnswerRecords
from sfumato.tables.annotations import Annotations
from sfumato.tables.errors import BadTable
from sfumato.tables.files.table_file import check_columns, read_rows

WINDOW = ("pointer", "width", "height", "pixel_ratio")
COLUMNS = ("annotator", "trial", "claimed_seconds", "n_inputs", "network", *WINDOW)
NEARLY_ALL, LEAST = 0.8, 3
"""An address that this share of the annotators has, and at least so many, is that of a proxy or of one place. It says
nothing about a person."""


@dataclass(frozen=True, slots=True)
class RecordRow:
    """The record of one answer; None: not known, or erased."""

    annotator: str
    trial: int
    claimed_seconds: float | None
    n_inputs: int | None
    network: str | None
    window: tuple[Hashable, ...]


def read_records(path: str | Path, annotations: Annotations) -> AnswerRecords:
    """The records in a file of `sfumato export --records`, matched with `annotations`."""
    rows = read_rows(path)
    check_columns(rows, COLUMNS)

    def read() -> Iterator[RecordRow]:
        for chunk in rows.chunks:
            columns = [chunk.column(each).to_pylist() for each in COLUMNS]
            for name, trial, seconds, inputs, network, *window in zip(*columns, strict=True):
                claimed = None if seconds is None else float(seconds)
                n_inputs = None if inputs is None else int(inputs)
                yield RecordRow(str(name), int(trial), claimed, n_inputs, network, tuple(window))

    records = matched_records(read(), annotations)
    if len(annotations) and not records.n_matched:
        found, expected = "records of no answer in the annotations", "the records of the same study"
        fix = "export both together: sfumato export STUDY -o annotations.parquet --records records.parquet"
        raise BadTable(found, expected, fix, "other-records", rows.where())
    return records


def matched_records(rows: Iterable[RecordRow], annotations: Annotations) -> AnswerRecords:
    """Records matched with `annotations` by annotator and trial. The device is that of the first record."""
    names = {name: code for code, name in enumerate(annotations.annotator.names.to_pylist())}
    trials = annotations.trial.to_pylist()
    row_of = {(who, trials[row]): row for row, who in enumerate(annotations.annotator.codes.tolist())}
    claimed = np.full(len(annotations), np.nan)
    n_inputs = np.full(len(annotations), -1)
    network, device, window = (np.full(len(names), -1) for _ in range(3))
    numbers: dict[Hashable, int] = {}
    n_matched = 0
    for each in rows:
        who = names.get(each.annotator, -1)
        if who >= 0 and each.network and network[who] < 0:
            network[who] = numbers.setdefault(each.network, len(numbers))
            window[who] = numbers.setdefault(each.window, len(numbers))
            device[who] = numbers.setdefault((each.network, each.window), len(numbers))
        row = row_of.get((who, each.trial))
        if row is None:
            continue
        n_matched += 1
        claimed[row] = np.nan if each.claimed_seconds is None else each.claimed_seconds
        n_inputs[row] = -1 if each.n_inputs is None else each.n_inputs
    shared = _shared_by_nearly_all(network)
    for numbered in (network, device, window):
        numbered[shared] = -1
    return AnswerRecords(claimed, n_inputs, network, device, window, n_matched, int(shared.sum()))


def _shared_by_nearly_all(network: Int[np.ndarray, "annotators"]) -> np.ndarray:
    """The annotators with the address that nearly all have, if there is one."""
    known = network >= 0
    counts = np.bincount(network[known], minlength=1)
    if counts.max() < max(LEAST, NEARLY_ALL * known.sum()):
        return np.zeros(len(network), bool)
    return np.asarray(known & (network == counts.argmax()))
