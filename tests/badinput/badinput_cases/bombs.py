"""Files far larger than they look, files in disguise, and arrays that are programs."""

from __future__ import annotations

import io
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from badinput_cases.building import arrays, changed, crowd, gzipped, parquet
from badinput_cases.case import accepted, refused
from badinput_cases.csv_shape import CROWD

GZ = ("import", "crowd", "bad.csv.gz", "-o", "out.parquet")
OWN = ("import", "annotations", "bad.parquet", "-o", "out.parquet")
DOUBT = ("doubt", "bad.parquet", "-o", "out.parquet")
NPZ = ("import", "counts", "bad.npz", "-o", "out.parquet")
NPY = ("import", "counts", "bad.npy", "-o", "out.parquet")
SOUND = crowd("a,x,cat", "b,x,dog")
# Large enough for single pages, so that a run of one value costs a few bytes however long it is.
ONE_PAGE = {"compression": "zstd", "data_page_size": 2**30, "write_batch_size": 2**24, "max_rows_per_page": 2**30}
OBJECTS = np.array([{"votes": 1}, None], dtype=object)


def _zipped(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("answers.csv", SOUND)


def _pickled(path: Path) -> None:
    with path.open("wb") as file:
        np.save(file, OBJECTS, allow_pickle=True)


def _saved(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def _huge_header(data: bytes) -> bytes:
    """The same array, its header claiming 10**15 rows."""
    return data.replace(b"(2, 2), }" + b" " * 15, b"(1000000000000000, 2), }")


def _run_of_one_value(path: Path) -> None:
    """268 million rows: a million in one page, and 256 row groups that all point to it."""
    coded = pa.DictionaryArray.from_arrays(pa.array(np.zeros(2**20, np.int8)), pa.array(["a"]))
    table = pa.table({"item": coded, "annotator": coded, "label": coded})
    pq.write_table(table, path, row_group_size=2**20, **ONE_PAGE)
    data, footer = path.read_bytes(), pq.read_metadata(path)
    for _ in range(8):
        footer.append_row_groups(footer)
    footer.write_metadata_file(path)
    size = int.from_bytes(data[-8:-4], "little")
    path.write_bytes(data[: -8 - size] + path.read_bytes()[4:])


def _long_texts(path: Path) -> None:
    """600 ids of a megabyte each, all different, which compress to almost nothing."""
    schema = pa.schema([("item", pa.string()), ("annotator", pa.string()), ("label", pa.string())])
    with pq.ParquetWriter(path, schema, compression="zstd", use_dictionary=False, write_statistics=False) as writer:
        for start in range(0, 600, 50):
            ids = [f"{'a' * 2**20}{i}" for i in range(start, start + 50)]
            writer.write_table(pa.table({"item": ids, "annotator": ["x"] * 50, "label": ["cat", "dog"] * 25}, schema))


def _wide_distributions(path: Path) -> None:
    """80,000 equal distributions over 1,000 classes: 640 MB as numbers, next to nothing as a run of one value."""
    classes = "[" + ",".join(f'"c{k}"' for k in range(1000)) + "]"
    part = pa.FixedSizeListArray.from_arrays(pa.array(np.full(10_000 * 1000, 0.001)), 1000)
    names = pa.array(["a"] * 10_000)
    table = pa.table({"item": names, "annotator": names, "probs": part})
    schema = table.schema.with_metadata({b"sfumato.classes": classes.encode()})
    with pq.ParquetWriter(path, schema, **ONE_PAGE) as writer:
        for _ in range(8):
            writer.write_table(table.cast(schema))


def _repeated_text(path: Path) -> None:
    """One answer of a megabyte, stored once and given 2,000 times."""
    text = '{"class":"' + "a" * 10**6 + '"}'
    coded = pa.DictionaryArray.from_arrays(pa.array(np.zeros(2000, np.int16)), pa.array([text]))
    few = pa.DictionaryArray.from_arrays(pa.array(np.zeros(2000, np.int16)), pa.array(["choice/1"]))
    columns = {"item": [str(i) for i in range(2000)], "annotator": few, "kind": few, "payload": coded}
    parquet(columns, '["cat","dog"]', dictionary_pagesize_limit=2**25, compression="zstd")(path)


DISGUISES = (
    refused("csv-is-gzip", {"bad.csv": gzipped(SOUND)}, CROWD, "wrong-content", "bad.csv", "gzip"),
    refused("csv-is-zip", {"bad.csv": _zipped}, CROWD, "wrong-content", "bad.csv", "zip"),
    refused("csv-is-an-image", {"bad.csv": b"\x89PNG\r\n\x1a\n" + bytes(30)}, CROWD, "wrong-content", "bad.csv", "PNG"),
    refused("gzip-is-csv", {"bad.csv.gz": SOUND}, GZ, "wrong-content", "bad.csv.gz", "gzip"),
    refused("npz-is-csv", {"bad.npz": SOUND}, NPZ, "wrong-content", "bad.npz"),
    accepted("gzip-sound", {"bad.csv.gz": gzipped(SOUND)}, GZ, {"item": ["a", "b"]}),
)

DAMAGED = (
    refused("gzip-truncated", {"bad.csv.gz": changed(gzipped(SOUND), lambda d: d[:-12])}, GZ, "damaged", "bad.csv.gz"),
    refused(
        "gzip-checksum-wrong",
        {"bad.csv.gz": changed(gzipped(SOUND), lambda d: d[:-8] + b"\0\0\0\0" + d[-4:])},
        GZ,
        "damaged",
        "bad.csv.gz",
    ),
    refused(
        "gzip-garbled",
        {"bad.csv.gz": changed(gzipped(SOUND), lambda d: d[:20] + b"\xff\xff\xff\xff" + d[24:])},
        GZ,
        "damaged",
        "bad.csv.gz",
    ),
    refused(
        "npz-truncated", {"bad.npz": changed(arrays(counts=np.eye(2)), lambda d: d[:-30])}, NPZ, "damaged", "bad.npz"
    ),
    refused("npy-truncated", {"bad.npy": _saved(np.eye(2))[:-8]}, NPY, "damaged", "bad.npy"),
    refused("npy-header-too-large", {"bad.npy": _huge_header(_saved(np.eye(2)))}, NPY, "damaged", "bad.npy"),
)

PICKLES = (
    refused("npy-pickle", {"bad.npy": _pickled}, NPY, "pickle", "bad.npy"),
    refused("npz-pickle", {"bad.npz": arrays(counts=OBJECTS)}, NPZ, "pickle", "bad.npz"),
    refused("npy-is-a-pickle", {"bad.npy": pickle.dumps({"votes": 1}, 4)}, NPY, "wrong-content", "bad.npy"),
)

BOMBS = (
    refused("bomb-gzip", {"bad.csv.gz": gzipped(crowd(), b"a,x,cat\n", 14_000_000)}, GZ, "bomb", "bad.csv.gz"),
    refused("bomb-npz", {"bad.npz": arrays(counts=np.zeros((10_000_000, 2), np.int64))}, NPZ, "bomb", "bad.npz"),
    refused(
        "bomb-parquet-rows", {"bad.parquet": _run_of_one_value}, ("import", "crowd", *OWN[2:]), "bomb", "bad.parquet"
    ),
    refused("bomb-parquet-texts", {"bad.parquet": _long_texts}, ("import", "crowd", *OWN[2:]), "bomb", "bad.parquet"),
    refused("bomb-parquet-dictionary", {"bad.parquet": _repeated_text}, OWN, "bomb", "bad.parquet"),
    refused("bomb-parquet-distributions", {"bad.parquet": _wide_distributions}, DOUBT, "bomb", "bad.parquet"),
)

CASES = (*DISGUISES, *DAMAGED, *PICKLES, *BOMBS)
