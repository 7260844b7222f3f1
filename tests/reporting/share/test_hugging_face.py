"""The Hugging Face folder, read back by the datasets library where it is installed, and by pyarrow in any case."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from PIL import Image

from sfumato.reporting.share import HuggingFace, Release, Splits
from sfumato.reporting.share import hugging_face as module
from sfumato.tables.doubt import entropy
from sfumato.tables.errors import BadTable
from sfumato.tables.shifted_times import START_MS

CLASSES = ["cat, black", 'say "dog"', "=ship", "never"]


def front_matter(folder: Path) -> dict:
    """The card's YAML, by a reader that is not ours."""
    text = (folder / "README.md").read_text(encoding="utf-8")
    return yaml.safe_load(re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)[1])


def read(folder: Path, below: str = "data") -> pa.Table:
    return pa.concat_tables([pq.read_table(path) for path in sorted((folder / below).iterdir())])


def in_order(table: pa.Table, release: Release) -> pa.Table:
    """The rows as the labels have them, whatever split they came from."""
    place = {item: row for row, item in enumerate(table.column("item").to_pylist())}
    assert len(place) == len(table)
    return table.take([place[item] for item in release.labels.items.to_pylist()])


def test_every_value_comes_back(grey, tmp_path):
    HuggingFace().write(grey, tmp_path / "out")
    table = in_order(read(tmp_path / "out"), grey)
    labels = grey.labels
    assert table.column("item").to_pylist() == labels.items.to_pylist()
    assert np.array_equal(np.array(table.column("probs").to_pylist()), labels.probs)
    assert table.column("label").to_pylist() == labels.probs.argmax(axis=1).tolist()
    assert table.column("label")[3].as_py() == 0, "of three that tie the first"
    assert table.column("n_annotators").to_pylist() == labels.n_annotators.tolist()
    assert np.array_equal(table.column("entropy").to_numpy(), entropy(labels.probs))
    for row, picture in enumerate(table.column("image").to_pylist()):
        with Image.open(io.BytesIO(picture["bytes"])) as image:
            assert np.array_equal(np.asarray(image), grey.inputs.images[row])


def test_the_schema_says_what_the_documented_features_are(colour, tmp_path):
    HuggingFace().write(colour, tmp_path / "out")
    schema = read(tmp_path / "out").schema
    assert json.loads(schema.metadata[b"huggingface"])["info"]["features"] == {
        "item": {"dtype": "string", "_type": "Value"},
        "image": {"_type": "Image"},
        "label": {"names": CLASSES, "_type": "ClassLabel"},
        "probs": {"feature": {"dtype": "float64", "_type": "Value"}, "length": 4, "_type": "Sequence"},
        "n_annotators": {"dtype": "int32", "_type": "Value"},
        "entropy": {"dtype": "float64", "_type": "Value"},
    }
    assert schema.field("image").type == pa.struct({"bytes": pa.binary(), "path": pa.string()})
    assert schema.field("probs").type == pa.list_(pa.float64(), 4)
    assert schema.field("label").type == pa.int64()


def test_the_card_says_what_is_there(grey, tmp_path):
    HuggingFace().write(grey, tmp_path / "out")
    said = front_matter(tmp_path / "out")
    assert (said["pretty_name"], said["license"]) == ('Odd: "set" <1>', "cc-by-4.0")
    assert (said["task_categories"], said["size_categories"]) == (["image-classification"], ["n<1K"])
    labels, beliefs, answers = said["dataset_info"]
    names = next(each for each in labels["features"] if each["name"] == "label")["dtype"]["class_label"]["names"]
    assert names == {str(k): name for k, name in enumerate(CLASSES)}
    assert {each["name"]: each["num_examples"] for each in labels["splits"]} == {"train": 6, "test": 5, "held_out": 5}
    assert sum(each["num_examples"] for each in beliefs["splits"]) == 48
    assert sum(each["num_examples"] for each in answers["splits"]) == 16
    for config, info in zip(said["configs"], said["dataset_info"], strict=True):
        for part, counted in zip(config["data_files"], info["splits"], strict=True):
            found = sorted((tmp_path / "out").glob(part["path"]))
            assert sum(pq.read_metadata(path).num_rows for path in found) == counted["num_examples"]
        below = (tmp_path / "out" / config["data_files"][0]["path"]).parent
        assert info["download_size"] == sum(path.stat().st_size for path in below.iterdir())
    body = (tmp_path / "out" / "README.md").read_text()
    assert "how people judge" in body
    assert '# Odd: "set" \\<1\\>' in body


def test_an_unknown_licence_is_named_as_other(bare, tmp_path):
    from dataclasses import replace

    HuggingFace().write(replace(bare, licence="Ours: only 'here'"), tmp_path / "out")
    said = front_matter(tmp_path / "out")
    assert (said["license"], said["license_name"]) == ("other", "Ours: only 'here'")
    assert said["task_categories"] == ["other"]
    HuggingFace().write(replace(bare, licence=None), tmp_path / "none")
    assert "license" not in front_matter(tmp_path / "none")


def test_large_sets_lie_in_several_shards(written_texts, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SHARD_BYTES", 700)
    monkeypatch.setattr(module, "GROUP_BYTES", 300)
    HuggingFace().write(written_texts, tmp_path / "out")
    names = sorted(path.name for path in (tmp_path / "out" / "data").iterdir())
    assert len(names) > 2
    assert names == [f"train-{k:05d}-of-{len(names):05d}.parquet" for k in range(len(names))]
    table = read(tmp_path / "out")
    assert table.column("item").to_pylist() == written_texts.labels.items.to_pylist()
    assert tuple(table.column("text").to_pylist()) == written_texts.inputs.texts


def test_beliefs_and_answers_come_back(written_texts, tmp_path):
    HuggingFace().write(written_texts, tmp_path / "out")
    beliefs, answers = read(tmp_path / "out", "beliefs"), read(tmp_path / "out", "annotations")
    assert beliefs.column("annotator").to_pylist() == ["0", "00", "é"] * 16
    assert np.array_equal(np.array(beliefs.column("probs").to_pylist()), written_texts.beliefs.probs)
    assert beliefs.column("label").to_pylist() == written_texts.beliefs.probs.argmax(axis=1).tolist()
    assert answers.column("seconds").to_pylist() == [float(i) for i in range(16)]
    assert answers.column("submitted_at").cast(pa.int64()).to_pylist() == [START_MS] * 16
    assert answers.column("trial").null_count == 16


@pytest.mark.parametrize("name", ["held out", "a-b", "all", "."])
def test_split_names_that_the_library_refuses(labels, tmp_path, name):
    release = Release.of(labels, splits=Splits.of(dict.fromkeys(labels.items.to_pylist(), name)))
    with pytest.raises(BadTable, match=r"found a split named .*rename the split"):
        HuggingFace().write(release, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.filterwarnings("ignore")  # of the library and what it imports
@pytest.mark.parametrize("which", ["grey", "colour", "written_texts", "bare"])
def test_the_datasets_library_reads_it(which, tmp_path, request, monkeypatch):
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets", reason="the datasets library is not installed")
    datasets.disable_progress_bars()
    release = request.getfixturevalue(which)
    HuggingFace().write(release, tmp_path / "out")
    found = datasets.load_dataset(str(tmp_path / "out"), cache_dir=str(tmp_path / "cache"))
    assert list(found) == [name for name, _ in release.parts()]
    for split, rows in release.parts():
        part = found[split]
        assert part["item"][:] == release.labels.items.take(pa.array(rows)).to_pylist()
        assert np.array_equal(np.array(part["probs"][:]), release.labels.probs[rows])
        assert part["label"][:] == release.labels.probs[rows].argmax(axis=1).tolist()
        assert part["n_annotators"][:] == release.labels.n_annotators[rows].tolist()
        assert np.array_equal(np.array(part["entropy"][:]), entropy(release.labels.probs[rows]))
        assert part.features["label"] == datasets.ClassLabel(names=CLASSES)
        assert part.features["probs"] == datasets.Sequence(datasets.Value("float64"), length=4)
        if release.inputs is not None and release.inputs.images is not None:
            assert part.features["image"] == datasets.Image()
            for i, row in enumerate(rows.tolist()):
                assert np.array_equal(np.asarray(part[i]["image"]), release.inputs.images[row])
        elif release.inputs is not None:
            assert part["text"][:] == [release.inputs.texts[row] for row in rows]
    if release.beliefs is not None:
        beliefs = datasets.load_dataset(str(tmp_path / "out"), "beliefs", cache_dir=str(tmp_path / "cache"))
        assert sum(len(part) for part in beliefs.values()) == len(release.beliefs)
        said = {(row["item"], row["annotator"]): row["probs"] for part in beliefs.values() for row in part}
        for row, probs in enumerate(release.beliefs.probs.tolist()):
            item, who = release.beliefs.item, release.beliefs.annotator
            assert said[item.names[item.codes[row]].as_py(), who.names[who.codes[row]].as_py()] == probs
        answers = datasets.load_dataset(str(tmp_path / "out"), "annotations", cache_dir=str(tmp_path / "cache"))
        assert sum(len(part) for part in answers.values()) == len(release.annotations)
