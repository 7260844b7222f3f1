"""Parquet files that are damaged, or whose columns are of other types."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from badinput_cases.building import arrow, beliefs, changed, crowd, parquet
from badinput_cases.case import accepted, refused

DOUBT = ("doubt", "bad.parquet", "-o", "out.parquet")
KEEP = ("transform", "bad.parquet", "--by", "sparsify", "--k", "2", "-o", "out.parquet")
OWN = ("import", "annotations", "bad.parquet", "-o", "out.parquet")
CROWD = ("import", "crowd", "bad.parquet", "-o", "out.parquet")
LONG = beliefs(5000, item=[f"item-{i * 7919 % 5003}" for i in range(5000)])
HARD = {"item": ["a", "b"], "annotator": ["x", "x"], "label": ["cat", "dog"]}
NOT_UTF8 = pa.Array.from_buffers(
    pa.string(), 2, [None, pa.py_buffer(struct.pack("<3i", 0, 2, 3)), pa.py_buffer(b"a\xffb")]
)


def _answers(**columns: Any) -> dict[str, Any]:
    """Columns of a sound Annotations table with those given added."""
    sound = {"item": ["a"], "annotator": ["x"], "kind": ["choice/1"], "payload": ['{"class":"cat"}']}
    return sound | columns


def _flipped_page(path: Path) -> None:
    """A file with checksums and one bit of a data page turned."""
    parquet(LONG, write_page_checksum=True)(path)
    chunk = pq.ParquetFile(path).metadata.row_group(0).column(0)
    at = chunk.data_page_offset + (chunk.dictionary_page_offset or chunk.data_page_offset) % 2
    at += (chunk.total_compressed_size - (chunk.data_page_offset - (chunk.dictionary_page_offset or 0))) // 2
    data = bytearray(path.read_bytes())
    data[at] ^= 16
    path.write_bytes(data)


def _flipped_footer(data: bytes) -> bytes:
    size = int.from_bytes(data[-8:-4], "little")
    at = len(data) - 8 - size
    return data[:at] + bytes(255 - byte for byte in data[at : at + 20]) + data[at + 20 :]


DAMAGED = (
    refused(
        "parquet-truncated",
        {"bad.parquet": changed(parquet(LONG), lambda d: d[: len(d) // 2])},
        DOUBT,
        "damaged",
        "bad.parquet",
    ),
    refused("parquet-only-magic", {"bad.parquet": b"PAR1"}, DOUBT, "damaged", "bad.parquet"),
    refused(
        "parquet-footer-garbled",
        {"bad.parquet": changed(parquet(LONG), _flipped_footer)},
        DOUBT,
        "damaged",
        "bad.parquet",
    ),
    refused(
        "parquet-footer-size-too-large",
        {"bad.parquet": changed(parquet(LONG), lambda d: d[:-8] + b"\xff\xff\xff\x7fPAR1")},
        DOUBT,
        "damaged",
        "bad.parquet",
    ),
    refused("parquet-bit-flip-in-page", {"bad.parquet": _flipped_page}, DOUBT, "damaged", "bad.parquet"),
    refused(
        "parquet-middle-overwritten",
        {"bad.parquet": changed(parquet(LONG), lambda d: d[:2000] + bytes(len(d) // 2 - 2000) + d[len(d) // 2 :])},
        DOUBT,
        "damaged",
        "bad.parquet",
    ),
    refused("parquet-is-csv", {"bad.parquet": crowd("a,x,cat")}, DOUBT, "wrong-content", "bad.parquet"),
    refused("csv-is-parquet", {"bad.csv": parquet(LONG)}, ("doubt", "bad.csv"), "wrong-content", "bad.csv", "Parquet"),
    refused(
        "parquet-text-not-utf8",
        {"bad.parquet": parquet(beliefs(item=NOT_UTF8))},
        DOUBT,
        "damaged",
        "bad.parquet",
        "column 0",
        "UTF8",
    ),
    refused(
        "parquet-payload-not-utf8",
        {"bad.parquet": parquet({**_answers(), "payload": NOT_UTF8.slice(0, 1)})},
        OWN,
        "damaged",
        "bad.parquet",
        "column 3",
        "UTF8",
    ),
    # Offsets that point past the end of the text end the process that follows them.
    refused(
        "arrow-wild-offsets",
        {
            "bad.arrow": changed(
                arrow(beliefs(item=["7 chars", "twenty-three characters"])),
                lambda d: d.replace(struct.pack("<3i", 0, 7, 30), struct.pack("<3i", 0, 7, 2**30)),
            )
        },
        ("doubt", "bad.arrow"),
        "damaged",
        "bad.arrow",
    ),
)

TYPES = (
    *(
        refused(f"parquet-item-{name}", {"bad.parquet": parquet(beliefs(item=column))}, DOUBT, code, *says)
        for name, column, code, says in (
            ("binary", pa.array([b"a", b"b"]), "wrong-type", ("bad.parquet:item", "binary")),
            ("float", pa.array([1.0, 2.0]), "wrong-type", ("bad.parquet:item", "double")),
            ("boolean", pa.array([True, False]), "wrong-type", ("bad.parquet:item", "bool")),
            ("struct", pa.array([{"id": 1}, {"id": 2}]), "wrong-type", ("bad.parquet:item", "struct")),
            ("list", pa.array([["a"], ["b"]]), "wrong-type", ("bad.parquet:item", "list")),
            ("null", pa.array(["a", None]), "missing-value", ("bad.parquet:row 1:item",)),
            ("all-null", pa.nulls(2), "missing-value", ("bad.parquet:row 0:item",)),
        )
    ),
    *(
        refused(f"parquet-probs-{name}", {"bad.parquet": parquet(beliefs(probs=column))}, DOUBT, code, *says)
        for name, column, code, says in (
            ("of-integers", pa.array([[1, 0], [0, 1]]), "wrong-type", ("bad.parquet:probs", "int64")),
            ("of-text", pa.array([["1", "0"], ["0", "1"]]), "wrong-type", ("bad.parquet:probs", "string")),
            ("as-text", pa.array(["[1,0]", "[0,1]"]), "wrong-type", ("bad.parquet:probs", "string")),
            (
                "of-another-length",
                pa.array([[1.0, 0.0], [1.0]]),
                "wrong-length",
                ("bad.parquet:row 1:probs", "2 values"),
            ),
            ("null", pa.array([[1.0, 0.0], None]), "wrong-length", ("bad.parquet:row 1:probs",)),
            ("with-a-null", pa.array([[1.0, 0.0], [1.0, None]]), "wrong-length", ("bad.parquet:row 1:probs",)),
            ("nan", pa.array([[1.0, 0.0], [1.0, np.nan]]), "not-finite", ("bad.parquet:row 1",)),
            ("infinite", pa.array([[1.0, 0.0], [np.inf, -np.inf]]), "not-finite", ("bad.parquet:row 1",)),
            (
                "too-coarse",
                pa.array([np.array([1, 0], np.float16), np.array([0.1, 0.9], np.float16)]),
                "bad-sum",
                ("bad.parquet:row 1",),
            ),
        )
    ),
    accepted(
        "parquet-probs-float16",
        {"bad.parquet": parquet(beliefs(probs=pa.array([np.array([0.25, 0.75], np.float16)] * 2)))},
        KEEP,
        {"probs": [[0.25, 0.75]] * 2},
    ),
    accepted(
        "parquet-item-integers-above-2-to-the-53",
        {"bad.parquet": parquet(beliefs(item=pa.array([9007199254740993, 7])))},
        KEEP,
        {"item": ["9007199254740993", "7"]},
    ),
    accepted(
        "parquet-wide-integers",
        {"bad.parquet": parquet(beliefs(probs=None) | {"p:cat": [1, 0], "p:dog": [0, 1]}, None)},
        KEEP,
        {"probs": [[1.0, 0.0], [0.0, 1.0]]},
    ),
    refused(
        "parquet-trial-beyond-64-bits",
        {"bad.parquet": parquet(_answers(trial=pa.array([2**63], pa.uint64())))},
        OWN,
        "bad-number",
        "bad.parquet:row 0:trial",
    ),
    refused(
        "parquet-time-as-number",
        {"bad.parquet": parquet(_answers(started_at=[1.5]))},
        OWN,
        "wrong-type",
        "bad.parquet:started_at",
    ),
    refused(
        "parquet-label-list",
        {"bad.parquet": parquet(HARD | {"label": [["cat"], ["dog"]]}, None)},
        CROWD,
        "wrong-type",
        "bad.parquet:label",
    ),
    refused(
        "parquet-wide-struct",
        {"bad.parquet": parquet({"item": ["a"], "x": [{"class": "cat"}]}, None)},
        ("import", "wide", "bad.parquet", "-o", "out.parquet"),
        "wrong-type",
        "bad.parquet:x",
    ),
    refused(
        "parquet-no-rows",
        {"bad.parquet": parquet(beliefs(0, probs=pa.array([], pa.list_(pa.float64()))))},
        DOUBT,
        "no-rows",
        "bad.parquet",
    ),
)

CLASSES = tuple(
    refused(f"parquet-classes-{name}", {"bad.parquet": parquet(beliefs(), text)}, KEEP, code, "bad.parquet", *says)
    for name, text, code, says in (
        ("missing", None, "missing-classes", ("sfumato.classes",)),
        ("broken", '["cat","do', "bad-classes", ("sfumato.classes",)),
        ("no-array", '{"cat":0,"dog":1}', "bad-classes", ("sfumato.classes",)),
        ("of-numbers", "[0,1]", "bad-classes", ("sfumato.classes",)),
        ("100000-deep", "[" * 100_000, "bad-classes", ("sfumato.classes",)),
        ("with-a-surrogate", '["cat","\\ud800"]', "bad-classes", ()),
        ("one", '["cat"]', "bad-classes", ("1 class",)),
        ("none", "[]", "bad-classes", ("0 class",)),
        ("twice", '["cat","cat"]', "bad-classes", ("'cat'",)),
        ("too-many", '["cat","dog","emu"]', "wrong-length", ("row 0", "3 values")),
    )
)

CASES = (*DAMAGED, *TYPES, *CLASSES)
