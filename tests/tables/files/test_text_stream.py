"""Bytes of text files, plain or gzipped, checked as they are read."""

from __future__ import annotations

import gzip

import pytest

from sfumato.tables.errors import BadFile, UnsafeFile
from sfumato.tables.files.text_stream import CheckedBytes, not_utf8, raw_bytes


def read_all(path, size: int = 64) -> bytes:
    parts = []
    with CheckedBytes(path) as file:
        while part := file.read(size):
            parts.append(part)
    return b"".join(parts)


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_bytes_come_through_as_they_are(written, size):
    data = b'\xef\xbb\xbfitem,"a"\r\n\xe9"' * 20
    assert read_all(written("a.csv", data), size) == data
    assert read_all(written("a.csv.gz", gzip.compress(data)), size) == data


def read_csv_bytes(path, size: int) -> bytes:
    parts = []
    with CheckedBytes(path, delimiter=",") as file:
        while part := file.read(size):
            parts.append(part)
    return b"".join(parts)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 10_000])
@pytest.mark.parametrize(
    "text",
    [
        'a,"b"\n',
        '"a\nb","c,""d""\r\n"\r\n"",""""\n',
        "no quote at all\n",
        '"a"\r"b"\r',
    ],
)
def test_quotes_around_whole_fields_pass(written, text, size):
    assert read_csv_bytes(written("a.csv", text), size) == text.encode()


def test_a_quote_may_follow_a_byte_order_mark(written):
    text = '\ufeff"a",b\n1,"2"'
    assert read_csv_bytes(written("a.csv", text), 10_000) == text.encode()


@pytest.mark.parametrize("size", [1, 2, 3, 5, 10_000])
@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ('a,b\n1,"2\n3,4\n', "unclosed-quote", 2),
        ('a,b\n"1","2\n', "unclosed-quote", 2),
        ('a,b\n1,2\n3,4"\n5,"6\n', "bad-csv", 3),
        ('a,b\n1,x"y"\n', "bad-csv", 2),
        ('a,b\n1,"x"y\n', "bad-csv", 2),
        ('a,b\n"1\n1","x" \n', "bad-csv", 3),
    ],
)
def test_a_stray_quote_names_its_line(written, text, code, line, size):
    path = written("a.csv", text)
    with pytest.raises(BadFile) as caught:
        read_csv_bytes(path, size)
    assert (caught.value.code, caught.value.where.file, caught.value.where.line) == (code, str(path), line)


def test_quotes_are_no_matter_outside_a_csv(written):
    assert read_all(written("a.json", '["a]')) == b'["a]'


def test_a_bomb_is_refused_while_it_grows(written, monkeypatch):
    monkeypatch.setattr("sfumato.tables.files.text_stream.FREE_EXPANSION_BYTES", 100_000)
    # Two members: the size named in the last four bytes is that of the second alone.
    path = written("a.csv.gz", gzip.compress(b"a" * 10_000_000) + gzip.compress(b"a"))
    with pytest.raises(UnsafeFile, match=r"found more than [0-9],[0-9]{3},[0-9]{3} bytes") as caught:
        read_all(path, 10_000)
    assert caught.value.code == "bomb"


def test_a_bomb_that_names_its_size_is_refused_unread(written, monkeypatch):
    monkeypatch.setattr("sfumato.tables.files.text_stream.FREE_EXPANSION_BYTES", 100_000)
    path = written("a.csv.gz", gzip.compress(b"a" * 10_000_000))
    with pytest.raises(UnsafeFile, match="found more than 10,000,000 bytes"):
        CheckedBytes(path)


def test_an_honest_gzip_is_read_to_the_end(written, monkeypatch):
    monkeypatch.setattr("sfumato.tables.files.text_stream.FREE_EXPANSION_BYTES", 1_000)
    data = b"".join(b"item-%d,annotator-%d\n" % (i, i * 7919 % 1013) for i in range(5_000))
    assert read_all(written("a.csv.gz", gzip.compress(data)), 4_096) == data


@pytest.mark.parametrize("cut", [-1, -9, -100])
def test_gzip_cut_short_is_damaged(written, cut):
    path = written("a.csv.gz", gzip.compress(bytes(range(1, 256)) * 50)[:cut])
    with pytest.raises(BadFile) as caught:
        read_all(path)
    assert (caught.value.code, caught.value.where.file) == ("damaged", str(path))


def test_gzip_with_a_flipped_byte_is_damaged(written):
    data = bytearray(gzip.compress(bytes(range(1, 256)) * 50, mtime=0))
    for position in (len(data) // 2, len(data) - 6):
        broken = bytearray(data)
        broken[position] ^= 0x10
        with pytest.raises(BadFile) as caught:
            read_all(written("a.csv.gz", bytes(broken)))
        assert caught.value.code in ("damaged", "nul-byte")


@pytest.mark.parametrize("packed", [False, True])
def test_a_nul_byte_names_its_line(written, packed):
    data = b"a\nb\nc\x00\n\x00"
    path = written("a.csv.gz", gzip.compress(data)) if packed else written("a.csv", data)
    with pytest.raises(BadFile) as caught:
        read_all(path)
    assert (caught.value.code, caught.value.where.line) == ("nul-byte", 3)


@pytest.mark.parametrize(("data", "line"), [(b"a\n\xc3\xa9\nb\xe9\n", 3), (b"\xff\n", 1), (b"a\nb", 1)])
def test_the_line_that_is_not_utf8(written, data, line):
    assert not_utf8(written("a.csv", data)).where.line == line
    assert not_utf8(written("a.csv.gz", gzip.compress(data))).where.line == line


def test_raw_bytes_are_unchecked(written):
    with raw_bytes(written("a.csv", b"a\x00b")) as file:
        assert file.read() == b"a\x00b"
