"""CSV with text that others would change, run or show: ids like numbers, formulas, HTML, terminal escapes."""

from __future__ import annotations

from badinput_cases.building import OSC, crowd, written
from badinput_cases.case import accepted, refused, warned
from badinput_cases.csv_shape import CROWD, OWN, WIDE

NAMED = (*CROWD, "--classes", "cat,dog")
TO_CSV = ("import", "crowd", "bad.csv", "-o", "out.csv")
ODD_IDS = [
    "NA",
    "007",
    "1e5",
    "9007199254740993",
    "None",
    "nan",
    "null",
    "TRUE",
    "1_000",
    "0x1F",
    "1.0",
    "2026-01-31",
    "Infinity",
]
FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "'=1+1", "'plain", "''=1", "-", "=cmd|' /C calc'!A0"]
HOSTILE_IDS = [
    "<script>alert(1)</script>",
    "../../etc/passwd",
    "..\\..\\x",
    "/etc/shadow",
    "a\u202eb",
    "${HOME}",
    "`id`",
    "{{7*7}}",
]
HOSTILE_IDS = [
    "<script>alert(1)</script>",
    "../../etc/passwd",
    "..\\..\\x",
    "/etc/shadow",
    "a\u202eb",
    "${HOME}",
    "`id`",
    "{{7*7}}",
]
UNPRINTABLE = f"a{OSC}"


def _ids(names: list[str]) -> bytes:
    """Hard labels about the items named, by one person, in turn cat and dog."""
    rows = [(name, "x", "cat" if i % 2 else "dog") for i, name in enumerate(names)]
    return written([("item", "annotator", "label"), *rows])


def _with_column(name: str) -> bytes:
    """One answer with a further column."""
    head = ("item", "annotator", "kind", "payload", name)
    return written([head, ("a", "x", "choice/1", '{"class":"cat"}', "good")])


IDS = (
    accepted("csv-ids-kept-as-text", {"bad.csv": _ids(ODD_IDS)}, CROWD, {"item": ODD_IDS}),
    accepted("csv-ids-kept-as-text-in-csv", {"bad.csv": _ids(ODD_IDS)}, TO_CSV, {"item": ODD_IDS}, output="out.csv"),
    accepted(
        "csv-ids-like-numbers-in-wide",
        {"bad.csv": b"item,001,1e5\n007,cat,dog\n"},
        WIDE,
        {"item": ["007", "007"], "annotator": ["001", "1e5"]},
    ),
    accepted("csv-ids-hostile-kept", {"bad.csv": _ids(HOSTILE_IDS)}, CROWD, {"item": HOSTILE_IDS}),
    accepted("csv-formulas-kept", {"bad.csv": _ids(FORMULAS)}, CROWD, {"item": FORMULAS}),
    accepted(
        "csv-formulas-guarded-when-written",
        {"bad.csv": _ids(FORMULAS)},
        TO_CSV,
        {"item": ["'=1+1", "'+1", "'-1", "'@SUM(A1)", "''=1+1", "'plain", "'''=1", "'-", "'=cmd|' /C calc'!A0"]},
        output="out.csv",
    ),
    accepted(
        "csv-formulas-unguarded-when-read-back",
        {
            "bad.csv": written(
                [
                    ("item", "annotator", "kind", "payload"),
                    *(
                        (f"'{name}" if name.lstrip("'")[0] in "=+-@" else name, "x", "choice/1", '{"class":"cat"}')
                        for name in FORMULAS
                    ),
                ]
            )
        },
        (*OWN, "--classes", "cat,dog"),
        {"item": FORMULAS},
    ),
)

TERMINAL = (
    refused(
        "csv-escape-in-class",
        {"bad.csv": crowd("a,x,cat", f"b,x,{OSC}dog")},
        NAMED,
        "unknown-class",
        "bad.csv:3:label",
        "\\x1b",
    ),
    refused(
        "csv-escape-in-id",
        {"bad.csv": crowd(f"{UNPRINTABLE},x,cat", f"{UNPRINTABLE},x,cat", "b,x,dog")},
        CROWD,
        "duplicate-answer",
        "bad.csv:3",
        "\\x1b",
    ),
    refused(
        "csv-escape-in-column-at-fault",
        {
            "bad.csv": f"item,annotator,p:{OSC},p:dog\na,x,0.5,half\nb,x,half,0.5\n".replace(
                "0.5,half", "0.5,0.5"
            ).encode()
        },
        ("doubt", "bad.csv", "-o", "out.parquet"),
        "bad-number",
        "bad.csv:3",
        "'half'",
    ),
    refused(
        "csv-line-break-in-column-at-fault",
        {"bad.csv": b'item,annotator,"p:c\nat",p:dog\na,x,half,0.5\n'},
        ("doubt", "bad.csv", "-o", "out.parquet"),
        "bad-number",
        "bad.csv:3",
        "'half'",
    ),
    refused(
        "csv-escape-in-annotator-column",
        {"bad.csv": f"item,{OSC}\na,cat\nb,dgo\n".encode()},
        (*WIDE, "--classes", "cat,dog"),
        "unknown-class",
        "bad.csv:3",
    ),
    refused(
        "csv-escape-in-column-listed",
        {"bad.csv": f"item,{OSC}\na,cat\n".encode()},
        CROWD,
        "missing-column",
        "bad.csv",
        "\\x1b",
    ),
    accepted(
        "csv-escape-in-id-shown",
        {"bad.csv": f"item,annotator,p:cat,p:dog\n{UNPRINTABLE},x,0.5,0.5\n\u202eb,x,1,0\n".encode()},
        ("doubt", "bad.csv", "-o", "out.parquet"),
        {"item": [UNPRINTABLE, "\u202eb"]},
    ),
    accepted("csv-escape-in-class-noted", {"bad.csv": crowd(f"a,x,{OSC}", "b,x,dog")}, CROWD, {"item": ["a", "b"]}),
    warned(
        "csv-column-not-ours",
        {"bad.csv": _with_column("mood")},
        (*OWN, "--classes", "cat,dog"),
        {"item": ["a"]},
        "are ignored",
        "mood",
    ),
    warned(
        "csv-column-not-ours-with-escape",
        {"bad.csv": _with_column(OSC)},
        (*OWN, "--classes", "cat,dog"),
        {"item": ["a"]},
        "are ignored",
    ),
)

CASES = (*IDS, *TERMINAL)
