"""soft-digits: soft labels of MNIST and ambiguous digits, from yes / no / unsure answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from sfumato.importers.file_head import Evidence, Preview
from sfumato.importers.importer import PUBLISHED, ImportResult, located_in
from sfumato.tables.doubt import Doubt, entropy
from sfumato.tables.errors import BadTable, ErrorLocation, bad_number, listing, missing_column, no_rows, unknown
from sfumato.tables.files.file_type import NUMPY, kind_of
from sfumato.tables.files.npz import read_arrays
from sfumato.tables.files.table_file import read_rows
from sfumato.tables.soft_labels import SoftLabels

DIGITS = (*(str(d) for d in range(10)), "not a digit")
LABEL_COLUMNS = ("soft_label", "soft_label_yes_unc_equal", "soft_label_argmax")
DOUBT_COLUMNS = ("human_uncert_mean", "pct_ann_unsure")


@dataclass(frozen=True)
class SoftDigitsImporter:
    """One of the three published labels (`column`) over ten digits and "not a digit", as SoftLabels.

    `soft_label` counts "unsure" as half a yes, `soft_label_yes_unc_equal` as a yes, `soft_label_argmax` is the
    majority. Reads Parquet or npz with the published columns; `split` and `source` select rows. The number of
    annotators per item was not published. `human_uncert_mean` and `pct_ann_unsure` become the doubt table.
    """

    column: str = "soft_label"
    split: str | None = None
    source: str | None = None

    name: ClassVar[str] = "soft-digits"

    @classmethod
    def recognize(cls, preview: Preview) -> Evidence | None:
        found = set(preview.columns) or set(preview.files)
        return Evidence("the published columns") if {*LABEL_COLUMNS, *DOUBT_COLUMNS} <= found else None

    def __post_init__(self) -> None:
        if self.column not in LABEL_COLUMNS:
            raise unknown("column", self.column, LABEL_COLUMNS)

    def read(self, source: str | Path) -> ImportResult:
        path = Path(source)
        columns = read_columns(path)
        if missing := [name for name in (*LABEL_COLUMNS, *DOUBT_COLUMNS) if name not in columns]:
            raise missing_column(columns, f"the published columns, including {listing(missing)}", PUBLISHED, path)
        n_rows = len(columns[self.column])
        if not n_rows or {len(column) for column in columns.values()} != {n_rows}:
            expected = "at least one item, with a value in each column"
            raise no_rows(expected, PUBLISHED, path, "no rows, or columns of different lengths")
        kept = np.ones(n_rows, dtype=bool)
        for name, wanted in (("split", self.split), ("source", self.source)):
            if wanted is not None:
                values = np.array([str(v) for v in columns.get(name, [""] * n_rows)])
                if wanted not in values:
                    where = ErrorLocation(str(path), column=name)
                    raise unknown(name, wanted, sorted(set(values.tolist())), where)
                kept &= values == wanted
        items = _items(columns, np.flatnonzero(kept).tolist(), n_rows)
        with located_in(path, self.column):
            labels = SoftLabels.from_numpy(items, _matrix(path, columns, self.column)[kept], DIGITS)
        doubt = _doubt(path, columns, kept, labels)
        majority = _matrix(path, columns, "soft_label_argmax")[kept].argmax(axis=1)
        moved = int((majority != _matrix(path, columns, "soft_label")[kept].argmax(axis=1)).sum())
        notes = [
            f"{len(labels):,} of {n_rows:,} items, {len(DIGITS)} classes, from the column {self.column}",
            "the number of annotators per item was not published",
        ]
        if moved:
            notes.append(
                f"{moved:,} rows where soft_label_argmax is not the largest entry of soft_label (including ties)"
            )
        return ImportResult(labels, tuple(notes), _original(path, columns, kept, items), doubt)


def _items(columns: dict[str, Any], rows: list[int], n_rows: int) -> list[str]:
    """Ids: the published index, the file name, or the row; with the source if two sources share an id."""
    ids = columns.get("indices", columns.get("file_name", range(n_rows)))
    items = [str(ids[i]) for i in rows]
    if len(set(items)) < len(items) and "source" in columns:
        return [f"{columns['source'][i]}/{ids[i]}" for i in rows]
    return items


def read_columns(path: Path, *, images: bool = False) -> dict[str, Any]:
    """The columns by name, if asked for with the images: arrays of an npz, or lists of a Parquet file."""
    left_out = () if images else ("images",)
    if kind_of(path) is NUMPY:
        return {name: array for name, array in read_arrays(path).items() if name not in left_out}
    rows = read_rows(path, guarded=False)
    wanted = [name for name in rows.schema.names if name not in left_out]
    table = pa.concat_tables(
        [rows.schema.empty_table().select(wanted), *(chunk.select(wanted) for chunk in rows.chunks)]
    )
    return {name: table.column(name).to_pylist() for name in wanted}


def _matrix(path: Path, columns: dict[str, Any], name: str) -> np.ndarray:
    try:
        matrix = np.array([list(row) for row in columns[name]], dtype=np.float64)
    except (TypeError, ValueError):
        matrix = np.empty((0, 0))
    if matrix.ndim != 2 or matrix.shape[1] != len(DIGITS):
        found = f"{name} with {matrix.shape[-1] or 'no'} values per row"
        expected = "eleven numbers per row: digits 0 to 9, then not a digit"
        raise BadTable(found, expected, PUBLISHED, "wrong-length", ErrorLocation(str(path), column=name))
    return matrix


def _doubt(path: Path, columns: dict[str, Any], kept: np.ndarray, labels: SoftLabels) -> Doubt:
    measures = {name: _shares(path, columns, name)[kept] for name in DOUBT_COLUMNS}
    for name, values in measures.items():
        if not ((values >= 0) & (values <= 1)).all():
            wrong = float(values[~((values >= 0) & (values <= 1))][0])
            raise bad_number(wrong, "a share from 0 to 1", PUBLISHED, ErrorLocation(str(path), column=name))
    nothing = np.full(len(labels), np.nan)
    return Doubt(
        labels.items,
        np.zeros(len(labels), dtype=np.int64),
        *(nothing,) * 3,
        entropy(labels.probs),
        nothing,
        nothing,
        mean_doubt=measures["human_uncert_mean"],
        unsure_proportion=measures["pct_ann_unsure"],
    )


def _shares(path: Path, columns: dict[str, Any], name: str) -> np.ndarray:
    try:
        return np.asarray(columns[name], dtype=np.float64)
    except (TypeError, ValueError) as error:
        found, where = f"values that are not numbers in {name}", ErrorLocation(str(path), column=name)
        raise BadTable(found, "shares from 0 to 1", PUBLISHED, "bad-number", where) from error


def _original(path: Path, columns: dict[str, Any], kept: np.ndarray, items: list[str]) -> SoftLabels | None:
    """The original labels: a digit for MNIST, a distribution over ten digits for the synthetic part."""
    if "original_labels" not in columns:
        return None
    rows = np.zeros((len(items), len(DIGITS)))
    for row, at in enumerate(np.flatnonzero(kept)):
        rows[row, :10] = _ten_digits(path, int(at), columns["original_labels"][at])
    with located_in(path, "original_labels"):
        return SoftLabels.from_numpy(items, rows, DIGITS)


def _ten_digits(path: Path, row: int, value: Any) -> np.ndarray:
    try:
        label = np.asarray(value, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError):
        label = np.empty(0)
    if label.size == 10:
        return label
    if label.size == 1 and label[0] in range(10):
        return np.asarray(np.eye(10)[int(label[0])])
    where = ErrorLocation(str(path), row=row, column="original_labels")
    raise bad_number(value, "a digit from 0 to 9, or ten probabilities", PUBLISHED, where)
