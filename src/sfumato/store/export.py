"""Export of a study's answers as Annotations: one consistent snapshot, also while participants are answering.

Rows go from the store to the file a few thousand at a time, so memory does not grow with the number of answers. Files
for people have shifted times (`tables/shifted_times.py`) and are sorted by item; the project's own reads are exact.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import sqlalchemy as sa

from sfumato.store import export_queries, queries
from sfumato.store.database import reading
from sfumato.store.erasure import ErasedRecords, erased_records, is_erased
from sfumato.store.interaction_record import InteractionRecord
from sfumato.store.location import StoreLocation
from sfumato.store.schema import Row
from sfumato.study.study import Study
from sfumato.tables.annotations import AUDIT, PURPOSES, SCHEMA, Annotations
from sfumato.tables.class_order import OrderedClasses
from sfumato.tables.errors import BadSetting, BadTable, listing
from sfumato.tables.files.table_file import classes_metadata, write_rows
from sfumato.tables.row_numbers import row_sources_metadata
from sfumato.tables.shifted_times import TIMES, rounded, shifted

RECORDS = pa.schema(
    [
        ("item", pa.string()),
        ("annotator", pa.string()),
        ("trial", pa.int64()),
        ("purpose", pa.string()),
        ("claimed_seconds", pa.float64()),
        ("server_seconds", pa.float64()),
        ("n_inputs", pa.int64()),
        ("network", pa.string()),
        ("elapsed_seconds", pa.float64()),
        ("hidden_seconds", pa.float64()),
        ("idle_seconds", pa.float64()),
        ("pointer", pa.string()),
        ("width", pa.float64()),
        ("height", pa.float64()),
        ("pixel_ratio", pa.float64()),
        ("shortcuts", pa.bool_()),
        ("resumed", pa.bool_()),
        ("probability", pa.float64()),
        ("audit", pa.bool_()),
        ("deeper", pa.string()),
        ("deeper_probability", pa.float64()),
        ("first", pa.string()),
        ("order", pa.string()),
        ("keys", pa.string()),
        ("events", pa.string()),
    ]
)
"""Columns of the records file: how each answer was made, one row per answer."""
ERASABLE = (
    "claimed_seconds", "server_seconds", "n_inputs", "network", "hidden_seconds", "idle_seconds", "pointer", "width",
    "height", "pixel_ratio", "shortcuts", "resumed", "keys", "events",
)  # fmt: skip
"""Columns of the records file that are empty once the record was erased (`erasure.py`)."""
READ_RECORD = msgspec.json.Decoder(InteractionRecord).decode


@dataclass(frozen=True)
class ExportResult:
    """What an export wrote."""

    n_answers: int
    kind: str


def export(
    place: StoreLocation,
    study: str,
    output: Path,
    records: Path | None = None,
    *,
    exact_times: bool = False,
    ordered: bool = False,
    row_sources: Sequence[str] = (),
) -> ExportResult:
    """Write the answers of `study` to `output`, and the record of each answer to `records` if given.

    With `exact_times`, times are as stored and rows in the order in which they came: not for others. `ordered` is what
    the study file says about its classes, and `row_sources` are the files whose row numbers the ids of its items are.
    """
    with reading(place) as connection:
        row = stored_study(connection, place, study)
        number = row["id"]
        classes = msgspec.json.decode(row["classes"], type=list[str])
        columns = SCHEMA.append(AUDIT) if export_queries.is_adaptive(connection, number) else SCHEMA
        named = classes_metadata(OrderedClasses(classes) if ordered else classes)
        schema = columns.with_metadata(named | row_sources_metadata(row_sources))
        first = None if exact_times else export_queries.first_starts(connection, number, PURPOSES)
        counted = _Counted()
        parts = export_queries.exported(connection, number, PURPOSES, by_item=not exact_times)
        write_rows(schema, counted.of(_annotations(part, schema, first) for part in parts), output)
        if records is not None:
            erased = erased_records(connection, number)
            parts = export_queries.exported(connection, number, PURPOSES, by_item=not exact_times)
            chunks = (
                pa.Table.from_pylist([_record(each, erased, exact_times=exact_times) for each in part], schema=RECORDS)
                for part in parts
            )
            write_rows(RECORDS, chunks, records)
        return ExportResult(counted.n_rows, row["kind"])


class _Counted:
    n_rows = 0

    def of(self, chunks: Iterator[pa.Table]) -> Iterator[pa.Table]:
        for chunk in chunks:
            self.n_rows += len(chunk)
            yield chunk


def _annotations(rows: Sequence[sa.Row[Any]], schema: pa.Schema, first: Mapping[str, int] | None) -> pa.Table:
    """Some rows as Annotations; `first` has the time from which those of each annotator are counted."""
    values = {name: [getattr(row, name) for row in rows] for name in schema.names}
    if first is not None:
        for name in TIMES:
            values[name] = [shifted(getattr(row, name), first[row.annotator]) for row in rows]
        values["seconds"] = [rounded(row.seconds) for row in rows]
    if AUDIT.name in values:
        values[AUDIT.name] = [bool(row.audit) for row in rows]
    columns = [pa.array(values[field.name]).cast(field.type) for field in schema]
    return pa.table(columns, schema=schema)


def _record(row: sa.Row[Any], erased: Mapping[str, ErasedRecords], *, exact_times: bool) -> dict[str, Any]:
    """A row of the records file; what was erased is empty."""
    values = _whole_record(row, exact_times=exact_times)
    if is_erased(erased, row.annotator, row.id):
        values |= dict.fromkeys(ERASABLE)
    return values


def _whole_record(row: sa.Row[Any], *, exact_times: bool) -> dict[str, Any]:
    record = READ_RECORD(row.record)
    width, height, ratio = record.viewport
    lasted = {
        "claimed_seconds": record.seconds(),
        "server_seconds": (row.received_at - row.leased_at) / 1000,
        "elapsed_seconds": record.elapsed_ms / 1000,
        "hidden_seconds": sum(stop - start for start, stop in record.hidden) / 1000,
        "idle_seconds": sum(stop - start for start, stop in record.idle) / 1000,
    }
    return {
        **{name: getattr(row, name) for name in ("item", "annotator", "trial", "purpose")},
        **(lasted if exact_times else {name: rounded(seconds) for name, seconds in lasted.items()}),
        "n_inputs": len(record.events) + record.cut,
        "network": row.network,
        "pointer": record.pointer,
        "width": width,
        "height": height,
        "pixel_ratio": ratio,
        "shortcuts": record.shortcuts,
        "resumed": record.resumed,
        "probability": row.probability,
        "audit": bool(row.audit),
        "deeper": row.deeper,
        "deeper_probability": row.deeper_probability,
        "first": None if record.first is None else msgspec.json.encode(record.first).decode(),
        **{name: msgspec.json.encode(getattr(record, name)).decode() for name in ("order", "keys", "events")},
    }


def read_answers(place: StoreLocation, study: str) -> Annotations:
    """The answers of `study` in a store, with exact times."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "answers.parquet"
        export(place, study, file, exact_times=True)
        return Annotations.read(file)


def stored_study(connection: sa.Connection, place: StoreLocation, study: str) -> Row:
    """The row of `study`; raises if it is not in the store."""
    check_stored(connection, place, study)
    row = queries.study_row(connection, study)
    assert row is not None, "in the same snapshot"
    return row


def check_stored(connection: sa.Connection, place: StoreLocation, study: str) -> None:
    """Raise if `study` is not in the store, of this release or an older one."""
    known = queries.study_names(connection)
    if study not in known:
        found = f"no study {study!r} in the store, which holds {listing(known) or 'none'}"
        fix = "serve the study first, or name its store with --store"
        raise BadTable(found, "a store with answers to this study", fix, "no-study", str(place))


def answers_by_arm(place: StoreLocation, study: Study) -> tuple[Annotations, dict[str, str]]:
    """The study's answers, and the name of each annotator's arm."""
    if not study.arms:
        fix = "add [[arms]] to the study file, one for each form"
        raise BadSetting("a study without [[arms]]", "several forms to compare", fix, "no-arms", study.path)
    answers = read_answers(place, study.name)
    with reading(place) as connection:
        row = stored_study(connection, place, study.name)
        arms = queries.arms_of(connection, row["id"])
    # In the order of the study file.
    in_order = sorted(arms.items(), key=lambda each: each[1])
    return answers, {person: study.arms[arm].name for person, arm in in_order}
