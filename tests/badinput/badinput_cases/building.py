"""Makers of input: CSV text, answers, and files that cannot be typed."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from badinput_cases.case import Content

OSC = "\x1b]0;owned\x07"
"""A terminal escape that retitles the window; unlike colours, the command line library does not take it out itself."""


def crowd(*lines: str, head: str = "item,annotator,label") -> bytes:
    """A long table of hard labels, one line an answer."""
    return "".join(f"{line}\n" for line in (head, *lines)).encode()


def written(rows: Iterable[Sequence[str]]) -> bytes:
    """Rows as CSV, quoted where needed."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def answers(*payloads: str, kind: str = "choice/1") -> bytes:
    """Annotations of one kind: items a, b, ... by annotator x."""
    rows = [(chr(97 + i), "x", kind, payload) for i, payload in enumerate(payloads)]
    return written([("item", "annotator", "kind", "payload"), *rows])


def gzipped(start: bytes, repeated: bytes = b"", times: int = 0, end: bytes = b"") -> Callable[[Path], None]:
    """A gzip file of `start`, `repeated` so many times, and `end`."""

    def make(path: Path) -> None:
        with gzip.GzipFile(path, "wb", compresslevel=9, mtime=0) as file:
            file.write(start)
            per_write = max(2**20 // max(len(repeated), 1), 1)
            for done in range(0, times, per_write):
                file.write(repeated * min(per_write, times - done))
            file.write(end)

    return make


def beliefs(n_rows: int = 2, **columns: Any) -> dict[str, Any]:
    """Columns of a sound Beliefs table over cat and dog, with those given put in their place."""
    sound = {
        "item": [f"item-{i}" for i in range(n_rows)],
        "annotator": ["x"] * n_rows,
        "probs": pa.array([[0.25, 0.75]] * n_rows, pa.list_(pa.float64())),
    }
    return {name: column for name, column in (sound | columns).items() if column is not None}


def parquet(columns: dict[str, Any], classes: str | None = '["cat","dog"]', **options: Any) -> Callable[[Path], None]:
    """A Parquet file of `columns`, with the text `classes` under the metadata key sfumato.classes."""

    def make(path: Path) -> None:
        metadata = {} if classes is None else {b"sfumato.classes": classes.encode()}
        pq.write_table(pa.table(columns).replace_schema_metadata(metadata), path, **options)

    return make


def arrow(columns: dict[str, Any], **options: Any) -> Callable[[Path], None]:
    """An Arrow file of `columns` with the classes cat and dog."""

    def make(path: Path) -> None:
        table = pa.table(columns).replace_schema_metadata({b"sfumato.classes": b'["cat","dog"]'})
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema, **options) as writer:
            writer.write_table(table)

    return make


def changed(content: Content, change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    """The file of `content` with its bytes changed."""

    def make(path: Path) -> None:
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            content(path)
        path.write_bytes(change(path.read_bytes()))

    return make


def arrays(**named: Any) -> Callable[[Path], None]:
    """An npz of the arrays given."""

    def make(path: Path) -> None:
        with path.open("wb") as file:
            np.savez_compressed(file, **named)

    return make


def task(*annotations: Any, **fields: Any) -> dict[str, Any]:
    """A task as Label Studio exports it, number 1 unless told."""
    return {"id": 1, "data": {"image": "1.png"}, "annotations": list(annotations), **fields}


def annotation(*results: Any, **fields: Any) -> dict[str, Any]:
    """An annotation by person 7, choosing `cat` unless told."""
    return {"completed_by": 7, "result": list(results) or [choice("cat")], **fields}


def choice(*chosen: Any) -> dict[str, Any]:
    """The result of a Choices control."""
    return {"type": "choices", "from_name": "animal", "value": {"choices": list(chosen)}}


def document(*tasks: Any) -> bytes:
    """A whole export."""
    return json.dumps(list(tasks)).encode()
