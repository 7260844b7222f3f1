"""CSV in and out: every field is text, every fault has its line."""

from __future__ import annotations

import csv
import gzip
import io

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.errors import BadFile, BadRows, BadTable, SfumatoError, SfumatoWarning
from sfumato.tables.files import read_rows
from sfumato.tables.files.csv import (
    BLOCK_BYTES,
    MAX_COLUMNS,
    guard_formula,
    line_of_row,
    read_chunks,
    read_header,
    unguard_formula,
    write_chunks,
)
from sfumato.tables.soft_labels import SoftLabels

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
AWKWARD = st.text("'=+-@\t\r\n\",x é", max_size=6)
ROW = st.tuples(TEXT | AWKWARD, TEXT | AWKWARD)


def cells(path) -> list[list[str]]:
    """Every field of every row, as our reader has them."""
    return [list(row.values()) for chunk in read_chunks(path, read_header(path)) for row in chunk.to_pylist()]


def plain(path) -> list[list[str]]:
    """Every field of every row, as Python's csv module has them."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        return [row for row in csv.reader(file) if row][1:]


# The header


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("item,p:cat\n1,1\n", ["item", "p:cat"]),
        ("item\n", ["item"]),
        ("item,annotator", ["item", "annotator"]),
        ("\ufeffitem,é\n", ["item", "é"]),
        ('"two\nlines","a,b","say ""x"""\n', ["two\nlines", "a,b", 'say "x"']),
        ("item,b\r\n", ["item", "b"]),
        ("item,b\r1,2\r", ["item", "b"]),
    ],
)
def test_names_of_the_columns(written, text, names):
    assert read_header(written("a.csv", text)) == names
    assert read_header(written("a.csv.gz", gzip.compress(text.encode()))) == names


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_another_separator_is_named(written, separator):
    with pytest.raises(BadTable) as caught:
        read_header(written("a.csv", separator.join(["item", "annotator"]) + "\n"))
    assert (caught.value.code, caught.value.where.line) == ("wrong-separator", 1)
    assert repr(separator) in caught.value.found


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("item,item\n", "doubled-column"),
        ("item,\n", "unnamed-column"),
        ("item, ,b\n", "unnamed-column"),
        ("\n1,2\n", "unnamed-column"),
        (",".join(f"c{i}" for i in range(MAX_COLUMNS + 1)) + "\n", "too-many-columns"),
    ],
    ids=["doubled", "empty", "blank", "no header", "too many"],
)
def test_a_header_that_is_none_is_refused(written, text, code):
    with pytest.raises(BadTable) as caught:
        read_header(written("a.csv", text))
    assert (caught.value.code, caught.value.where.line) == (code, 1)


def test_as_many_columns_as_allowed(written):
    names = [f"c{i}" for i in range(MAX_COLUMNS)]
    assert read_header(written("a.csv", ",".join(names) + "\n")) == names


def test_a_name_may_be_longer_than_pythons_limit_on_a_field(written):
    assert read_header(written("a.csv", f"item,{'x' * 200_000}\n")) == ["item", "x" * 200_000]
    assert csv.field_size_limit() == 131_072, "the limit is lifted only meanwhile"


# The rows


def test_every_field_is_text_as_typed(written):
    fields = ["007", "7", "1e5", "NA", "null", "nan", "", "true", "2020-01-01", " x ", "0x1F", "1_000", "９", "'=1"]
    names = [f"c{i}" for i in range(len(fields))]
    path = written("a.csv", f"{','.join(names)}\n{','.join(fields)}\n")
    assert cells(path) == [fields]
    (chunk,) = read_chunks(path, names)
    assert chunk.schema == pa.schema([(name, pa.string()) for name in names])


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_line_end(written, end):
    assert cells(written("a.csv", f"a,b{end}1,2{end}{end}3,4{end}")) == [["1", "2"], ["3", "4"]]


def test_mixed_line_ends_and_none_at_the_end(written):
    assert cells(written("a.csv", "a,b\r\n1,2\n3,4\r\n\n5,6")) == [["1", "2"], ["3", "4"], ["5", "6"]]


def test_a_byte_order_mark_is_no_part_of_a_name(written):
    assert cells(written("a.csv", "\ufeffa,b\n1,2\n")) == [["1", "2"]]


def write_with_python(path, rows, end: str = "\n") -> None:
    """Python's writer leaves a lone carriage return unquoted unless told to quote everything."""
    quoting = csv.QUOTE_ALL if any("\r" in cell for row in rows for cell in row) else csv.QUOTE_MINIMAL
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator=end, quoting=quoting).writerows([("a", "b"), *rows])


@settings(deadline=None)
@given(st.lists(ROW, max_size=6), st.sampled_from(["\n", "\r\n"]))
@example([("", ""), ('"', '""')], "\n")
@example([("\r", "\n"), ("\r\n", "\n\n")], "\r\n")
def test_what_python_writes_is_read_as_python_reads_it(tmp_path_factory, rows, end):
    path = tmp_path_factory.getbasetemp() / "python.csv"
    write_with_python(path, rows, end)
    assert cells(path) == [list(row) for row in rows] == plain(path)


@settings(deadline=None)
@given(st.lists(ROW, min_size=1, max_size=6), st.integers(256, 400))
@example([("", ""), ("0\r\n", "")], 256)
def test_blocks_do_not_cut_rows(tmp_path_factory, rows, block):
    """The same rows where a block holds but a few of them."""
    path = tmp_path_factory.getbasetemp() / "blocks.csv"
    rows = rows * 40
    write_with_python(path, rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato.tables.files.csv.BLOCK_BYTES", block)
        chunks = list(read_chunks(path, ["a", "b"]))
    assert len(chunks) > 1 or path.stat().st_size < 2 * block
    assert [tuple(row.values()) for chunk in chunks for row in chunk.to_pylist()] == rows


def test_a_field_of_many_lines_may_be_longer_than_what_is_left_of_a_block(written, monkeypatch):
    rows = [["x" * (i % 50), "one\ntwo\n\nfour, five"] for i in range(200)]
    path = written("a.csv", "a,b\n" + "".join(f'{a},"{b}"\n' for a, b in rows))
    monkeypatch.setattr("sfumato.tables.files.csv.BLOCK_BYTES", 128)
    assert cells(path) == rows


def test_a_line_end_inside_a_field_may_fall_between_two_blocks(written):
    """The carriage return is the last byte of the first block, the line feed the first of the second."""
    start, before = "a,b\n", '"u\r'
    rest = BLOCK_BYTES - len(start) - len(before)
    filler = "x,1\n" * (rest // 4 - 2)
    filler += f"{'y' * (rest - len(filler) - 3)},1\n"
    text = start + filler + before + '\nv",2\n'
    assert text.encode()[BLOCK_BYTES - 1 : BLOCK_BYTES + 1] == b"\r\n"
    assert cells(written("a.csv", text))[-1] == ["u\r\nv", "2"]


def test_a_header_alone_has_no_rows(written):
    assert cells(written("a.csv", "a,b\n")) == []
    assert cells(written("b.csv", "a,b\n\n\n")) == []


def test_a_header_without_a_line_end_has_no_rows(written):
    assert cells(written("a.csv", "a,b")) == []


# Lines


MULTI_LINE = 'a,b\n\n"1\n1\n1",2\n\n\n3,"4\r\n4"\n5,6\n'


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a,b\n1,2\n3,4\n", [2, 3]),
        (MULTI_LINE, [3, 8, 10]),
        ("\ufeffa,b\r\n1,2\r\n\r\n3,4", [2, 4]),
        ("a,b\r1,2\r3,4\r", [2, 3]),
        ('"a\na",b\n1,2\n3,4\n', [3, 4]),
        ('a\n""\n\nx\n', [2, 4]),
    ],
)
def test_the_line_on_which_a_row_begins(written, text, lines):
    path = written("a.csv", text)
    packed = written("a.csv.gz", gzip.compress(text.encode()))
    assert len(cells(path)) == len(lines)
    assert [line_of_row(path, row) for row in range(len(lines))] == lines
    assert [line_of_row(packed, row) for row in range(len(lines))] == lines


@settings(deadline=None)
@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=8), st.data())
def test_lines_are_those_of_an_editor(tmp_path_factory, rows, data):
    """Blank lines before each row at will; a row begins after as many line ends as stand before it."""
    text = "a,b\n"
    lines = []
    for row in rows:
        text += "\n" * data.draw(st.integers(0, 2))
        lines.append(text.count("\n") + 1)
        out = io.StringIO()
        csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL).writerow([cell.replace("\r", "") for cell in row])
        text += out.getvalue()
    path = tmp_path_factory.getbasetemp() / "lines.csv"
    path.write_bytes(text.encode())
    assert [line_of_row(path, row) for row in range(len(rows))] == lines


def test_a_line_is_found_behind_a_long_field(written):
    path = written("a.csv", f"a,b\n1,{'x' * 200_000}\n2,3\n")
    assert line_of_row(path, 1) == 3


@pytest.mark.parametrize(
    ("kind", "bad", "code", "column"),
    [
        (SoftLabels, '"7",0.5,x', "bad-number", "p:dog"),
        (SoftLabels, '"7",0.5,0.6', "bad-sum", None),
        (SoftLabels, '"7","0,5",0.5', "bad-number", "p:cat"),
        (SoftLabels, '"7",50%,0.5', "bad-number", "p:cat"),
        (SoftLabels, '"7",,1', "bad-number", "p:cat"),
        (SoftLabels, ",0.5,0.5", "empty-text", "item"),
        (SoftLabels, '"1\n1",0.5,0.5', "doubled-item", "item"),
        (SoftLabels, '"7",0.5', "ragged-row", None),
        (SoftLabels, '"7",0.5,0.5,1', "ragged-row", None),
    ],
)
@pytest.mark.parametrize("packed", [False, True], ids=["csv", "csv.gz"])
def test_faults_of_a_table_name_their_line(written, kind, bad, code, column, packed):
    text = f'item,p:cat,p:dog\n\n"1\n1",0.5,0.5\n\n"2",1,0\n{bad}\n"9",1,0\n'
    path = written("a.csv.gz", gzip.compress(text.encode())) if packed else written("a.csv", text)
    with pytest.raises(SfumatoError) as caught:
        kind.read(path)
    assert caught.value.code == code
    assert (caught.value.where.file, caught.value.where.line, caught.value.where.column) == (str(path), 7, column)


@pytest.mark.parametrize(
    ("column", "value", "code"),
    [
        ("payload", "{", "bad-payload"),
        ("payload", "[1]", "bad-payload"),
        ("trial", "1.5", "bad-number"),
        ("trial", "1e300", "bad-number"),
        ("trial", "first", "bad-number"),
        ("seconds", "-1", "bad-number"),
        ("seconds", "inf", "bad-number"),
        ("started_at", "yesterday", "bad-time"),
        ("purpose", "lable", "unknown-purpose"),
        ("purpose", "", "empty-text"),
        ("kind", "choice", "unknown-kind"),
    ],
)
def test_faults_of_annotations_name_their_line(written, column, value, code):
    good = {
        "item": "1",
        "annotator": "a",
        "kind": "choice/1",
        "payload": '{"class":\n "cat"}',
        "trial": "",
        "purpose": "label",
        "started_at": "",
        "submitted_at": "",
        "seconds": "",
    }
    path = written("a.csv", "")
    with path.open("w", newline="") as file:
        out = csv.DictWriter(file, list(good), lineterminator="\n")
        out.writeheader()
        out.writerow(good)
        file.write("\n")
        out.writerow({**good, column: value})
    with pytest.raises(SfumatoError) as caught:
        Annotations.read(path)
    assert caught.value.code == code
    assert (caught.value.where.line, caught.value.where.column) == (5, column)


def test_a_fault_behind_a_long_field_names_its_line(written):
    """A payload may be longer than the 128 kB at which Python's csv module gives up."""
    long = '"{""class"": ""' + "x" * 200_000 + '""}"'
    path = written("a.csv", f"item,annotator,kind,payload\n1,a,choice/1,{long}\n2,a,choice/1,oops\n")
    with pytest.raises(SfumatoError) as caught:
        Annotations.read(path)
    assert (caught.value.code, caught.value.where.line) == ("bad-payload", 3)


# Files that are no CSV


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ('a,b\n1,2\n3,"4\n5,6\n7,8\n', "unclosed-quote", 3),
        ('a,b\n1,"x""\n3,4\n', "unclosed-quote", 2),
        ('a,b\n1,"x"\n3,"y\n', "unclosed-quote", 3),
        ('a,b\n1,2\n3,4"\n', "bad-csv", 3),
        ('a,b\n1,5" tall\n3,4" tall\n', "bad-csv", 2),
    ],
)
def test_a_stray_quote_names_its_line(written, text, code, line):
    with pytest.raises(BadFile) as caught:
        cells(written("a.csv", text))
    assert (caught.value.code, caught.value.where.line) == (code, line)


@pytest.mark.parametrize("data", ["a,b\n1,2\né,4\n".encode("latin-1"), b"a,b\n1,2\n\xff,4\n"])
def test_text_that_is_not_utf8_names_its_line(written, data):
    with pytest.raises(BadFile) as caught:
        cells(written("a.csv", data))
    assert (caught.value.code, caught.value.where.line) == ("not-utf8", 3)


def test_a_header_that_is_not_utf8_names_its_line(written):
    with pytest.raises(BadFile) as caught:
        read_header(written("a.csv", "é,b\n1,2\n".encode("latin-1")))
    assert (caught.value.code, caught.value.where.line) == ("not-utf8", 1)


def test_bytes_that_are_not_utf8_far_down_name_their_line(written):
    path = written("a.csv", b"a,b\n" + b"some text,more text\n" * 300_000 + b"\xff,1\n")
    assert path.stat().st_size > BLOCK_BYTES
    with pytest.raises(BadFile) as caught:
        cells(path)
    assert (caught.value.code, caught.value.where.line) == ("not-utf8", 300_002)


def test_a_nul_byte_names_its_line(written):
    with pytest.raises(BadFile) as caught:
        cells(written("a.csv", b"a,b\n1,2\n\x00,4\n"))
    assert (caught.value.code, caught.value.where.line) == ("nul-byte", 3)


def test_a_row_longer_than_a_block_is_refused(written):
    path = written("a.csv", f'a,b\n1,2\n3,"{"x" * (2 * BLOCK_BYTES)}"\n')
    with pytest.raises(BadFile) as caught:
        cells(path)
    assert caught.value.code == "huge-field"


# Formulas


def write(table: pa.Table, path, *, compressed: bool = False) -> None:
    """`table` in chunks of two rows."""
    chunks = (table.slice(start, 2) for start in range(0, len(table), 2))
    write_chunks(table.schema, chunks, path, compressed=compressed)


@pytest.mark.parametrize(
    ("text", "guarded"),
    [
        ("=SUM(A1)", "'=SUM(A1)"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@x", "'@x"),
        ("\tx", "'\tx"),
        ("\rx", "'\rx"),
        ("'=x", "''=x"),
        ("''@x", "'''@x"),
        ("'x", "'x"),
        ("x=1", "x=1"),
        ("", ""),
        ("'", "'"),
        ("''", "''"),
    ],
)
def test_formulas_get_an_apostrophe(text, guarded):
    assert guard_formula(text) == guarded
    assert unguard_formula(guarded) == text


@settings(deadline=None)
@given(TEXT | AWKWARD)
def test_the_apostrophe_comes_off_again(text):
    guarded = guard_formula(text)
    assert unguard_formula(guarded) == text
    assert not guarded.startswith(tuple("=+-@\t\r"))


@settings(deadline=None)
@given(st.lists(TEXT | AWKWARD, min_size=1, max_size=6))
@example(["=1", "'=1", "''=1", "'", "x"])
def test_no_cell_of_a_written_file_is_a_formula(tmp_path_factory, texts):
    path = tmp_path_factory.getbasetemp() / "guarded.csv"
    write(pa.table({"=name": texts, "n": [-1.5] * len(texts)}), path)
    with path.open(encoding="utf-8", newline="") as file:
        assert next(csv.reader(file)) == ["'=name", "n"]
    assert [row[0] for row in plain(path)] == [guard_formula(text) for text in texts]
    assert not any(row[0].startswith(tuple("=+-@\t\r")) for row in plain(path))
    assert {row[1] for row in plain(path)} == {"-1.5"}, "numbers are numbers"
    (chunk,) = read_rows(path).chunks
    assert chunk.column("=name").to_pylist() == texts


def test_foreign_files_keep_their_apostrophes(written):
    path = written("a.csv", "a,'=b\n'=1,'x\n")
    rows = read_rows(path, guarded=False)
    assert rows.schema.names == ["a", "'=b"]
    assert [chunk.to_pylist() for chunk in rows.chunks] == [[{"a": "'=1", "'=b": "'x"}]]
    ours = read_rows(path)
    assert ours.schema.names == ["a", "=b"]
    assert [chunk.to_pylist() for chunk in ours.chunks] == [[{"a": "=1", "=b": "'x"}]]


@pytest.mark.parametrize("compressed", [False, True])
def test_a_written_file_is_plain_or_gzip(tmp_path, compressed):
    path = tmp_path / ("a.csv.gz" if compressed else "a.csv")
    write(pa.table({"item": ["é\n1"], "n": pa.nulls(1, pa.float64())}), path, compressed=compressed)
    data = gzip.decompress(path.read_bytes()) if compressed else path.read_bytes()
    assert list(csv.reader(io.StringIO(data.decode("utf-8"), newline=""))) == [["item", "n"], ["é\n1", ""]]


def test_a_table_that_is_written_reads_as_beliefs_in_any_spreadsheet(tmp_path):
    path = tmp_path / "a.csv"
    Beliefs.from_numpy(["1", "2"], ["a", "b"], [[0.25, 0.75], [1, 0]], ("cat", "a,b")).write(path)
    with path.open(newline="") as file:
        assert list(csv.reader(file)) == [
            ["item", "annotator", "p:cat", "p:a,b"],
            ["1", "a", "0.25", "0.75"],
            ["2", "b", "1", "0"],
        ]


def test_a_long_field_of_many_lines_across_a_block_is_read_at_once(written):
    filler = "x,1\n" * (BLOCK_BYTES // 4 - 50_000)
    long = '"' + "y\n" * 450_000 + '"'
    path = written("a.csv", f"a,b\n{filler}{long},2\nz,3\n")
    rows = [row for chunk in read_chunks(path, ["a", "b"]) for row in chunk.to_pylist()]
    assert len(rows) == filler.count("\n") + 2
    assert rows[-1] == {"a": "z", "b": "3"}


def test_carriage_returns_end_lines_even_beside_a_quoted_line_feed(written):
    n = BLOCK_BYTES // 4
    path = written("a.csv", "a,b\r" + 'x,"1\n1"\r' + "y,2\r" * n)
    assert sum(len(chunk) for chunk in read_chunks(path, ["a", "b"])) == n + 1


@pytest.mark.parametrize(("delimiter", "name"), [(";", "a.csv"), ("|", "a.csv"), ("\t", "a.csv"), (None, "a.tsv")])
def test_other_delimiters_are_read_when_named(written, delimiter, name):
    mark = delimiter or "\t"
    path = written(name, f'item{mark}text\n1{mark}"a{mark}""b"""\n2{mark}x,y\n'.encode())
    rows = read_rows(path, delimiter=delimiter)
    assert pa.concat_tables(rows.chunks).to_pylist() == [
        {"item": "1", "text": f'a{mark}"b"'},
        {"item": "2", "text": "x,y"},
    ]
    assert rows.where(1).line == 3


def test_a_wrong_delimiter_names_the_option(written):
    with pytest.raises(BadTable, match='import it with delimiter="tab"'):
        read_header(written("a.csv", "item\tlabel\n"))
    with pytest.raises(BadTable, match="expected columns separated by ';'; fix: import it with delimiter=','"):
        read_header(written("a.csv", "item,label\n"), ";")


@pytest.mark.parametrize(
    ("name", "header", "said"),
    [
        ("a.csv", 'item;"a,b"', "';'"),
        ("a.csv", '"item";"x;y"', "';'"),
        ("a.csv.gz", "item\ttext", "tab"),
        ("a.tsv", "item,text", "','"),
    ],
)
def test_the_only_separator_in_the_header_is_used_and_said(written, name, header, said):
    mark = {"tab": "\t"}.get(said, said[1:2])
    data = f"{header}\na{mark}1\n".encode()
    path = written(name, gzip.compress(data) if name.endswith(".gz") else data)
    with pytest.warns(SfumatoWarning, match=f"{name}: columns are separated by {said}"):
        rows = read_rows(path)
    assert [list(row.values()) for row in pa.concat_tables(rows.chunks).to_pylist()] == [["a", "1"]]
    assert rows.where(0).line == 2


@pytest.mark.parametrize("header", ["item;annotator|label", "item\tannotator;label"])
def test_two_possible_separators_are_not_guessed(written, header):
    with pytest.raises(BadTable, match=r"a header separated by '.*' or '.*'") as caught:
        read_rows(written("a.csv", f"{header}\n".encode()))
    assert caught.value.code == "wrong-separator"


def test_faults_of_the_header_and_of_rows_are_reported_together(written):
    with pytest.raises(BadRows) as caught:
        read_rows(written("a.csv", b"item,,item\na,b\nc,d,e\nf\n"))
    found = [(each.code, each.where.line) for each in caught.value.mistakes]
    assert found == [("doubled-column", 1), ("unnamed-column", 1), ("ragged-row", 2), ("ragged-row", 4)]


def test_rows_of_wrong_length_are_reported_together(written):
    rows = read_rows(written("a.csv", "a,b\n1\n1,2\n1,2,3\n"))
    with pytest.raises(BadRows) as caught:
        list(rows.chunks)
    assert [(each.code, each.where.line) for each in caught.value.mistakes] == [("ragged-row", 2), ("ragged-row", 4)]
