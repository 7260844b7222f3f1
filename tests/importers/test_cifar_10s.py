"""CIFAR-10S: every published elicitation, compared with the file field by field."""

from __future__ import annotations

import gzip
import json
from collections import Counter

import numpy as np
import pytest

from sfumato.importers import Cifar10SImporter
from sfumato.tables.errors import BadSetting, BadTable, SfumatoError

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
FILE = "elicitations.csv.gz"
HEADER = (
    "annotator,trial_index,image_index,true_label,most_probable,most_probable_pct_raw,second_probable,"
    "second_probable_pct_raw,impossible,is_repeat,rt_ms,batch\n"
)
GOOD = {
    "annotator": "0",
    "trial_index": "6",
    "image_index": "1128",
    "true_label": "4",
    "most_probable": "4",
    "most_probable_pct_raw": "80",
    "second_probable": "5",
    "second_probable_pct_raw": "10",
    "impossible": "",
    "is_repeat": "0",
    "rt_ms": "1500",
    "batch": "21",
}


def percent(typed: str) -> float | None:
    """A percent as typed, by the authors' reading."""
    try:
        return float({"8p": "80"}.get(typed, typed))
    except ValueError:
        return None


def payload_of(row: dict[str, str]) -> dict:
    second = int(row["second_probable"])
    return {
        "first": CLASSES[int(row["most_probable"])],
        "first_percent": percent(row["most_probable_pct_raw"]),
        "second": None if second == -1 else CLASSES[second],
        "second_percent": percent(row["second_probable_pct_raw"]),
        "impossible": [CLASSES[int(k)] for k in row["impossible"].split()],
    }


def plain(row: dict[str, str], purpose: str) -> dict:
    return {
        "item": row["image_index"],
        "annotator": row["annotator"],
        "kind": "top_two/1",
        "payload": payload_of(row),
        "trial": int(row["trial_index"]),
        "purpose": purpose,
        "started_at": None,
        "submitted_at": None,
        "seconds": float(row["rt_ms"]) / 1000,
    }


def without_second_upload(raw: list[dict[str, str]]) -> list[dict[str, str]]:
    first: dict[tuple[str, str], dict[str, str]] = {}
    for row in raw:
        first.setdefault((row["annotator"], row["trial_index"]), row)
    return list(first.values())


def test_first_pass_row_by_row(published, raw_rows, answers):
    raw = raw_rows(published / "cifar10s" / FILE)
    expected = [plain(row, "label") for row in without_second_upload(raw) if row["is_repeat"] == "0"]
    table = Cifar10SImporter().read(published / "cifar10s").table
    assert len(table) == len(expected) == 6_200
    assert answers(table) == expected
    assert (len(table.annotator.names), len(table.item.names)) == (248, 1_000)
    assert table.classes == CLASSES


def test_with_repeats_row_by_row(published, raw_rows, answers):
    raw = raw_rows(published / "cifar10s" / FILE)
    expected = [plain(row, ("label", "repeat")[int(row["is_repeat"])]) for row in without_second_upload(raw)]
    table = Cifar10SImporter(repeats=True).read(published / "cifar10s" / FILE).table
    assert len(table) == len(expected) == 6_696
    assert answers(table) == expected
    assert Counter(row["purpose"] for row in answers(table)) == {"label": 6_200, "repeat": 496}


def test_as_released_row_by_row(published, raw_rows, answers):
    raw = raw_rows(published / "cifar10s" / FILE)
    table = Cifar10SImporter(as_released=True).read(published / "cifar10s").table
    assert len(table) == len(raw) == 6_723
    assert answers(table) == [plain(row, "label") for row in raw]


def test_as_released_holds_the_answers_the_authors_parsed(published, answers):
    """Their JSON lists annotators in no fixed order, so the comparison is by image, as multisets."""
    with gzip.open(published / "cifar10s" / "human_soft_labels_data.json.gz", "rt") as file:
        theirs = json.load(file)
    ours: dict[str, Counter] = {}
    for row in answers(Cifar10SImporter(as_released=True).read(published / "cifar10s").table):
        answer = row["payload"]
        key = (
            answer["first"],
            answer["first_percent"] or 100,  # the authors read a first percent of 0 as 100; we keep what was typed
            answer["second"] or "no",
            answer["second_percent"] if answer["second"] else None,
            frozenset(answer["impossible"]),
        )
        ours.setdefault(row["item"], Counter())[key] += 1
    assert ours.keys() == theirs.keys()
    for item, parsed in theirs.items():
        expected = Counter(
            (
                one["Most Probable Class"].lower(),
                one["Most Probable Class Prob"],
                one["Second Most Probable Class"].lower(),
                None if one["Second Most Probable Class"] == "No" else one["Second Most Probable Class Prob"],
                frozenset(name.lower() for name in one["Impossible Class(es)"]),
            )
            for one in parsed
        )
        assert ours[item] == expected, item


def test_seconds_are_the_published_milliseconds(published, raw_rows):
    raw = raw_rows(published / "cifar10s" / FILE)
    table = Cifar10SImporter(as_released=True).read(published / "cifar10s").table
    assert np.array_equal(table.seconds, np.array([float(row["rt_ms"]) for row in raw]) / 1000)
    assert np.median(table.seconds) == pytest.approx(31.96, abs=0.005)


def test_original_labels_are_those_of_the_file(published, raw_rows):
    raw = raw_rows(published / "cifar10s" / FILE)
    original = Cifar10SImporter().read(published / "cifar10s").original
    by_item = dict(zip(original.items.to_pylist(), original.probs.argmax(axis=1).tolist(), strict=True))
    assert by_item == {row["image_index"]: int(row["true_label"]) for row in raw}
    assert len(by_item) == 1_000


def test_notes_say_what_was_left_out_and_read_otherwise(published):
    notes = " | ".join(Cifar10SImporter().read(published / "cifar10s").notes)
    assert "6,200 answers by 248 annotators about 1,000 items" in notes
    assert "6,723 rows: 498 repeats, 27 rows uploaded twice; 523 rows left out" in notes
    assert "1 percentage typed as '8p' was read as 80" in notes
    released = " | ".join(Cifar10SImporter(as_released=True).read(published / "cifar10s").notes)
    assert "all kept as labels, as released" in released


def test_odd_percents_in_a_small_file(written, answers):
    rows = (
        "0,6,1128,4,4,8p,-1,,0 1,0,1500,21\n",  # a slip the authors read as 80
        "0,7,8386,3,3,05,5,00,,0,2000.5,21\n",  # leading zeros
        "0,8,6962,7,7,,5,12.5,,0,0,21\n",  # no first percent, a broken one
        "0,9,6963,7,7,130,-1,p\\\\,9,0,1,21\n",  # no second class, so its percent may be anything
    )
    table = Cifar10SImporter().read(written("elicitations.csv", HEADER + "".join(rows))).table
    given = [
        {name: a["payload"][name] for name in ("first_percent", "second", "second_percent")} for a in answers(table)
    ]
    assert given == [
        {"first_percent": 80, "second": None, "second_percent": None},
        {"first_percent": 5, "second": "dog", "second_percent": 0},
        {"first_percent": None, "second": "dog", "second_percent": 12.5},
        {"first_percent": 130, "second": None, "second_percent": None},
    ]


def test_a_second_percent_that_is_used_must_be_a_number(written):
    text = HEADER + "0,6,1128,4,4,80,5,10,,0,1500,21\n\n0,7,8386,3,3,80,5,ten,,0,1500,21\n"
    with pytest.raises(BadTable, match="found 'ten'; expected a percent") as caught:
        Cifar10SImporter().read(written("elicitations.csv", text))
    assert (caught.value.where.line, caught.value.where.column) == (4, "second_probable_pct_raw")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("most_probable", "10"),
        ("most_probable_pct_raw", "nan"),
        ("most_probable_pct_raw", "inf"),
        ("impossible", "0 x"),
        ("impossible", "0 12"),
        ("rt_ms", "soon"),
        ("trial_index", "six"),
    ],
)
def test_a_field_that_cannot_be_read_names_its_line(written, field, value):
    lines = [",".join({**GOOD, "trial_index": "5"}.values()), ",".join({**GOOD, field: value}.values())]
    with pytest.raises(SfumatoError) as caught:
        Cifar10SImporter().read(written("elicitations.csv", HEADER + "\n".join(lines) + "\n"))
    assert (caught.value.where.line, caught.value.where.column) == (3, field)


def test_repeats_and_as_released_exclude_each_other():
    with pytest.raises(BadSetting, match="leave out repeats=True"):
        Cifar10SImporter(repeats=True, as_released=True)
