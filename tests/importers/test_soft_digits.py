"""soft-digits: small files in the published columns, as Parquet and as npz."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.importers import SoftDigitsImporter
from sfumato.tables.errors import BadTable, SfumatoError, UnknownName

DIGITS = (*"0123456789", "not a digit")


def label(**shares: float) -> list[float]:
    """Eleven shares: `label(d7=0.5, none=0.5)`."""
    return [shares.get(f"d{k}", 0.0) for k in range(10)] + [shares.get("none", 0.0)]


ROWS = {
    "indices": [17, 4, 59_999, 8],
    "file_name": ["mnist_17.png", "mnist_4.png", "mnist_59999.png", "mukhoti_8.png"],
    "human_uncert_mean": [0.0, 0.125, 0.3, 1.0],
    "pct_ann_unsure": [0.0, 0.25, 0.5, 1.0],
    "soft_label": [
        label(d7=1.0),
        label(d4=0.75, d9=0.25),
        label(d1=0.5, none=0.5),
        label(d3=0.25, d5=0.5, d8=0.25),
    ],
    "soft_label_yes_unc_equal": [
        label(d7=1.0),
        label(d4=0.625, d9=0.375),
        label(d1=0.25, none=0.75),
        label(d3=0.5, d5=0.25, d8=0.25),
    ],
    "soft_label_argmax": [label(d7=1.0), label(d4=1.0), label(none=1.0), label(d5=1.0)],
    "split": ["train", "test", "train", "test"],
    "source": ["mnist", "mnist", "mnist", "mukhoti"],
}
MUKHOTI = [0, 0, 0, 0.5, 0, 0.25, 0, 0, 0.25, 0]
ORIGINAL = [[7.0], [9.0], [1.0], MUKHOTI]


def parquet(path, **changes):
    columns = {**ROWS, "original_labels": ORIGINAL, **changes}
    n_rows = len(columns["indices"])
    table = pa.table({"images": [b"\x00" * 784] * n_rows, **{k: v for k, v in columns.items() if v is not None}})
    pq.write_table(table, path)
    return path


def archive(path, rows=slice(None), **changes):
    columns = {name: np.array(values)[rows] for name, values in {**ROWS, **changes}.items()}
    n_rows = len(columns["indices"])
    np.savez(path, images=np.zeros((n_rows, 28, 28), np.uint8), **columns)
    return path


@pytest.fixture(params=["parquet", "npz"])
def path(request, tmp_path):
    if request.param == "parquet":
        return parquet(tmp_path / "soft-digits.parquet")
    return archive(tmp_path / "soft-digits.npz")


@pytest.mark.parametrize("column", ["soft_label", "soft_label_yes_unc_equal", "soft_label_argmax"])
def test_each_published_label(path, column):
    imported = SoftDigitsImporter(column=column).read(path)
    labels = imported.table
    assert labels.classes == DIGITS
    assert labels.items.to_pylist() == ["17", "4", "59999", "8"]
    assert labels.probs.tolist() == ROWS[column]
    assert labels.n_annotators is None, "how many people answered was not published"
    assert imported.notes[0] == f"4 of 4 items, 11 classes, from the column {column}"


def test_published_doubt_comes_along(path):
    doubt = SoftDigitsImporter().read(path).doubt
    assert doubt.items.to_pylist() == ["17", "4", "59999", "8"]
    assert doubt.mean_doubt.tolist() == ROWS["human_uncert_mean"]
    assert doubt.unsure_proportion.tolist() == ROWS["pct_ann_unsure"]
    expected = [0.0, -0.75 * np.log(0.75) - 0.25 * np.log(0.25), np.log(2), 1.5 * np.log(2)]
    assert doubt.total == pytest.approx(np.array(expected), abs=1e-15)
    assert np.isnan(doubt.within).all()
    assert np.isnan(doubt.between).all()


def test_rows_are_picked_by_split_and_source(path):
    assert SoftDigitsImporter(split="test").read(path).table.items.to_pylist() == ["4", "8"]
    assert SoftDigitsImporter(source="mnist").read(path).table.items.to_pylist() == ["17", "4", "59999"]
    both = SoftDigitsImporter(split="test", source="mukhoti").read(path)
    assert both.table.items.to_pylist() == ["8"]
    assert both.table.probs.tolist() == [ROWS["soft_label"][3]]
    assert both.doubt.mean_doubt.tolist() == [1.0]
    assert both.notes[0].startswith("1 of 4 items")


def test_a_split_that_is_not_there_is_corrected(path):
    with pytest.raises(UnknownName, match="found split 'tset'; expected one of test, train; fix: did you mean 'test'"):
        SoftDigitsImporter(split="tset").read(path)
    with pytest.raises(UnknownName, match="expected one of mnist, mukhoti"):
        SoftDigitsImporter(source="emnist").read(path)


def test_original_labels_are_a_digit_or_a_distribution_of_ten(tmp_path):
    original = SoftDigitsImporter().read(parquet(tmp_path / "a.parquet")).original
    assert original.items.to_pylist() == ["17", "4", "59999", "8"]
    assert original.probs.tolist() == [label(d7=1), label(d9=1), label(d1=1), [*MUKHOTI, 0]]
    picked = SoftDigitsImporter(source="mukhoti").read(parquet(tmp_path / "a.parquet")).original
    assert (picked.items.to_pylist(), picked.probs.tolist()) == (["8"], [[*MUKHOTI, 0]])


@pytest.mark.parametrize("write", [parquet, archive])
def test_original_labels_of_mnist_alone_are_integers(tmp_path, write):
    path = tmp_path / ("a.parquet" if write is parquet else "a.npz")
    original = SoftDigitsImporter().read(write(path, original_labels=[7, 9, 1, 0])).original
    assert original.probs.argmax(axis=1).tolist() == [7, 9, 1, 0]


def test_original_labels_of_the_synthetic_part_alone_are_a_matrix(tmp_path):
    path = archive(tmp_path / "a.npz", original_labels=[MUKHOTI] * 4)
    assert SoftDigitsImporter().read(path).original.probs.tolist() == [[*MUKHOTI, 0]] * 4


def test_without_original_labels_there_are_none(tmp_path):
    assert SoftDigitsImporter().read(parquet(tmp_path / "a.parquet", original_labels=None)).original is None


@pytest.mark.parametrize("value", [[], [10.0], [-1.0], [0.5, 0.5], [0.0] * 12, None])
def test_an_original_label_that_is_none_names_its_column(tmp_path, value):
    path = parquet(tmp_path / "a.parquet", original_labels=[[7.0], value, [1.0], MUKHOTI])
    with pytest.raises(SfumatoError) as caught:
        SoftDigitsImporter().read(path)
    assert caught.value.where.file == str(path)
    assert caught.value.where.column == "original_labels"


def test_ids_are_indices_else_file_names_else_row_numbers(tmp_path):
    path = tmp_path / "a.parquet"
    columns = pq.read_table(parquet(path))
    pq.write_table(columns.drop(["indices"]), path)
    assert SoftDigitsImporter().read(path).table.items.to_pylist() == ROWS["file_name"]
    pq.write_table(columns.drop(["indices", "file_name"]), path)
    assert SoftDigitsImporter().read(path).table.items.to_pylist() == ["0", "1", "2", "3"]


def test_equal_indices_of_the_two_sources_are_never_one_picture(tmp_path):
    path = parquet(tmp_path / "a.parquet", indices=[17, 8, 59_999, 8])
    sources = ROWS["source"]
    assert SoftDigitsImporter().read(path).table.items.to_pylist() == [
        f"{source}/{index}" for source, index in zip(sources, [17, 8, 59_999, 8], strict=True)
    ]
    assert SoftDigitsImporter(source="mukhoti").read(path).table.probs.tolist() == [ROWS["soft_label"][3]]


def test_rows_whose_majority_is_not_their_largest_share_are_counted(path):
    """Row 2 is a tie of one and not a digit, which argmax breaks the other way."""
    notes = SoftDigitsImporter().read(path).notes
    assert any(note.startswith("1 rows where soft_label_argmax is not the largest entry") for note in notes)


def test_float32_labels_are_labels(tmp_path):
    thirds = np.array([label(d1=1 / 3, d2=1 / 3, d3=1 / 3)] * 4, np.float32)
    path = archive(tmp_path / "a.npz", soft_label=thirds)
    assert np.array_equal(SoftDigitsImporter().read(path).table.probs, thirds.astype(np.float64))


@pytest.mark.parametrize(
    "missing", ["soft_label", "soft_label_argmax", "soft_label_yes_unc_equal", "human_uncert_mean", "pct_ann_unsure"]
)
def test_a_missing_column_is_named(tmp_path, missing):
    with pytest.raises(BadTable, match=f"including {missing};") as caught:
        SoftDigitsImporter().read(parquet(tmp_path / "a.parquet", **{missing: None}))
    assert caught.value.code == "missing-column"


@pytest.mark.parametrize(
    "values", [[[0.1] * 10] * 4, [1.0] * 4, [["x"] * 11] * 4, [label(d1=1)] * 3 + [[1.0]]], ids=str
)
def test_labels_of_another_shape_are_refused(tmp_path, values):
    with pytest.raises(BadTable, match="expected eleven numbers per row") as caught:
        SoftDigitsImporter().read(parquet(tmp_path / "a.parquet", soft_label=values))
    assert (caught.value.code, caught.value.where.column) == ("wrong-length", "soft_label")


def test_labels_that_are_no_distribution_name_the_file(tmp_path):
    path = parquet(tmp_path / "a.parquet", soft_label=[*ROWS["soft_label"][:3], label(d1=0.5)])
    with pytest.raises(BadTable, match=r"sum to 0\.5") as caught:
        SoftDigitsImporter().read(path)
    assert caught.value.where.file == str(path)


@pytest.mark.parametrize("value", [-0.1, 1.5, np.nan])
@pytest.mark.parametrize("column", ["human_uncert_mean", "pct_ann_unsure"])
def test_doubt_is_a_share(tmp_path, column, value):
    path = parquet(tmp_path / "a.parquet", **{column: [0.0, value, 0.5, 1.0]})
    with pytest.raises(BadTable, match="expected a share from 0 to 1") as caught:
        SoftDigitsImporter().read(path)
    assert (caught.value.where.file, caught.value.where.column) == (str(path), column)


def test_a_file_without_rows_is_refused(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pq.read_table(parquet(path)).slice(0, 0), path)
    with pytest.raises(SfumatoError) as caught:
        SoftDigitsImporter().read(path)
    assert caught.value.where.file == str(path)


def test_columns_are_named():
    with pytest.raises(UnknownName, match="did you mean 'soft_label_argmax'"):
        SoftDigitsImporter(column="soft_label_argmx")
