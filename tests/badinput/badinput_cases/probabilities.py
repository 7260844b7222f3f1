"""Probabilities that are none, as CSV and as votes."""

from __future__ import annotations

from badinput_cases.case import accepted, refused
from badinput_cases.csv_shape import COUNTS, DOUBT

HEAD = "item,annotator,p:cat,p:dog\na,x,0.25,0.75\n"
SMOOTH = ("transform", "bad.csv", "--by", "smooth", "-o", "out.parquet")
BELIEFS = ("transform", "bad.csv", "--by", "sparsify", "--k", "2", "-o", "out.parquet")


def _row(values: str) -> dict[str, bytes]:
    """Beliefs whose first row is sound and whose second holds `values`."""
    return {"bad.csv": f"{HEAD}b,x,{values}\n".encode()}


ROWS = tuple(
    refused(f"probs-{name}", _row(values), DOUBT, code, "bad.csv:3", *says)
    for name, values, code, says in (
        ("sum-too-small", "0.2,0.7", "bad-sum", ("0.9", "sum")),
        ("sum-too-large", "0.8,0.7", "bad-sum", ("1.5",)),
        ("sum-off-by-1e-4", "0.5001,0.5", "bad-sum", ("1.0001",)),
        ("negative", "-0.5,1.5", "negative", ("-0.5",)),
        ("above-one", "2,0", "bad-sum", ("2",)),
        ("percentages", "25,75", "percentages", ("divide them by 100",)),
        ("all-zero", "0,0", "all-zero", ("zeros",)),
        ("subnormal-sum", "5e-324,5e-324", "bad-sum", ()),
    )
)

NUMBERS = tuple(
    refused(f"probs-{name}", _row(f"0.5,{text}"), DOUBT, "bad-number", "bad.csv:3:p:dog", *says)
    for name, text, says in (
        ("nan", "NaN", ("'NaN'",)),
        ("infinite", "inf", ("'inf'",)),
        ("1e400", "1e400", ("1e400",)),
        ("percent-sign", "50%", ("percent sign",)),
        ("decimal-comma", '"0,5"', ("decimal point",)),
        ("word", "half", ("'half'",)),
        ("hexadecimal", "0x1p-1", ("0x1p-1",)),
        ("underscore", "0.5_0", ("0.5_0",)),
        ("full-width-digits", "０.５", ("０.５",)),
        ("arabic-digits", "٠.٥", ()),
        ("missing", "", ("fill in",)),
        ("missing-as-na", "NA", ("'NA'",)),
        ("fraction", "1/2", ("'1/2'",)),
        ("space-inside", "0. 5", ()),
        ("minus-sign-of-typography", "−0.5", ("−0.5",)),
        ("two-points", "0.5.0", ()),
        ("true", "True", ()),
        ("apostrophe", "'0.5", ()),
    )
)

SOUND = (
    accepted("probs-sum-off-by-1e-6", _row("0.500001,0.5"), DOUBT, {"item": ["a", "b"]}),
    accepted("probs-with-exponent", _row("2.5e-1,7.5E-1"), BELIEFS, {"probs": [[0.25, 0.75]] * 2}),
    accepted("probs-with-plus-and-bare-points", _row("+.25,.75"), BELIEFS, {"probs": [[0.25, 0.75]] * 2}),
    accepted("probs-as-small-as-can-be", _row("1e-400,1."), BELIEFS, {"probs": [[0.25, 0.75], [0.0, 1.0]]}),
    accepted("probs-with-300-digits", _row(f"0.25{'0' * 300},0.75"), BELIEFS, {"probs": [[0.25, 0.75]] * 2}),
)

TABLES = (
    refused(
        "probs-of-one-class", {"bad.csv": b"item,annotator,p:cat\na,x,1\n"}, DOUBT, "bad-classes", "bad.csv", "1 class"
    ),
    refused(
        "probs-of-a-nameless-class", {"bad.csv": b"item,annotator,p:cat,p:\na,x,1,0\n"}, DOUBT, "bad-classes", "bad.csv"
    ),
    refused(
        "probs-without-prefix",
        {"bad.csv": b"item,annotator,cat,dog\na,x,1,0\n"},
        DOUBT,
        "unknown-table",
        "bad.csv",
        "p:",
    ),
    refused(
        "probs-of-an-item-twice",
        {"bad.csv": b"item,p:cat,p:dog\na,1,0\na,0,1\n"},
        SMOOTH,
        "doubled-item",
        "bad.csv:3:item",
        "'a'",
    ),
    refused(
        "probs-behind-half-a-person",
        {"bad.csv": b"item,p:cat,p:dog,n_annotators\na,1,0,1\nb,1,0,1.5\n"},
        SMOOTH,
        "bad-count",
        "bad.csv:3:n_annotators",
    ),
)

VOTES = (
    refused("votes-negative", {"bad.csv": b"item,cat,dog\na,1,0\nb,2,-1\n"}, COUNTS, "bad-count", "bad.csv:3", "-1"),
    refused(
        "votes-fractional", {"bad.csv": b"item,cat,dog\na,1,0\nb,0.5,1\n"}, COUNTS, "bad-count", "bad.csv:3", "0.5"
    ),
    refused("votes-none", {"bad.csv": b"item,cat,dog\na,1,0\nb,0,0\n"}, COUNTS, "all-zero", "bad.csv:3", "'b'"),
    refused(
        "votes-as-words", {"bad.csv": b"item,cat,dog\na,1,0\nb,two,0\n"}, COUNTS, "bad-number", "bad.csv:3:cat", "'two'"
    ),
    refused(
        "votes-more-than-people", {"bad.csv": b"item,cat,dog\na,1,0\nb,1e19,0\n"}, COUNTS, "bad-count", "bad.csv:3"
    ),
)

CASES = (*ROWS, *NUMBERS, *SOUND, *TABLES, *VOTES)
