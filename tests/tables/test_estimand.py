"""The estimand of soft labels: in files, from the number of annotators, and where it is checked."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from sfumato.labeling.transforms import Smooth
from sfumato.tables.errors import BadTable, SfumatoError
from sfumato.tables.estimand import Estimand, check_estimand
from sfumato.tables.soft_labels import SoftLabels

TWO = ["a", "b"], [[0.5, 0.5], [0, 1]], ["cat", "dog"]


@pytest.mark.parametrize("ending", ["parquet", "csv"])
@pytest.mark.parametrize("estimand", [*Estimand, None])
def test_files_keep_the_estimand(ending: str, estimand: Estimand | None, tmp_path: Path) -> None:
    SoftLabels.from_numpy(*TWO, 3, estimand=estimand, made_by="glad").write(tmp_path / f"l.{ending}")
    read = SoftLabels.read(tmp_path / f"l.{ending}")
    assert read.estimand is estimand
    assert read.made_by == ("glad" if ending == "parquet" else None)


def test_the_keys_and_the_column_of_files(tmp_path: Path) -> None:
    labels = SoftLabels.from_numpy(*TWO, 3, estimand="truth", made_by="glad")
    labels.write(tmp_path / "l.parquet")
    metadata = pq.read_schema(tmp_path / "l.parquet").metadata
    assert (metadata[b"sfumato.estimand"], metadata[b"sfumato.made_by"]) == (b"truth", b"glad")
    labels.write(tmp_path / "l.csv")
    assert (tmp_path / "l.csv").read_text().replace('"', "").splitlines()[:2] == [
        "item,p:cat,p:dog,n_annotators,estimand",
        "a,0.5,0.5,3,truth",
    ]


def test_files_of_earlier_versions_are_read(tmp_path: Path) -> None:
    for said, estimand in (("how people judge", "judgment"), ("how probable each class is to be true", "truth")):
        table = SoftLabels.from_numpy(*TWO, 3).to_arrow()
        table = table.replace_schema_metadata({**table.schema.metadata, b"sfumato.target": said.encode()})
        pq.write_table(table, tmp_path / "old.parquet")
        assert SoftLabels.read(tmp_path / "old.parquet").estimand == estimand


@pytest.mark.parametrize(("n_annotators", "estimand"), [(0, "prediction"), ([0, 1], None), (4, None), (None, None)])
def test_labels_of_no_annotators_are_predictions(n_annotators: object, estimand: str | None) -> None:
    assert SoftLabels.from_numpy(*TWO, n_annotators).estimand == estimand
    assert SoftLabels.from_numpy(*TWO, n_annotators, estimand="judgment").estimand is Estimand.JUDGMENT


def test_a_column_names_one_known_estimand(tmp_path: Path) -> None:
    file = tmp_path / "l.csv"
    for second, code in (("truth", "mixed-estimands"), ("thruth", "unknown-estimand"), ("", None)):
        file.write_text(f"item,p:cat,p:dog,estimand\na,1,0,judgment\nb,0,1,{second}\n")
        if code is None:
            assert SoftLabels.read(file).estimand is Estimand.JUDGMENT
            continue
        with pytest.raises(SfumatoError) as caught:
            SoftLabels.read(file)
        assert caught.value.code == code
        assert "l.csv" in str(caught.value)


def test_transformed_labels_say_how_they_were_made() -> None:
    labels = SoftLabels.from_numpy(*TWO, 3, estimand="judgment", made_by="mean")
    smooth = Smooth(0.1).apply(labels)
    assert (smooth.estimand, smooth.made_by) == (Estimand.JUDGMENT, "mean, smooth")


def test_the_check_names_what_was_found_and_the_way_out() -> None:
    labels = SoftLabels.from_numpy(*TWO, 3, estimand="truth", made_by="dawid-skene")
    with pytest.raises(BadTable) as caught:
        check_estimand(labels, (Estimand.JUDGMENT,), "labels of people", "aggregate by mean")
    text = str(caught.value)
    assert caught.value.code == "wrong-estimand"
    for part in ("labels of people", "truth", "dawid-skene", "judgment", "aggregate by mean", "any_estimand=True"):
        assert part in text
    check_estimand(labels, (Estimand.JUDGMENT,), "labels of people", "", any_estimand=True)
    check_estimand(labels, (Estimand.TRUTH,), "labels of people", "")
    check_estimand(SoftLabels.from_numpy(*TWO), (Estimand.JUDGMENT,), "labels of people", "")
