"""CSV whose shape is right and whose names and fields are wrong: classes, answers given twice, times, trials."""

from __future__ import annotations

from datetime import UTC, datetime

from badinput_cases.building import answers, crowd
from badinput_cases.case import accepted, refused
from badinput_cases.csv_shape import COUNTS, CROWD, OWN, WIDE

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
NAMED = (*CROWD, "--classes", "cat,dog")

NAMES = (
    refused(
        "csv-class-misspelt",
        {"bad.csv": crowd("a,x,cat", "b,x,dgo")},
        NAMED,
        "unknown-class",
        "bad.csv:3:label",
        "did you mean 'dog'?",
    ),
    refused(
        "csv-class-in-capitals",
        {"bad.csv": crowd("a,x,cat", "b,x,DOG")},
        NAMED,
        "unknown-class",
        "bad.csv:3:label",
        "did you mean 'dog'?",
    ),
    refused(
        "csv-class-with-space",
        {"bad.csv": crowd("a,x,cat", "b,x,dog ")},
        NAMED,
        "unknown-class",
        "bad.csv:3:label",
        "'dog '",
        "did you mean 'dog'?",
    ),
    refused(
        "csv-class-cyrillic",
        {"bad.csv": crowd("a,x,dog", "b,x,c\u0430t")},
        NAMED,
        "unknown-class",
        "bad.csv:3:label",
        "did you mean 'cat'?",
        "CYRILLIC",
    ),
    refused(
        "csv-class-mostly-cyrillic",
        {"bad.csv": crowd("a,x,dog", "b,x,\u0441\u0430t")},
        NAMED,
        "unknown-class",
        "bad.csv:3:label",
        "did you mean 'cat'?",
        "CYRILLIC",
    ),
    refused(
        "csv-class-full-width",
        {"bad.csv": crowd("a,x,dog", "b,x,ｃａｔ")},
        NAMED,
        "unknown-class",
        "bad.csv:3:label",
        "did you mean 'cat'?",
        "FULLWIDTH",
    ),
    refused(
        "csv-class-right-to-left",
        {"bad.csv": crowd("a,x,dog", "b,x,\u202ecat")},
        NAMED,
        "unknown-class",
        "bad.csv:3:label",
        "did you mean 'cat'?",
        "RIGHT-TO-LEFT OVERRIDE",
    ),
    refused(
        "csv-class-zero-width-space",
        {"bad.csv": crowd("a,x,dog", "b,x,c\u200bat")},
        NAMED,
        "unknown-class",
        "bad.csv:3:label",
        "did you mean 'cat'?",
        "ZERO WIDTH SPACE",
    ),
    refused(
        "csv-class-unknown-in-wide",
        {"bad.csv": b"item,x,y\na,cat,dog\nb,cat,dgo\n"},
        (*WIDE, "--classes", "cat,dog"),
        "unknown-class",
        "bad.csv:3:y",
        "did you mean 'dog'?",
    ),
    refused("csv-one-class", {"bad.csv": crowd("a,x,cat", "b,x,cat")}, CROWD, "bad-classes", "bad.csv", "1 class"),
    refused("csv-one-class-in-counts", {"bad.csv": b"item,cat\na,1\n"}, COUNTS, "bad-classes", "bad.csv", "1 class"),
    refused(
        "csv-label-of-5000-digits",
        {"bad.csv": crowd("a,x,1", f"b,x,{'1' * 5000}")},
        (*CROWD, "--classes", "1,2"),
        "unknown-class",
        "bad.csv:3:label",
    ),
    accepted(
        "csv-labels-of-5000-digits-as-classes",
        {"bad.csv": crowd("a,x,1", f"b,x,{'1' * 5000}")},
        CROWD,
        {"item": ["a", "b"]},
    ),
    refused(
        "csv-answer-twice",
        {"bad.csv": crowd("a,x,cat", "b,x,dog", "a,x,dog")},
        CROWD,
        "duplicate-answer",
        "bad.csv:4",
        "'x'",
        "'a'",
        "--repeats",
    ),
    accepted(
        "csv-answer-twice-kept",
        {"bad.csv": crowd("a,x,cat", "b,x,dog", "a,x,dog")},
        (*CROWD, "--repeats"),
        {"purpose": ["label", "label", "repeat"]},
    ),
    refused(
        "csv-item-twice-in-wide",
        {"bad.csv": b"item,x\na,cat\nb,dog\na,dog\n"},
        WIDE,
        "doubled-item",
        "bad.csv:4:item",
        "'a'",
    ),
    refused(
        "csv-item-twice-in-counts",
        {"bad.csv": b"item,cat,dog\na,1,2\nb,1,2\na,2,1\n"},
        COUNTS,
        "doubled-item",
        "bad.csv:4",
        "'a'",
    ),
    refused(
        "csv-truth-two-for-an-item",
        {"bad.csv": b"item,annotator,label,truth\na,x,cat,cat\na,y,dog,dog\n"},
        (*CROWD, "--truth", "truth"),
        "doubled-item",
        "bad.csv",
        "'a'",
        "truth",
    ),
)


def _with(column: str, value: str) -> bytes:
    """Two answers with a further column: a sound first row, `value` in the second."""
    sound = {"trial": "1", "seconds": "1.5", "started_at": "2026-01-31T12:00:00Z", "purpose": "label"}[column]
    head, first, second = answers('{"class":"cat"}', '{"class":"dog"}').decode().splitlines()
    return f"{head},{column}\n{first},{sound}\n{second},{value}\n".encode()


FIELDS = (
    *(
        refused(f"csv-{column}-{name}", {"bad.csv": _with(column, value)}, OWN, code, f"bad.csv:3:{column}", *says)
        for column, name, value, code, says in (
            ("trial", "fractional", "1.5", "bad-number", ("1.5",)),
            ("trial", "a-word", "first", "bad-number", ("'first'",)),
            ("trial", "beyond-64-bits", "1e300", "bad-number", ()),
            ("seconds", "negative", "-1", "bad-number", ("-1",)),
            ("seconds", "infinite", "1e400", "bad-number", ("1e400",)),
            ("seconds", "decimal-comma", '"1,5"', "bad-number", ("'1,5'", "decimal point")),
            ("started_at", "no-such-day", "2026-02-30T12:00:00Z", "bad-time", ("2026-02-30",)),
            ("started_at", "other-order", "31.01.2026 12:00", "bad-time", ("ISO 8601",)),
            ("purpose", "misspelt", "labl", "unknown-purpose", ("did you mean 'label'?",)),
        )
    ),
    accepted(
        "csv-trial-above-2-to-the-53",
        {"bad.csv": _with("trial", "9007199254740993")},
        OWN,
        {"trial": [1, 9007199254740993]},
    ),
    *(
        accepted(f"csv-time-{name}", {"bad.csv": _with("started_at", text)}, OWN, {"started_at": [NOON, NOON]})
        for name, text in (
            ("with-another-zone", "2026-01-31T14:00:00+02:00"),
            ("with-a-space", "2026-01-31 12:00:00.000Z"),
            ("without-a-zone", "2026-01-31T12:00:00"),
        )
    ),
    accepted("csv-seconds-missing", {"bad.csv": _with("seconds", "")}, OWN, {"seconds": [1.5, None]}),
    refused(
        "csv-kind-misspelt",
        {"bad.csv": answers('{"class":"cat"}', kind="choise/1")},
        OWN,
        "unknown-kind",
        "bad.csv:2:kind",
        "did you mean 'choice/1'?",
    ),
    refused(
        "csv-kind-of-another-version",
        {"bad.csv": answers('{"class":"cat"}', kind="choice/2")},
        OWN,
        "unknown-kind",
        "bad.csv:2:kind",
        "choice/1",
    ),
)

CASES = (*NAMES, *FIELDS)
