"""`sfumato select`: every file type, all columns kept, parts under their names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from PIL import Image
from scipy import sparse

import sfumato as sf
from sfumato.cli import group
from sfumato.tables.errors import SfumatoError
from sfumato.tables.estimand import Estimand
from sfumato.tables.model_inputs import Inputs
from sfumato.tables.soft_labels import SoftLabels


def selected(*arguments: object) -> str:
    done = CliRunner().invoke(group, ["select", *map(str, arguments)])
    if done.exception is not None:
        raise done.exception
    return done.output


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    probs = [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0], [0.2, 0.8]]
    path = tmp_path / "labels.parquet"
    table = SoftLabels.from_numpy(["a", "=b", "c", "d"], probs, ["cat", "dog"], [3, 4, 5, 6])
    SoftLabels(table.items, table.classes, table.probs, table.n_annotators, estimand=Estimand.JUDGMENT).write(path)
    return path


def test_a_parquet_table_stays_what_it_is(labels: Path, tmp_path: Path) -> None:
    said = selected(labels, "--where", "n_annotators>=4", "-o", tmp_path / "x.parquet")
    assert "3 of 4 rows" in said
    read = SoftLabels.read(tmp_path / "x.parquet")
    assert read.items.to_pylist() == ["=b", "c", "d"]
    assert read.estimand is Estimand.JUDGMENT
    selected(labels, "--where", "class==dog", "-o", tmp_path / "x.csv")
    assert SoftLabels.read(tmp_path / "x.csv").n_annotators.tolist() == [5, 6]  # type: ignore[union-attr]
    selected(tmp_path / "x.csv", "--where", "item=d", "-o", tmp_path / "y.parquet")
    assert SoftLabels.read(tmp_path / "y.parquet").probs.tolist() == [[0.2, 0.8]]


def test_a_csv_of_others_keeps_every_column(tmp_path: Path) -> None:
    votes = "task,worker,label,note\n1,x,yes,=1+1\n1,y,no,\n2,x,yes,old\n2,y,yes,new\n3,x,no,\n"
    (tmp_path / "votes.csv").write_text(votes)
    selected(tmp_path / "votes.csv", "--where", "n_annotators>=2", "--where", "entropy<0.1", "-o", tmp_path / "x.csv")
    assert pl.read_csv(tmp_path / "x.csv").rows() == [(2, "x", "yes", "old"), (2, "y", "yes", "new")]
    (tmp_path / "ids.txt").write_text("1\n3\n")
    said = selected(tmp_path / "votes.csv", "--leave-out", tmp_path / "ids.txt", "-o", tmp_path / "y.csv")
    assert "2 of 5 rows about 1 item" in said
    assert (tmp_path / "y.csv").read_bytes() == (tmp_path / "x.csv").read_bytes()
    selected(tmp_path / "votes.csv", "--items", tmp_path / "ids.txt", "-o", tmp_path / "z.csv")
    assert pl.read_csv(tmp_path / "z.csv")["note"].to_list() == ["'=1+1", "", ""]


def test_parts_have_their_names(labels: Path, tmp_path: Path) -> None:
    selected(
        labels, "--split", "train=0.75,test=0.25", "--splits", tmp_path / "splits.csv", "-o", tmp_path / "x.csv.gz"
    )
    train, test = (SoftLabels.read(tmp_path / f"x-{part}.csv.gz").items.to_pylist() for part in ("train", "test"))
    assert (len(train), len(test)) == (3, 1)
    assert set(train) | set(test) == {"a", "=b", "c", "d"}
    splits = dict(pl.read_csv(tmp_path / "splits.csv").rows())
    assert {item.lstrip("'") for item, part in splits.items() if part == "test"} == set(test)
    # A part lists the items of another table.
    np.savez(tmp_path / "x.npz", images=np.arange(4, dtype=np.uint8).reshape(4, 1, 1), items=["d", "c", "=b", "a"])
    selected(tmp_path / "x.npz", "--items", tmp_path / "x-train.csv.gz", "-o", tmp_path / "y.npz")
    assert set(Inputs.read(tmp_path / "y.npz").items) == set(train)


def test_an_npz_keeps_all_its_arrays(tmp_path: Path) -> None:
    probs = np.array([[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]])
    np.savez(tmp_path / "x.npz", probs=probs, classes=["cat", "dog"], seed=7, labels=[1, 0, 1])
    selected(tmp_path / "x.npz", "--where", "entropy<0.5", "-o", tmp_path / "y.npz")
    with np.load(tmp_path / "y.npz") as read:
        assert read["items"].tolist() == ["0", "2"]
        assert read["probs"].tolist() == probs[[0, 2]].tolist()
        assert (read["classes"].tolist(), read["seed"].item(), read["labels"].tolist()) == (["cat", "dog"], 7, [1, 1])


def test_sparse_matrices_and_folders_become_npz(labels: Path, tmp_path: Path) -> None:
    sparse.save_npz(tmp_path / "x.npz", sparse.csr_array(np.eye(3)))
    selected(tmp_path / "x.npz", "--split", "a=1,b=2", "-o", tmp_path / "part.npz")
    sizes = [len(Inputs.read(tmp_path / f"part-{name}.npz")) for name in "ab"]
    assert sizes == [1, 2]
    for name in ("a", "c", "e"):
        (tmp_path / "pictures").mkdir(exist_ok=True)
        Image.new("L", (2, 2)).save(tmp_path / "pictures" / f"{name}.png")
    selected(tmp_path / "pictures", "--labels", labels, "--where", "n_annotators>3", "-o", tmp_path / "z.npz")
    assert Inputs.read(tmp_path / "z.npz").items == ("c",)
    said = selected(labels, "--items", tmp_path / "pictures", "-o", tmp_path / "z.parquet")
    assert "1 of 3 ids of --items are not in the table: 'e'" in said


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--items", "none.txt", "-o", "x.parquet"), "no-such-file"),
        (("--where", "class==cat", "-o", "x.npz"), "file-kind"),
        (("--where", "class==cat", "-o", "labels.parquet"), "bad-setting"),
        (("--split", "train", "-o", "x.parquet"), "bad-setting"),
        (("--split", "a=0.5,a=0.5", "-o", "x.parquet"), "bad-setting"),
        (("--split", "../a=0.5,b=0.5", "-o", "x.parquet"), "bad-setting"),
        (("--per-class", "1", "--splits", "s.csv", "-o", "x.parquet"), "bad-setting"),
    ],
)
def test_mistakes(
    labels: Path, arguments: tuple[str, ...], code: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SfumatoError) as caught:
        selected(labels, *arguments)
    assert caught.value.code == code
    assert sorted(path.name for path in tmp_path.iterdir()) == ["labels.parquet"]


def test_a_tsv_is_read_and_written_as_csv(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_text("item\tlabel\na\tx, y\nb\tz\n")
    selected(tmp_path / "x.tsv", "--where", "class==x, y", "-o", tmp_path / "x.csv")
    assert pl.read_csv(tmp_path / "x.csv").rows() == [("a", "x, y")]


def test_other_files_are_to_be_imported_first(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"item": "a"}\n')
    (tmp_path / "x.csv").write_text("photo,vote\na,b\n")
    for arguments in (("x.jsonl", "--where", "item==a"), ("x.csv", "--split", "a=0.5,b=0.5")):
        with pytest.raises(SfumatoError, match="sfumato import"):
            selected(tmp_path / arguments[0], *arguments[1:], "-o", tmp_path / "y.csv")


def test_plain_class_columns_have_values_per_item(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("counts.csv").write_text("item,note,cat,dog\na,x,4,0\nb,y,2,2\nc,z,1,3\nd,z,3,1\n")
    Path("predicted.csv").write_text("item,cat,dog\na,0.95,0.05\nb,0.5,0.5\n")
    for arguments, expected in (
        (("counts.csv", "--where", "entropy>0.6"), "item,note,cat,dog\nb,y,2,2\n"),
        (("predicted.csv", "--where", "confidence>0.9"), "item,cat,dog\na,0.95,0.05\n"),
    ):
        done = CliRunner().invoke(group, ["select", *arguments, "-o", "out.csv"])
        assert done.exception is None, done.exception
        assert Path("out.csv").read_text().replace('"', "") == expected
    done = CliRunner().invoke(
        group, ["select", "counts.csv", "--split", "a=0.5,b=0.5", "--stratify", "class", "-o", "out.csv"]
    )
    assert done.exception is None, done.exception
    with pytest.warns(sf.SfumatoWarning, match="not classes"):
        kept = sf.select("counts.csv", where="entropy>0.6")
    assert kept.items.to_pylist() == ["b"]
    assert sf.select("predicted.csv", where="confidence>0.9").items.to_pylist() == ["a"]
