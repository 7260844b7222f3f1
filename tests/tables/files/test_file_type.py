"""What kind of file this is: by its name, confirmed by its first bytes."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.tables.errors import BadFile
from sfumato.tables.files.file_type import (
    CSV,
    JSON,
    KINDS,
    NUMPY,
    PARQUET,
    TABLE_KINDS,
    check_content,
    check_readable,
    content_of,
    kind_of,
)

TABLE = pa.table({"item": ["1"]})


def parquet_bytes() -> bytes:
    buffer = io.BytesIO()
    pq.write_table(TABLE, buffer)
    return buffer.getvalue()


def arrow_bytes() -> bytes:
    buffer = io.BytesIO()
    with pa.ipc.new_file(buffer, TABLE.schema) as writer:
        writer.write_table(TABLE)
    return buffer.getvalue()


def npy_bytes() -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.arange(3))
    return buffer.getvalue()


def zip_bytes() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a.csv", "item\n1\n")
    return buffer.getvalue()


CONTENT = {
    "text": b"item,annotator\n1,a\n",
    "BOM": b"\xef\xbb\xbfitem\n1\n",
    "gzip": gzip.compress(b"item\n1\n"),
    "Parquet": parquet_bytes(),
    "Arrow": arrow_bytes(),
    "npy": npy_bytes(),
    "zip": zip_bytes(),
    "UTF-16 text": "item\n".encode("utf-16"),
    "UTF-16 text, big end first": b"\xfe\xff" + "item\n".encode("utf-16-be"),
    "PNG image": b"\x89PNG\r\n\x1a\n....",
    "PDF": b"%PDF-1.7 ...",
    "SQLite database": b"SQLite format 3\x00...",
    "pickle": pickle.dumps([1, "2"], protocol=4),
}
GOOD = {
    "a.csv": {"text", "BOM"},
    "a.csv.gz": {"gzip"},
    "a.json": {"text", "BOM"},
    "a.json.gz": {"gzip"},
    "a.parquet": {"Parquet"},
    "a.pq": {"Parquet"},
    "a.npz": {"zip", "npy"},
    "a.npy": {"zip", "npy"},
}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.csv", CSV),
        ("a.csv.gz", CSV),
        ("A.CSV", CSV),
        ("a.b.json", JSON),
        ("a.Json.GZ", JSON),
        ("a.parquet", PARQUET),
        ("a.pq", PARQUET),
        ("a.npz", NUMPY),
        ("a.npy", NUMPY),
    ],
)
def test_a_name_says_its_kind(name, kind):
    assert kind_of(Path("folder.parquet") / name) is kind


@pytest.mark.parametrize("name", ["a.txt", "a.gz", "a", "csv", "a.csv.zip", "a.xlsx", "a.json5", "a.arrow"])
def test_other_names_are_refused_with_the_endings_there_are(name):
    with pytest.raises(BadFile) as caught:
        kind_of(Path(name))
    assert caught.value.code == "file-kind"
    for kind in KINDS:
        for suffix in kind.suffixes:
            assert suffix in caught.value.expected


def test_only_the_kinds_allowed_here():
    with pytest.raises(BadFile) as caught:
        kind_of(Path("a.json"), TABLE_KINDS)
    assert ".parquet" in caught.value.expected
    assert ".json" not in caught.value.expected


@pytest.mark.parametrize("content", CONTENT)
@pytest.mark.parametrize("name", GOOD)
def test_a_name_and_its_content_agree_or_the_file_is_refused(written, name, content):
    path = written(name, CONTENT[content])
    kind = kind_of(path)
    if content in GOOD[name]:
        check_content(path, kind)
        return
    with pytest.raises(BadFile) as caught:
        check_content(path, kind)
    assert caught.value.code == ("not-utf8" if content.startswith("UTF-16") else "wrong-content")
    assert caught.value.where.file == str(path)
    assert f"in a file with a {kind.name} name" in caught.value.found


@pytest.mark.parametrize(
    "content",
    ["Parquet", "Arrow", "gzip", "zip", "npy", "UTF-16 text", "PNG image", "PDF", "SQLite database", "pickle"],
)
def test_first_bytes_name_the_content(content):
    assert content_of(CONTENT[content][:16]) == content
    assert content_of(b"item,") is None


def test_nothing_there_names_what_is_near(written, tmp_path):
    written("labels.csv", "x")
    written("beliefs.csv", "x")
    (tmp_path / "folder").mkdir()
    with pytest.raises(BadFile) as caught:
        check_readable(tmp_path / "label.csv")
    assert caught.value.code == "no-such-file"
    assert caught.value.fix == "check the path; the folder contains 'beliefs.csv', 'folder', 'labels.csv'"
    with pytest.raises(BadFile) as caught:
        check_readable(tmp_path / "nowhere" / "label.csv")
    assert (caught.value.code, caught.value.fix) == ("no-such-file", "check the path")


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(BadFile) as caught:
        check_readable(tmp_path)
    assert caught.value.code == "is-a-folder"


def test_an_empty_file_is_refused(written):
    with pytest.raises(BadFile) as caught:
        check_readable(written("a.csv", b""))
    assert caught.value.code == "empty-file"


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_a_file_without_permission_is_refused(written):
    path = written("a.csv", "x")
    path.chmod(0)
    with pytest.raises(BadFile) as caught:
        check_readable(path)
    assert caught.value.code == "unreadable"
