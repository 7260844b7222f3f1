"""CSV whose shape is wrong: nothing in it, columns, quotes, bytes, sizes."""

from __future__ import annotations

from badinput_cases.building import answers, crowd, written
from badinput_cases.case import accepted, refused

CROWD = ("import", "crowd", "bad.csv", "-o", "out.parquet")
OWN = ("import", "annotations", "bad.csv", "-o", "out.parquet")
WIDE = ("import", "wide", "bad.csv", "-o", "out.parquet")
COUNTS = ("import", "counts", "bad.csv", "-o", "out.parquet")
DOUBT = ("doubt", "bad.csv", "-o", "out.parquet")
TWO_ANSWERS = {"item": ["a", "b"], "payload": ['{"class": "cat"}', '{"class": "dog"}']}
SOUND = crowd("a,x,cat", "b,x,dog")

NOTHING = (
    refused("csv-empty", {"bad.csv": b""}, CROWD, "empty-file", "bad.csv"),
    refused("csv-blank-lines-only", {"bad.csv": b"\n\n\n"}, CROWD, "unnamed-column", "bad.csv:1"),
    refused("csv-byte-order-mark-only", {"bad.csv": b"\xef\xbb\xbf"}, CROWD, "unnamed-column", "bad.csv"),
    refused("csv-header-only-crowd", {"bad.csv": crowd()}, CROWD, "no-rows", "bad.csv"),
    refused(
        "csv-header-only-screen",
        {"bad.csv": b"item,annotator,kind,payload\n"},
        ("screen", "bad.csv", "-o", "out.parquet"),
        "no-rows",
        "bad.csv",
    ),
    refused("csv-header-only-wide", {"bad.csv": b"item,x,y\n"}, WIDE, "no-rows", "bad.csv"),
    refused("csv-header-only-counts", {"bad.csv": b"item,cat,dog\n"}, COUNTS, "no-rows", "bad.csv"),
    refused("csv-header-only-doubt", {"bad.csv": b"item,annotator,p:cat,p:dog\n"}, DOUBT, "no-rows", "bad.csv"),
)

COLUMNS = (
    refused(
        "csv-column-missing", {"bad.csv": b"item,label\na,cat\n"}, CROWD, "missing-column", "bad.csv", "--annotator"
    ),
    refused(
        "csv-column-misspelt",
        {"bad.csv": answers('{"class":"cat"}').replace(b"annotator", b"anotator")},
        OWN,
        "missing-column",
        "bad.csv",
        "did you mean 'anotator'?",
    ),
    refused(
        "csv-column-named-by-option-missing",
        {"bad.csv": SOUND},
        (*CROWD, "--label", "lable"),
        "missing-column",
        "bad.csv",
        "did you mean 'label'?",
    ),
    refused(
        "csv-column-doubled",
        {"bad.csv": b"item,annotator,label,label\na,x,cat,dog\n"},
        CROWD,
        "doubled-column",
        "bad.csv:1",
        "label",
    ),
    refused(
        "csv-column-unnamed", {"bad.csv": b"item,annotator,label,\na,x,cat,\n"}, CROWD, "unnamed-column", "bad.csv:1"
    ),
    refused("csv-row-short", {"bad.csv": crowd("a,x,cat", "b,x")}, CROWD, "ragged-row", "bad.csv:3", "2 fields"),
    refused("csv-row-long", {"bad.csv": crowd("a,x,cat", "b,x,dog,1")}, CROWD, "ragged-row", "bad.csv:3", "4 fields"),
    refused(
        "csv-row-short-after-quoted-line-break",
        {"bad.csv": crowd('"a\n1",x,cat', "b,x")},
        CROWD,
        "ragged-row",
        "bad.csv:4",
    ),
    refused(
        "csv-payload-with-comma-not-quoted",
        {"bad.csv": b'item,annotator,kind,payload\na,x,sliders/1,{"cat":1,"dog":0}\n'},
        OWN,
        "bad-csv",
        "bad.csv:2",
        "quote",
    ),
    refused(
        "csv-20000-columns",
        {"bad.csv": written([["item", *(f"p{i}" for i in range(19_999))], ["a"] * 20_000])},
        WIDE,
        "too-many-columns",
        "bad.csv:1",
        "20,000",
    ),
    refused("csv-wide-item-column-only", {"bad.csv": b"item\na\nb\n"}, WIDE, "no-rows", "bad.csv"),
    refused("csv-counts-item-column-only", {"bad.csv": b"item\na\nb\n"}, COUNTS, "bad-classes", "bad.csv"),
    refused(
        "csv-separator-two",
        {"bad.csv": SOUND.replace(b",", b";", 1).replace(b",", b"|")},
        CROWD,
        "wrong-separator",
        "bad.csv:1",
        "commas",
    ),
)

QUOTES = (
    refused("csv-quote-unclosed", {"bad.csv": crowd("a,x,cat", '"b,x,dog')}, CROWD, "unclosed-quote", "bad.csv:3"),
    refused(
        "csv-quote-unclosed-in-header",
        {"bad.csv": b'"item,annotator,label\na,x,cat\n'},
        CROWD,
        "unclosed-quote",
        "bad.csv:1",
    ),
    # Two open quotes close each other: read leniently, two rows become one and an answer is lost without a word.
    refused(
        "csv-two-quotes-unclosed", {"bad.csv": crowd('"a,x,cat', '"b,x,dog', "c,x,cat")}, CROWD, "bad-csv", "bad.csv:"
    ),
    refused(
        "csv-quotes-inside-unquoted-payload",
        {"bad.csv": b'item,annotator,kind,payload\na,x,choice/1,{"class":"cat"}\n'},
        OWN,
        "bad-csv",
        "bad.csv:2",
        "quote",
    ),
    accepted(
        "csv-quotes-doubled-in-quoted-payload",
        {"bad.csv": b'item,annotator,kind,payload\na,x,choice/1,"{""class"":""cat""}"\n'},
        (*OWN, "--classes", "cat,dog"),
        {"payload": ['{"class":"cat"}']},
    ),
)

BYTES = (
    accepted("csv-byte-order-mark", {"bad.csv": b"\xef\xbb\xbf" + SOUND}, CROWD, TWO_ANSWERS),
    refused("csv-utf-16", {"bad.csv": SOUND.decode().encode("utf-16")}, CROWD, "not-utf8", "bad.csv", "UTF-8"),
    refused("csv-utf-16-unmarked", {"bad.csv": SOUND.decode().encode("utf-16-le")}, CROWD, "nul-byte", "bad.csv:1"),
    refused(
        "csv-latin-1-in-a-row",
        {"bad.csv": crowd("a,x,cat", "b,René,dog").decode().encode("latin-1")},
        CROWD,
        "not-utf8",
        "bad.csv:3",
        "UTF-8",
    ),
    refused(
        "csv-latin-1-in-the-header",
        {"bad.csv": crowd("a,x,cat", head="item,annotator,label,Größe").decode().encode("latin-1")},
        CROWD,
        "not-utf8",
        "bad.csv:1",
    ),
    refused("csv-nul-byte", {"bad.csv": crowd("a,x,cat", "b\0,x,dog")}, CROWD, "nul-byte", "bad.csv:3"),
    accepted("csv-line-ends-mixed", {"bad.csv": b"item,annotator,label\r\na,x,cat\nb,x,dog\r"}, CROWD, TWO_ANSWERS),
    accepted("csv-line-ends-of-old-macs", {"bad.csv": SOUND.replace(b"\n", b"\r")}, CROWD, TWO_ANSWERS),
    accepted("csv-blank-lines-between", {"bad.csv": SOUND.replace(b"\n", b"\n\n")}, CROWD, TWO_ANSWERS),
    refused(
        "csv-fault-after-blank-lines",
        {"bad.csv": crowd("a,x,cat", "", "", "b,x,dgo")},
        (*CROWD, "--classes", "cat,dog"),
        "unknown-class",
        "bad.csv:5:label",
    ),
)

# The fault comes while the reader is still fetching what follows: the command must end all the same.
LONG = (
    refused(
        "csv-row-short-before-20-mb",
        {"bad.csv": crowd("a,x") + b"b,x,dog\n" * 2_500_000},
        CROWD,
        "ragged-row",
        "bad.csv:2",
    ),
    refused(
        "csv-number-bad-before-20-mb",
        {"bad.csv": b"item,annotator,p:cat,p:dog\na,x,half,0.5\n" + b"b,x,0.5,0.5\n" * 1_700_000},
        DOUBT,
        "bad-number",
        "bad.csv:2:p:cat",
    ),
    refused(
        "csv-nul-byte-after-5-mb",
        {"bad.csv": crowd("a,x,cat") + b"b,x,dog\n" * 600_000 + b"c,\0,dog\n"},
        CROWD,
        "nul-byte",
        "bad.csv:600003",
    ),
)

SIZES = (
    refused(
        "csv-field-of-10-mb", {"bad.csv": crowd("a,x,cat", f"{'b' * 10**7},x,dog")}, CROWD, "huge-field", "bad.csv:3"
    ),
    refused(
        "csv-header-field-of-5-mb",
        {"bad.csv": crowd("a,x,cat,1", head=f"item,annotator,label,{'n' * 5_000_000}")},
        CROWD,
        "huge-field",
        "bad.csv:1",
    ),
    refused(
        "csv-fault-after-a-field-of-200-kb",
        {"bad.csv": crowd(f"{'a' * 200_000},x,cat", "b,x,dgo")},
        (*CROWD, "--classes", "cat,dog"),
        "unknown-class",
        "bad.csv:3:label",
        "did you mean 'dog'?",
    ),
    accepted(
        "csv-id-of-100-kb",
        {"bad.csv": crowd(f"{'a' * 100_000},x,cat", "b,x,dog")},
        CROWD,
        {"item": ["a" * 100_000, "b"]},
    ),
    accepted(
        "csv-wide-20000-items",
        {"bad.csv": written([("item", "x"), *((f"i{i}", "cat" if i % 2 else "dog") for i in range(20_000))])},
        WIDE,
        {"item": [f"i{i}" for i in range(20_000)]},
    ),
    refused("csv-id-empty", {"bad.csv": crowd("a,x,cat", ",x,dog")}, CROWD, "empty-text", "bad.csv:3:item"),
    refused("csv-id-blank", {"bad.csv": crowd("a,x,cat", "  ,x,dog")}, CROWD, "empty-text", "bad.csv:3:item"),
    refused("csv-payload-empty", {"bad.csv": answers('{"class":"cat"}', "")}, OWN, "empty-text", "bad.csv:3:payload"),
)

CASES = (*NOTHING, *COLUMNS, *QUOTES, *BYTES, *LONG, *SIZES)
