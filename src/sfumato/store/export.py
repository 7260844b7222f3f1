"""Exporting: the answers of a study as Annotations, one consistent snapshot while people go on answering.

Rows go from the store to the file some thousand at a time, so a million of them need no more memory than these.

The answers of a study with arms, and which arm each annotator is in.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import sqlalchemy as sa

from sfumato.store import queries
from sfumato.store.database import reading_engine
from sfumato.store.interaction_record import InteractionRecord
from sfumato.store.location import StoreLocation
from sfumato.study.study import Study
from sfumato.tables.annotations import PURPOSES, SCHEMA, Annotations
from sfumato.tables.errors import BadSetting, BadTable, ErrorLocation, listing
from sfumato.tables.files import classes_metadata, write_rows

RECORDS = pa.schema(
    [
        ("item", pa.string()),
        ("annotator", pa.string()),
        ("trial", pa.int64()),
        ("purpose", pa.string()),
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
"""How each answer came about, one row an answer, beside the Annotations of the same export."""
READ_RECORD = msgspec.json.Decoder(InteractionRecord).decode


@dataclass(frozen=True)
class ExportResult:
    """What was written."""

    n_answers: int
    kind: str
    classes: tuple[str, ...]


def export(place: StoreLocation, study: str, output: Path, records: Path | None = None) -> ExportResult:
    """Write the answers of `study` to `output`, and how each came about to `records` if it is given."""
    engine = reading_engine(place)
    try:
        # One transaction is one snapshot: both files are of the same moment.
        with engine.connect() as connection, connection.begin():
            row = queries.study_row(connection, study)
            if row is None:
                raise unknown_study(place, study, queries.study_names(connection))
            classes = tuple(msgspec.json.decode(row["classes"], type=list[str]))
            schema = SCHEMA.with_metadata(classes_metadata(classes))
            counted = _Counted()
            write_rows(schema, counted.of(_annotations(connection, row["id"], schema)), output)
            if records is not None:
                write_rows(RECORDS, _records(connection, row["id"]), records)
            return ExportResult(counted.n_rows, row["kind"], classes)
    finally:
        engine.dispose()


class _Counted:
    n_rows = 0

    def of(self, chunks: Iterator[pa.Table]) -> Iterator[pa.Table]:
        for chunk in chunks:
            self.n_rows += len(chunk)
            yield chunk


def _annotations(connection: sa.Connection, study: int, schema: pa.Schema) -> Iterator[pa.Table]:
    for rows in queries.exported(connection, study, PURPOSES):
        columns = [pa.array([getattr(row, name) for row in rows]) for name in schema.names]
        yield pa.table(
            [column.cast(field.type) for column, field in zip(columns, schema, strict=True)],
            schema=schema,
        )


def _records(connection: sa.Connection, study: int) -> Iterator[pa.Table]:
    for rows in queries.exported(connection, study, PURPOSES):
        yield pa.Table.from_pylist([_record(row) for row in rows], schema=RECORDS)


def _record(row: sa.Row[Any]) -> dict[str, Any]:
    record = READ_RECORD(row.record)
    width, height, ratio = record.viewport
    return {
        **{name: getattr(row, name) for name in ("item", "annotator", "trial", "purpose")},
        "elapsed_seconds": record.elapsed_ms / 1000,
        "hidden_seconds": sum(stop - start for start, stop in record.hidden) / 1000,
        "idle_seconds": sum(stop - start for start, stop in record.idle) / 1000,
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


def unknown_study(place: StoreLocation, study: str, known: list[str]) -> BadTable:
    """The error for a study that the store does not know."""
    return BadTable(
        f"found no study {study!r} in the store, which holds {listing(known) or 'none'}",
        expected="answers of this study",
        fix="serve the study first, or name its store with --store",
        code="no-study",
        where=ErrorLocation(str(place)),
    )


def answers_by_arm(place: StoreLocation, study: Study, folder: Path) -> tuple[Annotations, dict[str, str]]:
    """The study's answers, by way of an export into `folder`, and the name of everybody's arm."""
    if not study.arms:
        raise BadSetting(
            "found a study without [[arms]]",
            expected="several forms to compare",
            fix="add [[arms]] to the study file, one for each form",
            code="no-arms",
            where=ErrorLocation(str(study.path) if study.path else None),
        )
    file = folder / "answers.parquet"
    export(place, study.name, file)
    engine = reading_engine(place)
    try:
        with engine.connect() as connection:
            row = queries.study_row(connection, study.name)
            assert row is not None, "exported a moment ago"
            arms = queries.arms_of(connection, row["id"])
    finally:
        engine.dispose()
    # In the order of the study file, whoever came first.
    in_order = sorted(arms.items(), key=lambda each: each[1])
    return Annotations.read(file), {person: study.arms[arm].name for person, arm in in_order}
