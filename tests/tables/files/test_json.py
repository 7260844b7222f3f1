"""JSON documents, read strictly."""

from __future__ import annotations

import gzip
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.tables.errors import BadFile, BadRows, BadTable
from sfumato.tables.files import read_document
from sfumato.tables.files.json import read_json

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=4)
    ),
    max_leaves=12,
)


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "BOM"])
def test_a_document_is_its_values(written, name, mark):
    value = {"a": [1, 2.5, None, True], "é": {"b": "x\ny", "a": ""}}
    data = mark + json.dumps(value, ensure_ascii=False).encode()
    assert read_document(written(name, gzip.compress(data) if name.endswith(".gz") else data)) == value


@settings(deadline=None)
@given(VALUES)
def test_what_json_writes_comes_back(tmp_path_factory, value):
    path = tmp_path_factory.getbasetemp() / "document.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    assert read_document(path) == value


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', '[{"b": {"a": 1, "c": 2, "a": 1}}]'], ids=["top", "inside"])
def test_a_doubled_key_is_refused(written, text):
    with pytest.raises(BadFile, match="found doubled key 'a'; expected each key once"):
        read_document(written("a.json", text))


def test_the_same_key_in_two_objects_is_fine(written):
    assert read_document(written("a.json", '[{"a": 1}, {"a": {"a": 2}}]')) == [{"a": 1}, {"a": {"a": 2}}]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[1,\n2,\nNaN]", 3),
        ("[1,\nInfinity]", 2),
        ("[1,\n-Infinity]", 2),
        ("{\n'a': 1}", 2),
        ('{"a": 1}\n{"b": 2}', 2),
        ("[1, 2]\n\nx", 3),
        ("[1,\n2,\n", 3),
        ('["a\nb"]', 1),
        ("item,annotator\n1,a\n", 1),
        ("[01]", 1),
        ("[1,]", 1),
        ("// comment\n[]", 1),
    ],
)
def test_what_is_no_json_names_its_line(written, text, line):
    path = written("a.json", text)
    with pytest.raises(BadFile, match="found text that is not JSON") as caught:
        read_document(path)
    assert (caught.value.code, caught.value.where.file, caught.value.where.line) == ("bad-json", str(path), line)


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000 + "]" * 100_000, '{"a":' * 100_000 + "1" + "}" * 100_000, "[" + "9" * 100_000 + "]", "[1e400]"],
    ids=["deep lists", "deep objects", "many digits", "beyond a double"],
)
def test_documents_made_to_break_readers_are_refused(written, text):
    with pytest.raises(BadFile) as caught:
        read_document(written("a.json", text))
    assert caught.value.code == "bad-json"


@pytest.mark.parametrize("data", [b'["\xff"]', b'["\xc3"]', '["é"]'.encode("latin-1")])
def test_text_must_be_utf8(written, data):
    with pytest.raises(BadFile) as caught:
        read_document(written("a.json", data))
    assert caught.value.code in ("bad-json", "not-utf8")


def test_a_nul_byte_names_its_line(written):
    with pytest.raises(BadFile) as caught:
        read_document(written("a.json", b'[1,\n"\x00"]'))
    assert (caught.value.code, caught.value.where.line) == ("nul-byte", 2)


@pytest.mark.parametrize("text", [" ", "\n\n"])
def test_nothing_but_blanks_is_refused(written, text):
    with pytest.raises(BadFile) as caught:
        read_document(written("a.json", text))
    assert caught.value.code == "bad-json"


def test_damaged_gzip_is_refused(written):
    whole = gzip.compress(json.dumps(list(range(1000))).encode())
    with pytest.raises(BadFile) as caught:
        read_document(written("a.json.gz", whole[:-20]))
    assert caught.value.code == "damaged"


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.ndjson", "a.json", "a.json.gz"])
def test_lines_are_values_with_their_lines(written, name):
    data = b'\n{"a": 1}\n\n{"a": 2}\r\n'
    content = read_json(written(name, gzip.compress(data) if name.endswith(".gz") else data))
    assert (content.value, content.lines) == ([{"a": 1}, {"a": 2}], (2, 4))
    assert content.where(1, "a", 0).line == 4
    assert content.where(1, "a", 0).column == "a/0"


def test_a_document_is_located_by_pointers(written):
    content = read_json(written("a.json", b'[{"a": 1},\n {"a": [2]}]'))
    assert content.records() == [{"a": 1}, {"a": [2]}]
    assert content.where(1, "a", 0).column == "/1/a/0"


def test_wrong_lines_are_reported_together(written):
    path = written("a.jsonl", b'{"a": 1}\n{"a": }\n{"a": 1, "a": 2}\n{"a": 3}\n[1\n')
    with pytest.raises(BadRows) as caught:
        read_json(path)
    assert [(each.code, each.where.line) for each in caught.value.mistakes] == [("bad-json", n) for n in (2, 3, 5)]


def test_a_line_that_is_no_object_is_named(written):
    with pytest.raises(BadTable) as caught:
        read_json(written("a.jsonl", b'{"a": 1}\n3\n')).records()
    assert (caught.value.code, caught.value.where.line) == ("bad-field", 2)
