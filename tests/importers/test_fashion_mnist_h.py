"""Fashion-MNIST-H: the published counts, and the authors' own CSV, which has no header."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.importers import FashionMnistHImporter
from sfumato.tables.errors import BadTable, SfumatoError

# The first three rows of the authors' fmh_counts.csv.
PUBLISHED_CSV = "0,0,0,1,1,1,1,26,0,42\n25,1,33,0,4,1,7,1,0,0\n0,67,3,0,0,0,0,1,1,0\n"
PUBLISHED_COUNTS = np.array(
    [[0, 0, 0, 1, 1, 1, 1, 26, 0, 42], [25, 1, 33, 0, 4, 1, 7, 1, 0, 0], [0, 67, 3, 0, 0, 0, 0, 1, 1, 0]]
)


def test_published_counts_are_shares_and_totals(published):
    arrays = np.load(published / "fashion-mnist-h" / "counts.npz")
    imported = FashionMnistHImporter().read(published / "fashion-mnist-h")
    labels = imported.table.labels()
    counts = arrays["counts"].astype(np.int64)
    total = np.array([sum(row) for row in counts.tolist()])
    assert labels.classes == tuple(arrays["class_names"].tolist())
    assert labels.items.to_pylist() == [str(i) for i in range(10_000)]
    assert np.array_equal(labels.probs, counts / total[:, None])
    assert np.array_equal(labels.n_annotators, total)
    assert int(labels.n_annotators.sum()) == 667_020
    assert (labels.n_annotators.min(), labels.n_annotators.max()) == (53, 79)
    assert np.array_equal(imported.original.probs.argmax(axis=1), arrays["labels"])
    assert (labels.probs.argmax(axis=1) == arrays["labels"]).mean() == pytest.approx(0.820, abs=5e-4)


def test_the_first_rows_are_the_authors(published):
    counts = np.load(published / "fashion-mnist-h" / "counts.npz")["counts"]
    assert np.array_equal(counts[:3], PUBLISHED_COUNTS)


def test_the_authors_csv_has_no_header(written):
    labels = FashionMnistHImporter().read(written("fmh_counts.csv", PUBLISHED_CSV)).table.labels()
    assert np.array_equal(labels.probs, PUBLISHED_COUNTS / PUBLISHED_COUNTS.sum(axis=1, keepdims=True))
    assert labels.n_annotators.tolist() == PUBLISHED_COUNTS.sum(axis=1).tolist()
    assert labels.items.to_pylist() == ["0", "1", "2"]


def test_no_row_of_the_authors_csv_is_taken_for_a_header(written):
    """Ten different counts in the first row look like ten different names."""
    labels = (
        FashionMnistHImporter().read(written("fmh_counts.csv", "9,8,7,6,5,4,3,2,1,0\n" + PUBLISHED_CSV)).table.labels()
    )
    assert labels.n_annotators.tolist() == [45, *PUBLISHED_COUNTS.sum(axis=1).tolist()]


def test_a_csv_with_a_header_is_read_too(written):
    header = ",".join(f"class {k}" for k in range(10)) + "\n"
    labels = FashionMnistHImporter().read(written("fmh_counts.csv", header + PUBLISHED_CSV)).table.labels()
    assert np.array_equal(labels.probs * labels.n_annotators[:, None], PUBLISHED_COUNTS)


def test_the_csv_is_found_in_the_authors_folder(tmp_path):
    (tmp_path / "data").mkdir()
    header = ",".join(f"class {k}" for k in range(10)) + "\n"
    (tmp_path / "data" / "fmh_counts.csv").write_text(header + PUBLISHED_CSV)
    assert len(FashionMnistHImporter().read(tmp_path).table) == 3


def test_too_few_columns_are_refused(written):
    with pytest.raises(SfumatoError) as caught:
        FashionMnistHImporter().read(written("fmh_counts.csv", "a,b,c\n1,2,3\n"))
    assert caught.value.code == "wrong-shape"
    assert "expected 1 items x 10 classes" in str(caught.value)


def test_a_header_alone_holds_no_items(written):
    with pytest.raises(BadTable) as caught:
        FashionMnistHImporter().read(written("fmh_counts.csv", ",".join(f"class {k}" for k in range(10)) + "\n"))
    assert caught.value.where.file.endswith("fmh_counts.csv")


def test_an_archive_without_counts_is_refused(tmp_path):
    np.savez(tmp_path / "x.npz", votes=PUBLISHED_COUNTS)
    with pytest.raises(BadTable, match="found arrays votes; expected an array `counts`"):
        FashionMnistHImporter().read(tmp_path / "x.npz")


def test_labels_that_are_no_class_are_refused(tmp_path):
    np.savez(tmp_path / "x.npz", counts=PUBLISHED_COUNTS, labels=[9, 2, 10])
    with pytest.raises(SfumatoError, match="10"):
        FashionMnistHImporter().read(tmp_path / "x.npz")
