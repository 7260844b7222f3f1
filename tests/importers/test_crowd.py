"""Long tables of hard labels: published crowd sets, column names, classes, ids and repeats."""

from __future__ import annotations

import csv
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.importers import CrowdImporter
from sfumato.tables.errors import BadTable, SfumatoError, SfumatoWarning, UnknownName

PUBLISHED = ("bluebird", "dog", "rte", "weather-cf", "sentiment-sp-amt", "face-sentiment")
SIZES = {
    "bluebird": (108, 39, 4_212, 2),
    "dog": (807, 109, 8_070, 4),
    "rte": (800, 164, 8_000, 2),
    "weather-cf": (300, 461, 1_720, 5),
    "sentiment-sp-amt": (500, 143, 10_000, 2),
    "face-sentiment": (584, 27, 5_242, 4),
}


def triples(table, answers) -> list[tuple[str, str, str]]:
    return [(a["item"], a["annotator"], a["payload"]["class"]) for a in answers(table)]


# Published sets


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_sets_row_by_row(published, raw_rows, answers, name):
    path = published / "crowd" / f"{name}.csv.gz"
    raw = raw_rows(path)
    table = CrowdImporter().read(path).table
    assert triples(table, answers) == [(row["item"], row["worker"], row["label"]) for row in raw]
    assert (len(table.item.names), len(table.annotator.names), len(table), len(table.classes)) == SIZES[name]
    assert table.classes == tuple(sorted({row["label"] for row in raw}, key=int))
    assert {a["kind"] for a in answers(table)} == {"choice/1"}
    assert {a["purpose"] for a in answers(table)} == {"label"}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_truths(published, raw_rows, name):
    path = published / "crowd" / f"{name}.csv.gz"
    original = CrowdImporter(truth="truth").read(path).original
    named = [original.classes[k] for k in original.probs.argmax(axis=1)]
    assert set(np.unique(original.probs)) == {0.0, 1.0}
    assert dict(zip(original.items.to_pylist(), named, strict=True)) == {
        row["item"]: row["truth"] for row in raw_rows(path) if row["truth"] != "-1"
    }


def test_the_anaesthetists_answered_some_patients_three_times(published, raw_rows, answers):
    """Dawid and Skene's data: the first of five rates every patient three times."""
    path = published / "crowd" / "anesthesia.csv.gz"
    raw = raw_rows(path)
    seen: set[tuple[str, str]] = set()
    expected, first_repeat = [], None
    for line, row in enumerate(raw, 2):
        pair = (row["item"], row["worker"])
        if pair in seen and first_repeat is None:
            first_repeat = line
        expected.append((*pair, row["label"], "repeat" if pair in seen else "label"))
        seen.add(pair)
    with pytest.raises(BadTable) as caught:
        CrowdImporter().read(path)
    assert caught.value.code == "duplicate-answer"
    assert caught.value.where.line == first_repeat == 3
    imported = CrowdImporter(repeats=True).read(path)
    assert [
        (a["item"], a["annotator"], a["payload"]["class"], a["purpose"]) for a in answers(imported.table)
    ] == expected
    assert Counter(row[3] for row in expected) == {"label": 225, "repeat": 90}
    assert any(note.startswith("90 second answers") for note in imported.notes)
    assert "columns not read: replicate" in imported.notes


# Columns


@pytest.mark.parametrize("header", ["item,annotator,label", "task,worker,label", "item,worker,class"])
def test_known_names_are_found(written, answers, header):
    imported = CrowdImporter().read(written("a.csv", f"{header}\n1,a,cat\n2,a,dog\n1,b,dog\n"))
    assert triples(imported.table, answers) == [("1", "a", "cat"), ("2", "a", "dog"), ("1", "b", "dog")]
    item, annotator, label = header.split(",")
    assert f"read as item: {item}, annotator: {annotator}, label: {label}" in imported.notes


def test_our_own_names_come_before_crowd_kits(written, answers):
    text = "task,item,worker,annotator,class,label\nt,1,w,a,x,cat\nt,2,w,a,x,dog\n"
    imported = CrowdImporter().read(written("a.csv", text))
    assert triples(imported.table, answers) == [("1", "a", "cat"), ("2", "a", "dog")]
    assert "columns not read: task, worker, class" in imported.notes


def test_other_names_are_settings(written, answers):
    text = "who,what,said,item\na,1,cat,zzz\nb,1,dog,zzz\n"
    imported = CrowdImporter(item="what", annotator="who", label="said").read(written("a.csv", text))
    assert triples(imported.table, answers) == [("1", "a", "cat"), ("1", "b", "dog")]


@pytest.mark.parametrize(
    ("header", "role", "names"),
    [
        ("thing,annotator,label", "item", "item or task"),
        ("item,who,label", "annotator", "annotator or worker"),
        ("item,annotator,said", "label", "label or class"),
    ],
)
def test_a_role_without_a_column_says_how_to_name_it(written, header, role, names):
    with pytest.raises(BadTable, match=f"a column for the {role}: {names}; fix: .*{role}=NAME") as caught:
        CrowdImporter().read(written("a.csv", f"{header}\n1,a,cat\n"))
    assert caught.value.code == "missing-column"


def test_a_setting_that_names_no_column_is_corrected(written):
    with pytest.raises(BadTable, match="did you mean 'annotator'") as caught:
        CrowdImporter(annotator="anotator").read(written("a.csv", "item,annotator,label\n1,a,cat\n"))
    assert caught.value.code == "missing-column"


# Classes


def test_numbers_are_ordered_by_value(written):
    rows = "".join(f"{i},a,{label}\n" for i, label in enumerate(["10", "9", "2", "100", "0"]))
    imported = CrowdImporter().read(written("a.csv", "item,annotator,label\n" + rows))
    assert imported.table.classes == ("0", "2", "9", "10", "100")
    assert "classes as found: 0, 2, 9, 10, 100 (set names and order with --classes)" in imported.notes


def test_text_is_ordered_as_text_after_numbers(written):
    labels = ["zebra", "Ape", "10", "9", "ape", "-1", "émeu"]
    rows = "".join(f"{i},a,{label}\n" for i, label in enumerate(labels))
    with pytest.warns(SfumatoWarning, match="differ only in case or spaces are treated as different: 'Ape', 'ape'"):
        table = CrowdImporter().read(written("a.csv", "item,annotator,label\n" + rows)).table
    assert table.classes == ("-1", "9", "10", "Ape", "ape", "zebra", "émeu")


def test_the_order_of_rows_does_not_order_the_classes(written):
    header = "item,annotator,label\n"
    one = CrowdImporter().read(written("a.csv", header + "1,a,07\n2,a,7\n3,a,007\n")).table
    two = CrowdImporter().read(written("b.csv", header + "3,a,007\n2,a,7\n1,a,07\n")).table
    assert one.classes == two.classes


def test_classes_given_keep_their_order_and_may_be_unused(written, answers):
    path = written("a.csv", "item,annotator,label\n1,a,cat\n2,a,dog\n")
    imported = CrowdImporter(classes=("dog", "ship", "cat")).read(path)
    assert imported.table.classes == ("dog", "ship", "cat")
    assert triples(imported.table, answers) == [("1", "a", "cat"), ("2", "a", "dog")]
    assert not any("as found" in note for note in imported.notes)


def test_a_class_not_given_names_its_line_and_the_nearest(written):
    path = written("a.csv", 'item,annotator,label\n1,a,cat\n\n"2\n3",a,dog\n4,a,cta\n5,a,cta\n')
    with pytest.raises(UnknownName, match=r"found class 'cta'; expected one of cat, dog; .* 'cat'\?") as caught:
        CrowdImporter(classes=("cat", "dog")).read(path)
    assert caught.value.code == "unknown-class"
    assert (caught.value.where.file, caught.value.where.line, caught.value.where.column) == (str(path), 6, "label")


def test_a_single_class_names_the_file(written):
    path = written("a.csv", "item,annotator,label\n1,a,cat\n2,a,cat\n")
    with pytest.raises(BadTable, match="found 1 class") as caught:
        CrowdImporter().read(path)
    assert caught.value.where.file == str(path)


def test_a_label_of_five_thousand_digits_is_only_a_name(written):
    long = "9" * 5_000
    table = CrowdImporter().read(written("a.csv", f"item,annotator,label\n1,a,{long}\n2,a,1\n")).table
    assert table.classes == ("1", long)


# Repeats


def test_a_second_answer_is_refused_with_its_line(written):
    path = written("a.csv", "item,annotator,label\n1,a,cat\n1,b,dog\n\n1,a,cat\n2,b,dog\n1,b,dog\n")
    with pytest.raises(
        BadTable, match=r"annotator 'a' answering item '1' again \(2 such rows\).*repeats=True"
    ) as caught:
        CrowdImporter().read(path)
    assert caught.value.code == "duplicate-answer"
    assert (caught.value.where.file, caught.value.where.line) == (str(path), 5)


def test_second_answers_are_kept_as_repeats(written, answers):
    path = written("a.csv", "item,annotator,label\n1,a,cat\n1,b,dog\n1,a,dog\n2,b,dog\n1,a,cat\n")
    imported = CrowdImporter(repeats=True).read(path)
    assert [a["purpose"] for a in answers(imported.table)] == ["label", "label", "repeat", "label", "repeat"]
    assert [a["payload"]["class"] for a in answers(imported.table)] == ["cat", "dog", "dog", "dog", "cat"]


def test_many_items_and_annotators_do_not_collide(written):
    """Two pairs of codes must not become one number."""
    rows = [(str(i), f"w{j}") for i in range(60) for j in range(70)]
    text = "item,annotator,label\n" + "".join(f"{i},{w},{'cat' if k % 2 else 'dog'}\n" for k, (i, w) in enumerate(rows))
    table = CrowdImporter(repeats=True).read(written("a.csv", text)).table
    assert set(table.purpose.names.to_pylist()) == {"label"}


# Truth


def test_truth_is_kept_once_an_item(written):
    text = "item,annotator,label,truth\n1,a,cat,dog\n1,b,dog,dog\n2,a,cat,cat\n3,a,dog,-1\n"
    imported = CrowdImporter(truth="truth").read(written("a.csv", text))
    original = imported.original
    assert original.items.to_pylist() == ["1", "2"]
    assert original.classes == imported.table.classes == ("cat", "dog")
    assert original.probs.tolist() == [[0, 1], [1, 0]]
    assert not any("not read" in note for note in imported.notes)


def test_an_empty_truth_is_not_known(written):
    text = "item,annotator,label,truth\n1,a,cat,dog\n2,a,dog,\n"
    original = CrowdImporter(truth="truth").read(written("a.csv", text)).original
    assert original.items.to_pylist() == ["1"]


def test_a_null_truth_is_not_known(tmp_path):
    table = pa.table({"item": ["1", "2"], "annotator": ["a", "a"], "label": ["cat", "dog"], "truth": ["dog", None]})
    pq.write_table(table, tmp_path / "a.parquet")
    assert CrowdImporter(truth="truth").read(tmp_path / "a.parquet").original.items.to_pylist() == ["1"]


def test_no_known_truth_at_all(written):
    text = "item,annotator,label,truth\n1,a,cat,-1\n2,a,dog,-1\n"
    assert CrowdImporter(truth="truth").read(written("a.csv", text)).original is None


def test_a_truth_that_nobody_answered_is_not_left_out_in_silence(written):
    text = "item,annotator,label,truth\n1,a,cat,cat\n2,a,dog,zebra\n3,a,dog,dog\n"
    imported = CrowdImporter(truth="truth").read(written("a.csv", text))
    assert imported.original.items.to_pylist() == ["1", "3"]
    assert any("zebra" in note or "1 items without" in note or "truth" in note for note in imported.notes[2:])


def test_two_truths_for_an_item_name_the_item(written):
    path = written("a.csv", "item,annotator,label,truth\n1,a,cat,dog\n2,a,dog,dog\n1,b,dog,cat\n")
    with pytest.raises(BadTable, match="two true classes") as caught:
        CrowdImporter(truth="truth").read(path)
    assert caught.value.code == "doubled-item"
    assert caught.value.where.file == str(path)


# Ids and values


def test_ids_are_text_and_nothing_else(written, answers):
    ids = ["007", "7", "NA", "null", "1e5", "100000", "9007199254740993", "true", "2020-01-01", " x", "'=1+1", "=1+1"]
    text = "item,annotator,label\n" + "".join(f"{name},{name},{('cat', 'dog')[i % 2]}\n" for i, name in enumerate(ids))
    table = CrowdImporter().read(written("a.csv", text)).table
    assert table.item.names.to_pylist() == ids
    assert [a["annotator"] for a in answers(table)] == ids


def test_labels_are_text_and_nothing_else(written, answers):
    labels = ["NA", "nan", "1.0", "1", "", "True"]
    kept = [label for label in labels if label]
    text = "item,annotator,label\n" + "".join(f"{i},a,{label}\n" for i, label in enumerate(kept))
    assert [a["payload"]["class"] for a in answers(CrowdImporter().read(written("a.csv", text)).table)] == kept


def test_class_names_with_quotes_and_other_scripts(written, answers):
    labels = ['say "cat"', "chat, noir", "猫", "a\\b", "two\nlines"]
    rows = [[str(i), "a", label] for i, label in enumerate(labels)]
    path = written("a.csv", "")
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["item", "annotator", "label"], *rows])
    table = CrowdImporter().read(path).table
    assert [a["payload"]["class"] for a in answers(table)] == labels
    assert set(table.classes) == set(labels)


@pytest.mark.parametrize("column", ["item", "annotator", "label"])
@pytest.mark.parametrize("blank", ["", " ", '""'])
def test_an_empty_field_names_its_line_and_column(written, column, blank):
    row = {"item": "2", "annotator": "a", "label": "dog", column: blank}
    path = written("a.csv", f"item,annotator,label\n1,a,cat\n\n{','.join(row.values())}\n")
    with pytest.raises(BadTable) as caught:
        CrowdImporter().read(path)
    assert caught.value.code == "empty-text"
    assert (caught.value.where.line, caught.value.where.column) == (4, column)


@pytest.mark.parametrize("text", ["item,annotator,label\n", "item,annotator,label"], ids=["line end", "no line end"])
def test_a_header_alone_holds_no_answers(written, text):
    with pytest.raises(BadTable, match="found a header without rows") as caught:
        CrowdImporter().read(written("a.csv", text))
    assert caught.value.code == "no-rows"


# Parquet


@pytest.mark.parametrize("kind", [pa.int8(), pa.int64(), pa.uint64(), pa.int32()])
def test_integer_ids_become_their_digits(tmp_path, answers, kind):
    table = pa.table(
        {
            "task": pa.array([7, 0, 7], kind),
            "worker": pa.array([100, 100, 3], kind),
            "label": pa.array([1, 0, 0], kind),
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    imported = CrowdImporter().read(tmp_path / "a.parquet")
    assert triples(imported.table, answers) == [("7", "100", "1"), ("0", "100", "0"), ("7", "3", "0")]
    assert imported.table.classes == ("0", "1")


def test_large_integers_stay_apart(tmp_path):
    ids = [2**53, 2**53 + 1, -(2**63), 2**63 - 1]
    table = pa.table({"item": ids, "annotator": ["a"] * 4, "label": ["cat", "dog", "cat", "dog"]})
    pq.write_table(table, tmp_path / "a.parquet")
    assert CrowdImporter().read(tmp_path / "a.parquet").table.item.names.to_pylist() == [str(i) for i in ids]


@pytest.mark.parametrize(
    "text", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())], ids=["string", "large", "coded"]
)
def test_every_form_of_text(tmp_path, answers, text):
    path = tmp_path / "a.parquet"
    table = pa.table(
        {
            "item": pa.array(["007", "7", "NA"]).cast(text),
            "annotator": pa.array(["a", "b", "a"]).cast(text),
            "label": pa.array(["cat", "dog", "cat"]).cast(text),
        }
    )
    pq.write_table(table, path)
    assert triples(CrowdImporter().read(path).table, answers) == [
        ("007", "a", "cat"),
        ("7", "b", "dog"),
        ("NA", "a", "cat"),
    ]


@pytest.mark.parametrize(
    ("values", "code", "row"),
    [([1.0, 2.0], "wrong-type", None), ([True, False], "wrong-type", None), (["1", None], "missing-value", 1)],
    ids=["floats", "booleans", "null"],
)
def test_ids_that_are_no_names_are_refused(tmp_path, values, code, row):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"item": values, "annotator": ["a", "b"], "label": ["cat", "dog"]}), path)
    with pytest.raises(SfumatoError) as caught:
        CrowdImporter().read(path)
    assert caught.value.code == code
    assert (caught.value.where.file, caught.value.where.row, caught.value.where.column) == (str(path), row, "item")


# Size


@pytest.fixture(scope="module")
def large(tmp_path_factory) -> tuple:
    """200,000 answers, more than one block of a CSV, and the same rows as plain Python values."""
    rng = np.random.default_rng(20_260_101)
    pairs = rng.choice(40_000 * 300, size=200_000, replace=False)
    labels = rng.integers(0, 12, size=200_000)
    rows = [
        (f"item-{pair // 300:05d}", f"annotator-{pair % 300}", f"class-{label}")
        for pair, label in zip(pairs.tolist(), labels.tolist(), strict=True)
    ]
    path = tmp_path_factory.mktemp("crowd") / "large.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("task", "worker", "label"), *rows])
    return path, rows


def test_a_large_file_equals_a_plain_reading(large, answers):
    path, rows = large
    assert path.stat().st_size > 4 * 2**20, "the file must span blocks"
    table = CrowdImporter().read(path).table
    assert triples(table, answers) == rows
    assert table.item.names.to_pylist() == list(dict.fromkeys(row[0] for row in rows))
    assert table.annotator.names.to_pylist() == list(dict.fromkeys(row[1] for row in rows))


def test_a_fault_far_down_a_large_file_has_its_line(large, tmp_path):
    path, rows = large
    broken = tmp_path / "broken.csv"
    broken.write_text(path.read_text() + "item-x,annotator-x,\n")
    with pytest.raises(BadTable) as caught:
        CrowdImporter().read(broken)
    assert caught.value.where.line == len(rows) + 2
    doubled = tmp_path / "doubled.csv"
    doubled.write_text(path.read_text() + ",".join(rows[17]) + "\n")
    with pytest.raises(BadTable) as caught:
        CrowdImporter().read(doubled)
    assert (caught.value.code, caught.value.where.line) == ("duplicate-answer", len(rows) + 2)
