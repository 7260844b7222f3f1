"""Evidence: found by name in a folder, read as what it is, refused in words."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np
import pytest
import reported
from people_evidence import evidence_of
from PIL import Image

from sfumato import Counts, SoftLabels
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.tables.errors import BadFile, BadTable, SfumatoError
from sfumato.tables.model_inputs import InputOptions
from sfumato.tables.scores import RunScores, Scores

SCORE_HEAD = (
    "target,network,n_seeds,metric,condition,value,low,high,n_items,floor,covers,items_low,items_high,items_covers"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What commands write, under their usual names."""
    made = evidence_of()
    assert made.annotations is not None
    assert made.beliefs is not None
    assert made.original is not None
    assert made.inputs is not None
    made.annotations.write(tmp_path / "annotations.parquet")
    made.beliefs.write(tmp_path / "beliefs.parquet")
    (tmp_path / "labels").mkdir()
    for name, labels in made.labels.items():
        labels.write(tmp_path / "labels" / f"{name}.parquet")
    made.original.write(tmp_path / "original.csv")
    np.savez(tmp_path / "inputs.npz", images=made.inputs.images, items=np.array(made.inputs.items))
    rows = ["annotator,n_answers,set_aside,reasons,pay", "person 0,45,true,checks_passed; too_fast,true"]
    (tmp_path / "screening.csv").write_text("\n".join([*rows, "person 1,45,false,,true", ""]))
    (tmp_path / "scores.csv").write_text("metric,condition,value,low,high,n_items\naccuracy,all,0.5,0.4,0.6,40\n")
    (tmp_path / "map.csv").write_text("item,confidence\n007,0.5\n008,\n")
    (tmp_path / "runs").mkdir()
    return tmp_path


def test_a_folder_is_read_by_its_names(folder: Path) -> None:
    found = ReportInputs.read(folder)
    assert list(found.labels) == ["mean", "sharp"]
    assert (found.main_part, found.people_part) == ("labels/mean", "beliefs")
    assert found.beliefs is not None
    assert len(found.beliefs) == 405
    assert found.screening is not None
    assert found.screening.excluded == ("person 0",)
    assert found.screening.reasons == (("checks_passed", "too_fast"), ())
    assert isinstance(found.scores["scores"], Scores)
    assert found.columns["map"] == {"item": ("007", "008"), "confidence": (0.5, None)}
    assert found.runs == folder / "runs"
    assert found.study is found.plan is None
    assert len(found.judged or ()) == 360


def test_where_a_part_comes_from_is_known(folder: Path) -> None:
    found = ReportInputs.read(folder)
    digest = hashlib.sha256((folder / "labels" / "mean.parquet").read_bytes()).hexdigest()
    assert found.origins["labels/mean"].sha256 == digest
    source = found.source(found.main_part, command="sfumato doubt {file}")
    assert source.command == "sfumato doubt labels/mean.parquet"
    assert digest in source.note
    assert str(folder) not in repr(found.origins)


def test_named_files_go_before_those_of_the_folder(folder: Path) -> None:
    other = folder / "other.parquet"
    SoftLabels.from_numpy(["x"], [[0.5, 0.5]], ["a", "b"]).write(other)
    found = ReportInputs.read(folder, labels={"mine": other}, titles={"mine": "Ours"})
    assert list(found.labels) == ["mine"]
    assert found.title_of("mine") == "Ours"
    assert len(ReportInputs.read(labels=other).labels["labels"]) == 1


def test_labels_may_come_as_item_and_label(folder: Path) -> None:
    (folder / "original.csv").write_text("item,label\nitem 0,dog\nitem 1,emu\n")
    original = ReportInputs.read(folder).original
    assert original is not None
    assert original.probs.tolist() == [[0, 1, 0, 0], [0, 0, 1, 0]]


def test_labels_that_inputs_came_with_are_the_original_ones(folder: Path) -> None:
    (folder / "original.csv").unlink()
    labels = np.array(["cat", "dog"])
    np.savez(folder / "inputs.npz", texts=np.array(["a", "b"]), items=np.array(["item 0", "item 1"]), labels=labels)
    original = ReportInputs.read(folder).original
    assert original is not None
    assert original.probs.argmax(axis=1).tolist() == [0, 1]


def test_splits_share_out_the_inputs(folder: Path) -> None:
    (folder / "splits.csv").write_text("item,split\nitem 3,train\nitem 1,test\nitem 2,train\nnowhere,test\n")
    found = ReportInputs.read(folder).splits
    assert {name: each.items for name, each in found.items()} == {"train": ("item 3", "item 2"), "test": ("item 1",)}


def test_scores_of_runs_are_told_from_scores_of_one(folder: Path) -> None:
    (folder / "scores.csv").write_text(f"{SCORE_HEAD}\nsoft,lenet,3,accuracy,all,0.5,0.4,,40,,seeds,,,none\n")
    found = ReportInputs.read(folder).scores["scores"]
    assert isinstance(found, RunScores)
    assert (found.scores[0].target, found.scores[0].n_seeds, found.scores[0].value) == ("soft", 3, 0.5)
    assert np.isnan(found.scores[0].high)


def test_tables_are_told_by_what_they_hold(tmp_path: Path) -> None:
    counts = Counts.from_numpy(["a", "b"], [[2, 1], [0, 3]], ["x", "y"])
    counts.write(tmp_path / "labels.csv")
    found = ReportInputs.read(tmp_path)
    assert found.counts is not None
    assert not found.labels
    assert found.notes == ("labels.csv holds counts, and is used as such",)
    assert found.people_labels is not None
    assert found.people_labels.probs[0].tolist() == [2 / 3, 1 / 3]
    SoftLabels.from_numpy(["a"], [[0.5, 0.5]], ["x", "y"], 0).write(tmp_path / "labels.csv")
    (tmp_path / "votes.csv").write_text("item,annotator,label\na,p,x\na,q,y\nb,p,x\nb,q,x\n")
    found = ReportInputs.read(tmp_path)
    assert "labels.csv holds predictions" in found.notes[0]
    assert found.votes is not None
    assert dict(zip(found.votes.items.to_pylist(), found.votes.unanimous.tolist(), strict=True)) == {"a": 0, "b": 1}


@pytest.mark.parametrize("newer", ["runs", "labels"])
def test_scores_older_than_the_runs_are_not_used(tmp_path: Path, newer: str) -> None:
    reported.write_study(tmp_path, ("hard", "soft"), range(2))
    row = "soft,ffn,2,accuracy,all,0.123,0.1,0.2,40,,seeds,,,none"
    (tmp_path / "scores.csv").write_text(f"{SCORE_HEAD}\n{row}\n")
    assert list(ReportInputs.read(tmp_path).scores) == ["scores"]
    changed = (
        tmp_path / "labels.parquet" if newer == "labels" else next((tmp_path / "runs").rglob("predictions.parquet"))
    )
    now = (tmp_path / "scores.csv").stat().st_mtime_ns + 10**9
    os.utime(changed, ns=(now, now))
    found = ReportInputs.read(tmp_path)
    assert not found.scores
    assert found.notes == (
        "scores.csv is older than the runs or labels: it is not used, and the runs are scored again",
    )
    given = ReportInputs.read(tmp_path, scores=tmp_path / "scores.csv")
    assert list(given.scores) == ["scores"]
    assert "its numbers may be of other runs or labels" in given.notes[0]


def test_nothing_found_says_what_is_looked_for(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match=r"nothing to report on; expected .*study\.toml.*beliefs\.parquet.*labels/"):
        ReportInputs.read(tmp_path)
    with pytest.raises(BadFile, match="no-evidence"):
        ReportInputs.read()
    with pytest.raises(BadFile, match="no folder there"):
        ReportInputs.read(tmp_path / "nowhere")


def test_what_cannot_be_read_says_why(folder: Path) -> None:
    (folder / "beliefs.parquet").write_bytes(b"no parquet")
    with pytest.raises(SfumatoError, match=r"beliefs\.parquet"):
        ReportInputs.read(folder)
    with pytest.raises(BadTable, match="reasons"):
        _with(folder, "screening.csv", "annotator,set_aside\na,true\n")
    with pytest.raises(SfumatoError, match=r"none\.parquet"):
        ReportInputs.read(annotations=folder / "none.parquet")
    with pytest.raises(BadFile, match="a folder of runs"):
        ReportInputs.read(runs=folder / "map.csv")


def _with(folder: Path, name: str, text: str) -> ReportInputs:
    (folder / name).write_text(text)
    return ReportInputs.read(screening=folder / name)


def test_a_folder_of_pictures_and_a_table_of_texts_are_inputs(tmp_path: Path) -> None:
    for name in ("cat/1.png", "dog/2.png"):
        (tmp_path / "inputs" / name).parent.mkdir(parents=True)
        Image.new("L", (3, 2)).save(tmp_path / "inputs" / name)
    evidence = ReportInputs.read(tmp_path)
    assert evidence.inputs is not None
    assert evidence.inputs.items == ("cat/1", "dog/2")
    assert evidence.original is not None, "the folders are the original classes"
    assert evidence.original.classes == ("cat", "dog")
    (tmp_path / "inputs.csv").write_text("item,tweet\nq1,one\n")
    evidence = ReportInputs.read(tmp_path, reading=InputOptions(text=("tweet",)))
    assert evidence.inputs is not None
    assert evidence.inputs.texts == ("one",)
