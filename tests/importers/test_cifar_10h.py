"""CIFAR-10H: the published counts and answers, and the authors' raw file in its published form."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.importers import Cifar10HImporter
from sfumato.tables.annotations import Annotations
from sfumato.tables.errors import BadFile, BadTable

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")

RAW_HEADER = (
    "annotator_id,trial_index,is_attn_check,true_category,chosen_category,true_label,chosen_label,correct_guess,"
    "cifar10_test_test_idx,image_filename,subcategory,reaction_time,time_elapsed\n"
)
RAW_ROWS = (
    "0,0,0,airplane,airplane,0,0,1,3105,stealth_bomber_s_001306.png,stealth_bomber,2120,2120\n",
    "0,1,0,cat,dog,3,5,0,17,tabby_s_000405.png,tabby,4033,6153\n",
    "0,2,1,ship,ship,8,8,1,-99999,liner_s_000001.png,liner,1051,7204\n",
    "1,0,0,cat,cat,3,3,1,17,tabby_s_000405.png,tabby,987,987\n",
    "1,1,1,horse,frog,7,6,0,-99999,mare_s_000002.png,mare,500,1487\n",
)
RAW = RAW_HEADER + "".join(RAW_ROWS)


def test_published_counts_are_shares_and_totals(published):
    arrays = np.load(published / "cifar10h" / "counts.npz")
    imported = Cifar10HImporter().read(published / "cifar10h")
    labels = imported.table.labels()
    assert np.array_equal(imported.table.counts, arrays["counts"])
    assert labels.classes == CLASSES == tuple(arrays["class_names"].tolist())
    assert labels.items.to_pylist() == [str(i) for i in range(10_000)]
    counts = arrays["counts"].astype(np.int64)
    total = np.array([sum(row) for row in counts.tolist()])
    assert np.array_equal(labels.probs, counts / total[:, None])
    assert np.array_equal(labels.n_annotators, total)
    assert int(labels.n_annotators.sum()) == 511_000
    assert (labels.n_annotators.min(), labels.n_annotators.max()) == (47, 63)
    assert any("511,000 votes, 47 to 63 per item" in note for note in imported.notes)


def test_published_counts_come_with_the_original_labels(published):
    labels = np.load(published / "cifar10h" / "counts.npz")["labels"]
    original = Cifar10HImporter().read(published / "cifar10h" / "counts.npz").original
    assert np.array_equal(original.probs.argmax(axis=1), labels)
    assert np.array_equal(original.probs, (labels[:, None] == np.arange(10)).astype(float))


def test_published_answers_one_by_one(published, raw_rows, answers):
    raw = raw_rows(published / "cifar10h" / "annotator-level-9500-9999.csv.gz")
    imported = Cifar10HImporter(annotator_level=True).read(published / "cifar10h")
    table = imported.table
    assert isinstance(table, Annotations)
    assert len(table) == len(raw) == 25_752
    assert len(table.annotator.names) == 2_571
    assert len(table.item.names) == 500
    assert [(a["item"], a["annotator"], a["payload"]) for a in answers(table)] == [
        (row["image_index"], row["annotator_id"], {"class": CLASSES[int(row["chosen_label"])]}) for row in raw
    ]
    assert set(table.kind.names.to_pylist()) == {"choice/1"}
    assert set(table.purpose.names.to_pylist()) == {"label"}
    assert np.isnan(table.seconds).all()
    assert any("no times" in note for note in imported.notes)


def test_published_answers_agree_with_the_counts_files_original_labels(published, raw_rows):
    raw = raw_rows(published / "cifar10h" / "annotator-level-9500-9999.csv.gz")
    original = Cifar10HImporter(annotator_level=True).read(published / "cifar10h").original
    truth = {row["image_index"]: int(row["true_label"]) for row in raw}
    assert dict(zip(original.items.to_pylist(), original.probs.argmax(axis=1).tolist(), strict=True)) == truth
    labels = np.load(published / "cifar10h" / "counts.npz")["labels"]
    assert truth == {str(i): int(labels[i]) for i in range(9500, 10_000)}


def test_counts_as_the_authors_publish_them(tmp_path):
    counts = np.array([[0, 1, 1, 48, 0, 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0, 0, 0, 50, 0]])
    (tmp_path / "data").mkdir()
    np.save(tmp_path / "data" / "cifar10h-counts.npy", counts)
    imported = Cifar10HImporter().read(tmp_path)
    assert np.array_equal(imported.table.counts, counts)
    assert imported.original is None


def test_raw_file_keeps_attention_checks_apart(written, answers):
    imported = Cifar10HImporter(annotator_level=True).read(written("cifar10h-raw.csv", RAW))
    assert [
        (a["item"], a["annotator"], a["payload"]["class"], a["trial"], a["purpose"], a["seconds"])
        for a in answers(imported.table)
    ] == [
        ("3105", "0", "airplane", 0, "label", 2.12),
        ("17", "0", "dog", 1, "label", 4.033),
        ("check:liner_s_000001.png", "0", "ship", 2, "check", 1.051),
        ("17", "1", "cat", 0, "label", 0.987),
        ("check:mare_s_000002.png", "1", "frog", 1, "check", 0.5),
    ]
    assert "2 attention checks kept with purpose 'check'" in imported.notes
    assert not any("no times" in note for note in imported.notes)
    assert "-99999" not in imported.table.item.names.to_pylist()


def test_raw_file_knows_the_true_class_of_checks_too(written):
    original = Cifar10HImporter(annotator_level=True).read(written("cifar10h-raw.csv", RAW)).original
    named = [CLASSES[k] for k in original.probs.argmax(axis=1)]
    assert dict(zip(original.items.to_pylist(), named, strict=True)) == {
        "3105": "airplane",
        "17": "cat",
        "check:liner_s_000001.png": "ship",
        "check:mare_s_000002.png": "horse",
    }


def test_a_csv_is_read_as_answers_without_being_told(written):
    path = written("cifar10h-raw.csv", RAW)
    assert isinstance(Cifar10HImporter().read(path).table, Annotations)
    assert isinstance(Cifar10HImporter(annotator_level=True).read(path.parent).table, Annotations)


def test_twelve_published_trials_have_a_negative_time_which_is_no_time(written, answers):
    """The raw file has twelve reaction times below zero, a fault of its logging; the answers themselves are good."""
    text = RAW_HEADER + RAW_ROWS[0] + RAW_ROWS[1].replace("4033", "-1517")
    imported = Cifar10HImporter(annotator_level=True).read(written("cifar10h-raw.csv", text))
    assert [(a["payload"]["class"], a["seconds"]) for a in answers(imported.table)] == [
        ("airplane", 2.12),
        ("dog", None),
    ]
    assert any("time" in note and "1" in note for note in imported.notes[1:])


def test_an_unknown_class_number_names_its_line(written):
    text = RAW_HEADER + RAW_ROWS[0] + RAW_ROWS[1].replace(",3,5,0,", ",3,10,0,")
    with pytest.raises(BadTable, match="a class number from 0 to 9") as caught:
        Cifar10HImporter(annotator_level=True).read(written("cifar10h-raw.csv", text))
    assert caught.value.where.line == 3
    assert caught.value.where.column == "chosen_label"


@pytest.mark.parametrize(
    ("old", "new", "column"), [("4033", "slow", "reaction_time"), ("0,1,0", "0,x,0", "trial_index")]
)
def test_text_where_a_number_belongs_names_its_line(written, old, new, column):
    text = RAW_HEADER + RAW_ROWS[0] + RAW_ROWS[1].replace(old, new)
    with pytest.raises(BadTable) as caught:
        Cifar10HImporter(annotator_level=True).read(written("cifar10h-raw.csv", text))
    assert (caught.value.where.line, caught.value.where.column) == (3, column)


def test_missing_columns_are_named(written):
    with pytest.raises(BadTable, match="'annotator_id'") as caught:
        Cifar10HImporter(annotator_level=True).read(written("a.csv", "image_index,chosen_label\n1,2\n"))
    assert caught.value.code == "missing-column"


def test_an_archive_without_counts_is_refused(tmp_path):
    np.savez(tmp_path / "x.npz", probs=np.eye(10))
    with pytest.raises(BadTable, match="found arrays probs; expected an array `counts`"):
        Cifar10HImporter().read(tmp_path / "x.npz")


def test_a_folder_without_the_files_is_refused(tmp_path):
    (tmp_path / "other.txt").write_text("x")
    with pytest.raises(BadFile, match=r"'other.txt'.*expected a file named counts.npz or"):
        Cifar10HImporter().read(tmp_path)
