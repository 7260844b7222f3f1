"""Export of a study's answers as Annotations: one consistent snapshot, also while participants are answering.

Rows go from the store to the file a few thousand at a time, so memory does not grow with the number of answers.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import sqlalchemy as sa

from sfumato.store import queries
from sfumato.store.database import reading
from sfumato.store.interaction_record import InteractionRecord
from sfumato.store.location import StoreLocation
from sfumato.study.study import Study
from sfumato.tables.annotations import PURPOSES, SCHEMA, Annotations
from sfumato.tables.errors import BadSetting, BadTable, listing
from sfumato.tables.files.table_file import classes_metadata, write_rows

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
READ_RECORD = msgspec.json.Decoder(InteractionRecord).decode


@dataclass(frozen=True)
class ExportResult:
    """What an export wrote."""

    n_answers: int
    kind: str


def export(place: StoreLocation, study: str, output: Path, records: Path | None = None) -> ExportResult:
    """Write the answers of `study` to `output`, and the record of each answer to `records` if given."""
    with reading(place) as connection:
        row = queries.study_row(connection, study)
        if row is None:
            raise unknown_study(place, study, queries.study_names(connection))
        classes = tuple(msgspec.json.decode(row["classes"], type=list[str]))
        schema = SCHEMA.with_metadata(classes_metadata(classes))
        counted = _Counted()
        write_rows(schema, counted.of(_annotations(connection, row["id"], schema)), output)
        if records is not None:
            parts = queries.exported(connection, row["id"], PURPOSES)
            chunks = (pa.Table.from_pylist([_record(each) for each in part], schema=RECORDS) for part in parts)
            write_rows(RECORDS, chunks, records)
        return ExportResult(counted.n_rows, row["kind"])


class _Counted:
    n_rows = 0

    def of(self, chunks: Iterator[pa.Table]) -> Iterator[pa.Table]:
        for chunk in chunks:
            self.n_rows += len(chunk)
            yield chunk


def _annotations(connection: sa.Connection, study: int, schema: pa.Schema) -> Iterator[pa.Table]:
    for rows in queries.exported(connection, study, PURPOSES):
        columns = [pa.array([getattr(row, name) for row in rows]) for name in schema.names]
        yield pa.table([column.cast(field.type) for column, field in zip(columns, schema, strict=True)], schema=schema)


def _record(row: sa.Row[Any]) -> dict[str, Any]:
    record = READ_RECORD(row.record)
    width, height, ratio = record.viewport
    return {
        **{name: getattr(row, name) for name in ("item", "annotator", "trial", "purpose")},
        "claimed_seconds": record.seconds(),
        "server_seconds": (row.received_at - row.leased_at) / 1000,
        "n_inputs": len(record.events) + record.cut,
        "network": row.network,
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


def read_answers(place: StoreLocation, study: str) -> Annotations:
    """The answers of `study` in a store."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "answers.parquet"
        export(place, study, file)
        return Annotations.read(file)


def unknown_study(place: StoreLocation, study: str, known: list[str]) -> BadTable:
    """The error for a study that is not in the store."""
    found = f"no study {study!r} in the store, which holds {listing(known) or 'none'}"
    fix = "serve the study first, or name its store with --store"
    return BadTable(found, "a store with answers to this study", fix, "no-study", str(place))


def answers_by_arm(place: StoreLocation, study: Study) -> tuple[Annotations, dict[str, str]]:
    """The study's answers, and the name of each annotator's arm."""
    if not study.arms:
        fix = "add [[arms]] to the study file, one for each form"
        raise BadSetting("a study without [[arms]]", "several forms to compare", fix, "no-arms", study.path)
    answers = read_answers(place, study.name)
    with reading(place) as connection:
        row = queries.study_row(connection, study.name)
        assert row is not None, "exported a moment ago"
        arms = queries.arms_of(connection, row["id"])
    # In the order of the study file.
    in_order = sorted(arms.items(), key=lambda each: each[1])
    return answers, {person: study.arms[arm].name for person, arm in in_order}
