"""Files of other tools and data sets, written here to each documented format: what is read, item by item.

Every file is read by `import auto`, or by name where nothing in it is certain, and by `sf.read`. The expected votes are
written by hand from the files.
"""

from __future__ import annotations

import gzip
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.importers import import_file
from sfumato.tables.errors import BadTable

FOREIGN = Path(__file__).parent / "foreign"
A, B, C = (f"6f1d0c52-0000-4000-8000-00000000000{letter}" for letter in "abc")
Votes = dict[tuple[str, str], str]
"""The class, or the classes joined by `+`, by item and annotator."""


@dataclass(frozen=True)
class Case:
    """A file, the format it is, and its votes (by item and annotator) or counts (by item and class)."""

    format: str
    source: str | Callable[[Path], Path]
    expected: dict[Any, Any]
    settings: dict[str, Any] = field(default_factory=dict)
    certain: bool = True
    classes: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        name = self.source if isinstance(self.source, str) else self.source.__name__
        return f"{self.format}-{name}"

    def path(self, folder: Path) -> Path:
        return FOREIGN / self.source if isinstance(self.source, str) else self.source(folder)


def by_annotator(**votes: str) -> Votes:
    """`ana="m1 neutral, m2 sad"` as votes."""
    pairs = ((who, vote.split()) for who, given in votes.items() for vote in given.split(", "))
    return {(item, who): label for who, (item, label) in pairs}


# Files that are made here: binary formats, archives, and variants of one content


def text_file(name: str, text: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        path = folder / name
        data = text.encode()
        path.write_bytes(gzip.compress(data, mtime=0) if name.endswith(".gz") else data)
        return path

    make.__name__ = name
    return make


def lines(*records: Any) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def doccano_zip(folder: Path) -> Path:
    with zipfile.ZipFile(folder / "export.zip", "w") as archive:
        for name in ("ana.jsonl", "ben.jsonl"):
            archive.write(FOREIGN / "doccano_1_8" / name, name)
    return folder / "export.zip"


def peerannot_folder(folder: Path) -> Path:
    for name in ("answers.json", "metadata.json"):
        (folder / name).write_bytes((FOREIGN / "peerannot" / name).read_bytes())
    for name in ("dog/a-0.png", "cat/b-1.png", "dog/c-2.png", "cat/d-3.png"):
        (folder / "train" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "train" / name).touch()
    return folder


def torch_file(arrays: dict[str, Any], path: Path) -> Path:
    """A file as torch.save writes it for a dictionary of NumPy arrays: a zip with one pickle."""
    import pickle

    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(arrays, protocol=2))
        archive.writestr("archive/version", "3\n")
    return path


def cifar_10n(folder: Path) -> Path:
    votes = {"random_label1": [3, 0, 1], "random_label2": [3, 0, 5], "random_label3": [5, 0, 9]}
    derived = {"aggre_label": [3, 0, 5], "worse_label": [5, 0, 9]}
    arrays = {"clean_label": [3, 0, 1], **derived, **votes}
    named = {name: np.array(numbers) for name, numbers in arrays.items()}
    return torch_file(named, folder / "CIFAR-10_human.pt")


def cifar_100n(folder: Path) -> Path:
    coarse = {"clean_coarse_label": [4, 1], "noisy_coarse_label": [4, 2]}
    arrays = {"clean_label": np.array([0, 99]), "noisy_label": np.array([0, 17]), **coarse}
    return torch_file(arrays, folder / "CIFAR-100_human.pt")


def cifar_100n_ordered(folder: Path) -> Path:
    np.save(folder / "c.npy", {"clean_label": np.array([1, 2]), "noise_label": np.array([1, 3])}, allow_pickle=True)
    return folder / "c.npy"


NAMES = ["negative", "neutral", "positive"]
ROWS: dict[str, list[Any]] = {
    "id": ["a1", "a2"],
    "votes": [[0, 0, 1], [2, 1]],
    "annotators": [["p1", "p2", "p3"], ["p1", "p4"]],
    "soft": [[0.75, 0.25, 0.0], [0.0, 0.5, 0.5]],
    "counts": [{"negative": 2, "neutral": 1, "positive": 0}, {"negative": 0, "neutral": 1, "positive": 1}],
}
LABEL = {"names": NAMES, "_type": "ClassLabel"}
FEATURES = {
    "id": {"dtype": "string", "_type": "Value"},
    "votes": {"feature": LABEL, "_type": "List"},
    "annotators": {"feature": {"dtype": "string", "_type": "Value"}, "_type": "List"},
    "soft": {"feature": {"dtype": "float32", "_type": "Value"}, "length": 3, "_type": "List"},
    "counts": {name: {"dtype": "int32", "_type": "Value"} for name in NAMES},
}


def features_table(start: int = 0, stop: int = 2) -> pa.Table:
    """The rows with the types and the metadata that the datasets library writes."""
    counts = pa.struct([(name, pa.int32()) for name in NAMES])
    kinds = [pa.string(), pa.list_(pa.int64()), pa.list_(pa.string()), pa.list_(pa.float32(), 3), counts]
    schema = pa.schema(list(zip(ROWS, kinds, strict=True)))
    metadata = {b"huggingface": json.dumps({"info": {"features": FEATURES}}).encode()}
    return pa.table({name: rows[start:stop] for name, rows in ROWS.items()}, schema=schema).replace_schema_metadata(
        metadata
    )


def saved(folder: Path, *parts: tuple[int, int]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"data-{number:05d}-of-{len(parts):05d}.arrow" for number in range(len(parts))]
    for name, (start, stop) in zip(names, parts, strict=True):
        table = features_table(start, stop)
        with pa.OSFile(str(folder / name), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table)
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": name} for name in names]}))
    (folder / "dataset_info.json").write_text(json.dumps({"features": FEATURES}))
    return folder


def hf_folder(folder: Path) -> Path:
    (folder / "data-00009-of-00009.arrow").write_bytes(b"an old file that state.json does not name")
    return saved(folder, (0, 1), (1, 2))


def hf_dict(folder: Path) -> Path:
    for name, part in (("train", (0, 1)), ("test", (1, 2))):
        saved(folder / name, part)
    (folder / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    return folder


def hf_parquet(folder: Path) -> Path:
    pq.write_table(features_table(), folder / "train-00000-of-00001.parquet")
    return folder / "train-00000-of-00001.parquet"


def hf_long(folder: Path) -> Path:
    features = {"item": FEATURES["id"], "annotator": FEATURES["id"], "label": LABEL}
    metadata = {b"huggingface": json.dumps({"info": {"features": features}}).encode()}
    table = pa.table({"item": ["a", "a"], "annotator": ["x", "y"], "label": [2, -1]}).replace_schema_metadata(metadata)
    pq.write_table(table, folder / "t.parquet")
    return folder / "t.parquet"


def argilla_parquet(folder: Path) -> Path:
    records = [json.loads(line) for line in (FOREIGN / "argilla_2_flat.jsonl").read_text().splitlines()]
    pq.write_table(pa.Table.from_pylist(records), folder / "a.parquet")
    return folder / "a.parquet"


MOOD = by_annotator(ana="m1 neutral, m2 sad, m3 sad", ben="m1 neutral, m2 neutral, m4 neutral")
FIRST_MOODS = by_annotator(ana="m1 neutral, m2 sad", ben="m1 neutral, m2 neutral")
ARGILLA = {("m1", A): "neutral", ("m1", B): "neutral", ("m2", A): "sad", ("m2", B): "neutral", ("m2", C): "sad"}
DOCCANO = by_annotator(ana="21 neutral, 22 sad, 23 ironic+sad", ben="21 neutral, 22 neutral, 24 neutral")
STUDIO = {("1", "3"): "neutral", ("2", "3"): "sad", ("1", "5"): "neutral", ("3", "5"): "ironic+sad"}
LISTED = {
    ("a1", "p1"): "negative", ("a1", "p2"): "negative", ("a1", "p3"): "neutral",
    ("a2", "p1"): "positive", ("a2", "p4"): "neutral",
}  # fmt: skip
LISTED_COUNTS = {"a1": {"negative": 2, "neutral": 1}, "a2": {"neutral": 1, "positive": 1}}
FACES = {
    "0": {"neutral": 5, "happiness": 1, "sadness": 1, "anger": 3},
    "2": {"neutral": 7, "surprise": 1},
    "3": {"happiness": 8, "surprise": 1},
    "4": {"neutral": 5, "sadness": 2},
}
CROWD = by_annotator(x="1 cat, 2 dog", y="1 dog")
CROWD_ROWS = [("item", "annotator", "label"), ("1", "x", "cat"), ("2", "x", "dog"), ("1", "y", "dog")]
COUNTS = {"a": {"cat": 3, "dog": 1}, "b": {"dog": 4}}
SHARES = {"a": {"cat": 0.75, "dog": 0.25}, "b": {"dog": 1}}
COUNTED = [{"item": "a", "counts": {"cat": 3, "dog": 1}}, {"item": "b", "counts": {"cat": 0, "dog": 4}}]
ONE_BY_ONE = [dict(zip(CROWD_ROWS[0], row, strict=True)) for row in CROWD_ROWS[1:]]


SHARES_BY_ITEM = {"a": {"cat": 0.75, "dog": 0.25}, "b": {"cat": 0.0, "dog": 1.0}}


def lewidi_folder(folder: Path) -> Path:
    for split in ("train", "dev"):
        entry = {
            "text": "x", "annotation task": "y", "number of annotations": 2, "annotations": "0,1",
            "annotators": "Ann1,Ann2", "lang": "en", "soft_label": {"0": 0.5, "1": 0.5}, "split": split,
        }  # fmt: skip
        (folder / f"Set_{split}.json").write_text(json.dumps({"1": entry}))
    (folder / "Set_annotators_meta.json").write_text("{}")
    return folder


def separated(mark: str) -> str:
    return "\n".join(mark.join(row) for row in CROWD_ROWS)


CASES = [
    # Published data sets
    Case("lewidi", "lewidi_2023.json", by_annotator(
        Ann1="train:1 0, train:2 1, train:3 1", Ann2="train:1 0, train:2 0, train:3 1", Ann3="train:1 0",
        Ann4="train:2 1", Ann5="train:3 0",
    ), classes=("0", "1")),
    Case("lewidi", "lewidi_convabuse.json", by_annotator(
        Ann1="dev:2 -2", Ann2="dev:1 1, dev:2 -1", Ann3="dev:2 0, dev:3 -1", Ann7="dev:1 0", Ann8="dev:3 1",
    ), classes=("-3", "-2", "-1", "0", "1")),
    Case("lewidi", "lewidi_convabuse.json", by_annotator(
        Ann1="dev:2 1", Ann2="dev:1 0, dev:2 1", Ann3="dev:2 0, dev:3 1", Ann7="dev:1 0", Ann8="dev:3 0",
    ), {"part": "binary"}, classes=("0", "1")),
    Case("lewidi", "lewidi_csc.json", by_annotator(
        Ann10="4001 6, 17 1", Ann11="4001 5, 17 2", Ann12="4001 6, 17 3", Ann13="4001 2",
        Ann900="305 5", Ann901="305 5",
    ), classes=("1", "2", "3", "4", "5", "6")),
    Case("lewidi", "lewidi_mp.json", by_annotator(
        Ann0="2 1", Ann10="2 1", Ann16="2 0", Ann3="5 0", Ann4="5 0",
    ), classes=("0", "1")),
    Case("lewidi", "lewidi_paraphrase.json", by_annotator(
        Ann1="218001 5, 44170 -4", Ann2="218001 4, 44170 -4", Ann3="218001 5, 44170 0", Ann4="218001 3, 44170 -3",
    ), classes=tuple(map(str, range(-5, 6)))),
    Case("lewidi", "lewidi_varierr.json", by_annotator(
        Ann1="49801 neutral, 76001 contradiction", Ann2="49801 entailment+neutral",
        Ann3="49801 neutral, 76001 contradiction", Ann4="49801 entailment",
    ), classes=("contradiction", "entailment", "neutral")),
    Case("chaosnli", "chaosnli_snli.jsonl", {
        "100001.jpg#0r1n": {"entailment": 30, "neutral": 70}, "100002.jpg#1r1c": {"contradiction": 100},
        "100003.jpg#2r1e": {"entailment": 50, "neutral": 50},
    }, classes=("entailment", "neutral", "contradiction")),
    Case("chaosnli", "chaosnli_alphanli.jsonl", {
        "00000000-0000-4000-8000-0000000000011": {"hypothesis 1": 75, "hypothesis 2": 25},
        "00000000-0000-4000-8000-0000000000022": {"hypothesis 2": 100},
    }),
    Case("cifar-n", cifar_10n, {
        "0": {"cat": 2, "dog": 1}, "1": {"airplane": 3}, "2": {"automobile": 1, "dog": 1, "truck": 1},
    }),
    Case("cifar-n", cifar_100n, {"0": {"0": 1}, "1": {"17": 1}}),
    Case("cifar-n", cifar_100n_ordered, {"tf:0": {"1": 1}, "tf:1": {"3": 1}}),
    Case("ferplus", "ferplus.csv", FACES),
    Case("ferplus", "ferplus.csv", {"3": FACES["3"]}, {"split": "valid"}),
    Case("ferplus", "ferplus.csv", {"1": {"NF": 10}, "2": {"unknown": 1}, "3": {"NF": 1}, "4": {"unknown": 3},
        "5": {"NF": 10}}, {"classes": ("unknown", "NF")}, classes=("unknown", "NF")),
    Case("ferplus", "ferplus_boxes.csv", {
        "fer0000000.png": FACES["0"], "fer0000001.png": {"neutral": 6, "surprise": 1, "sadness": 1},
    }),
    Case("peerannot", peerannot_folder, {
        ("0", "0"): "dog", ("0", "1"): "cat", ("0", "2"): "dog", ("2", "1"): "dog",
        ("1", "0"): "cat", ("1", "7"): "cat",
    }, classes=("cat", "dog")),
    Case("cifar-10h", "cifar_10h_raw.csv", {
        ("0", "0"): "cat", ("check:toy_dog_s_000002.png", "0"): "dog", ("0", "1"): "dog", ("1", "1"): "ship",
    }),
    # Annotation tools
    Case("argilla", "argilla_2_nested.json", {**ARGILLA, ("m3", A): "ironic"}, {"label": "mood"}),
    Case("argilla", "argilla_2_flat.jsonl", ARGILLA, {"label": "mood"}),
    Case("argilla", argilla_parquet, ARGILLA, {"label": "mood"}),
    Case("argilla", "argilla_2_flat.jsonl", {
        ("m1", A): "1", ("m1", B): "2", ("m2", A): "4", ("m2", B): "2", ("m2", C): "5",
    }, {"label": "strength"}),
    Case("argilla", "argilla_1.jsonl", ARGILLA),
    Case("argilla", text_file("api.json", json.dumps({"total": 1, "items": [{
        "id": "r1", "fields": {"text": "x"}, "external_id": None, "responses": [
            {"user_id": "u1", "status": "submitted", "values": {"mood": {"value": ["sad", "odd"]}}},
            {"user_id": "u2", "status": "discarded", "values": None},
        ]}]})), {("r1", "u1"): "odd+sad"}),
    Case("doccano", "doccano_1_8", DOCCANO),
    Case("doccano", doccano_zip, DOCCANO),
    Case("doccano", "doccano_1_8/ana.jsonl", {key: vote for key, vote in DOCCANO.items() if key[1] == "ana"}),
    Case("doccano", "doccano_1_8_csv/ana.csv", {key: vote for key, vote in DOCCANO.items() if key[1] == "ana"},
        certain=False),
    Case("doccano", text_file("ben.jsonl", lines(
        {"id": 1, "text": "x", "label": ["sad"]}, {"id": 2, "text": "y", "label": ["odd"]})),
        by_annotator(ben="1 sad, 2 odd"),
        certain=False),
    Case("doccano", "doccano_1_0.jsonl", {
        ("21", "1"): "7", ("21", "2"): "7", ("22", "1"): "8", ("22", "2"): "7", ("23", "1"): "8+9",
    }),
    Case("label-studio", "label_studio_min.json", STUDIO, {"label": "mood"}),
    Case("label-studio", "label_studio.csv", STUDIO, {"label": "mood"}),
    Case("label-studio", "label_studio.csv", {("m2", "3"): "4"}, {
        "label": "strength", "item": "key", "classes": tuple("12345"),
    }, classes=tuple("12345")),
    Case("potato", "potato_2", MOOD, {"label": "mood"}),
    Case("potato", "potato_2/ana/user_state.json", {("m1", "ana"): "4", ("m2", "ana"): "2"}, {"label": "sure"}),
    Case("potato", "potato_2.jsonl", MOOD, {"label": "mood"}),
    Case("potato", "potato_2.csv", MOOD, {"label": "mood"}, certain=False),
    Case("potato", "potato_1", FIRST_MOODS, {"label": "mood"}),
    Case("potato", "potato_1.tsv", FIRST_MOODS, {"label": "mood"}),
    Case("prodigy", "prodigy_choice.jsonl", {
        ("101", "mood_demo-ana"): "neutral", ("-202", "mood_demo-ana"): "sad",
        ("101", "mood_demo-ben"): "neutral", ("-202", "mood_demo-ben"): "neutral",
    }, classes=("happy", "sad", "neutral")),
    Case("prodigy", "prodigy_choice.jsonl", {
        ("m1", "mood_demo-ana"): "neutral", ("m2", "mood_demo-ana"): "sad",
        ("m1", "mood_demo-ben"): "neutral", ("m2", "mood_demo-ben"): "neutral",
    }, {"item": "meta.id"}),
    Case("prodigy", "prodigy_yes_no.jsonl", {
        ("101", "mood_bin-ana"): "IRONIC?", ("-202", "mood_bin-ana"): "SAD", ("101", "mood_bin-ben"): "IRONIC?",
        ("303", "mood_bin-ben"): "IRONIC+SAD?",
    }),
    # Tables, JSON and Hugging Face
    Case("crowd", text_file("v.csv", separated(";")), CROWD),
    Case("crowd", text_file("v.csv.gz", separated(",")), CROWD),
    Case("crowd", text_file("v.tsv", separated("\t")), CROWD),
    Case("crowd", text_file("tabs.csv", separated("\t")), CROWD),
    Case("wide", text_file("w.csv", "item,x,y\n1,cat,dog\n2,dog,\n"), CROWD, certain=False),
    Case("counts", text_file("c.csv", "item;cat;dog\na;3;1\nb;0;4\n"), COUNTS),
    Case("counts", text_file("uneven.csv", "item,cat,dog\na,3,1\nb,0,4\nc,2,0\n"), {**COUNTS, "c": {"cat": 2}},
        certain=False),
    Case("counts", text_file("arrays.csv", "item,cat,dog,Usage\na,3,1,train\nb,0,4,test\n"), COUNTS,
        {"leave_out": ("Usage",)}),
    Case("counts", text_file("floats.csv", "item,cat,dog\na,3.0,1.0\nb,0.0,4.0\n"), COUNTS),
    Case("counts", text_file("no_ids.csv", "cat,dog\n3,1\n0,4\n"), {"0": COUNTS["a"], "1": COUNTS["b"]}),
    Case("lewidi", lewidi_folder, {
        ("train:1", "Ann1"): "0", ("train:1", "Ann2"): "1", ("dev:1", "Ann1"): "0", ("dev:1", "Ann2"): "1",
    }),
    Case("labels", text_file("shares.json", json.dumps(SHARES_BY_ITEM)), SHARES),
    Case("labels", text_file("share_records.json", json.dumps([
        {"id": item, **shares} for item, shares in SHARES_BY_ITEM.items()])), SHARES),
    Case("labels", text_file("share_columns.json", json.dumps({
        "item": {"0": "a", "1": "b"}, "cat": {"0": 0.75, "1": 0}, "dog": {"0": 0.25, "1": 1}})), SHARES),
    Case("json", text_file("vote_columns.json", json.dumps({
        name: {str(n): row[name] for n, row in enumerate(ONE_BY_ONE)} for name in CROWD_ROWS[0]})), CROWD),
    Case("json", text_file("class_columns.json", json.dumps({
        "item": {"0": "a", "1": "b"}, "cat": {"0": 3.0, "1": 0.0}, "dog": {"0": 1.0, "1": 4.0}})), COUNTS,
        {"part": "counts"}, certain=False),
    Case("predictions", text_file("one_model.json", json.dumps({"roberta": {
        item: {"predicted_probabilities": list(shares.values()), "logits": [1, 2]}
        for item, shares in SHARES_BY_ITEM.items()}})), SHARES, {"classes": ("cat", "dog")}, certain=False),
    Case("predictions", text_file("two_models.json", json.dumps({
        "bert": {"a": [0.5, 0.5], "b": [0.5, 0.5]}, "roberta": {"a": [0.75, 0.25], "b": [0, 1]}})), SHARES,
        {"classes": ("cat", "dog"), "array": "roberta"}, certain=False),
    Case("labels", text_file("shares.csv", "item,cat,dog\na,0.75,0.25\nb,0,1\n"), SHARES),
    Case("labels", text_file("hard.csv", "item,label\na,cat\nb,dog\n"), {"a": {"cat": 1}, "b": {"dog": 1}}),
    Case("predictions", text_file("p.jsonl", lines({"uid": "a", "probs": [0.75, 0.25]}, {"uid": "b", "probs": [0, 1]})),
        SHARES, {"classes": ("cat", "dog")}),
    Case("predictions", text_file("z.jsonl", lines({"uid": "a", "logits": [5, 5]}, {"uid": "b", "logits": [-7, -7]})),
        {"a": {"cat": 0.5, "dog": 0.5}, "b": {"cat": 0.5, "dog": 0.5}}, {"classes": ("cat", "dog"), "logits": True}),
    Case("json", text_file("v.jsonl", lines(*ONE_BY_ONE)), CROWD),
    Case("json", text_file("v.jsonl.gz", lines(*ONE_BY_ONE)), CROWD),
    Case("json", text_file("v.json", json.dumps(ONE_BY_ONE)), CROWD),
    Case("json", text_file("columns.json", json.dumps({
        "item": ["1", "2", "1"], "annotator": ["x", "x", "y"], "label": ["cat", "dog", "dog"]})), CROWD),
    Case("json", text_file("lists.jsonl", lines(
        {"item": 1, "labels": ["cat", "dog"], "annotators": ["x", "y"]},
        {"item": 2, "labels": ["dog"], "annotators": ["x"]})), CROWD),
    Case("json", text_file("objects.json", json.dumps([
        {"item": 1, "votes": {"x": "cat", "y": "dog"}}, {"item": 2, "votes": {"x": "dog"}}])), CROWD),
    Case("json", text_file("records.json", json.dumps([
        {"item": 1, "annotations": [{"annotator": "x", "label": "cat"}, {"annotator": "y", "label": "dog"}]},
        {"item": 2, "annotations": [{"annotator": "x", "label": "dog"}]}])), CROWD),
    Case("json", text_file("by_item.json", '{"1": {"x": "cat", "y": "dog"}, "2": {"x": "dog"}}'), CROWD, certain=False),
    Case("json", text_file("anonymous.jsonl", lines(
        {"item": "a", "labels": ["cat", "cat", "dog", "cat"]}, {"item": "b", "labels": ["dog"] * 4})), COUNTS),
    Case("json", text_file("counts.jsonl", lines(*COUNTED)), COUNTS),
    Case("json", text_file("counts.json", json.dumps(COUNTED)), COUNTS),
    Case("json", text_file("number_lists.jsonl", lines(
        {"item": "a", "counts": [3, 1]}, {"item": "b", "counts": [0, 4]})), COUNTS, {"classes": ("cat", "dog")}),
    Case("json", text_file("counts_by_item.json", '{"a": {"cat": 3, "dog": 1}, "b": {"dog": 4}}'), COUNTS,
        {"part": "counts"}, certain=False),
    Case("hugging-face", hf_folder, LISTED, {"label": "votes"}, classes=tuple(NAMES)),
    Case("hugging-face", hf_dict, LISTED_COUNTS, {"label": "counts"}),
    Case("hugging-face", hf_dict, {"a2": LISTED_COUNTS["a2"]}, {"label": "counts", "split": "test"}),
    Case("hugging-face", hf_parquet, {
        "a1": {"negative": 0.75, "neutral": 0.25}, "a2": {"neutral": 0.5, "positive": 0.5},
    }, {"label": "soft"}, classes=tuple(NAMES)),
    Case("hugging-face", hf_long, {("a", "x"): "positive"}, classes=tuple(NAMES)),
]  # fmt: skip


def content(table: Any) -> dict[Any, Any]:
    """The votes of a table by item and annotator, or its numbers by item and class."""
    if isinstance(table, sf.Counts):
        return _numbers(table.items.to_pylist(), table.counts.tolist(), table.classes)
    if isinstance(table, sf.SoftLabels):
        return _numbers(table.items.to_pylist(), table.probs.tolist(), table.classes)
    if isinstance(table, sf.Beliefs):
        items, people = table.item.text().to_pylist(), table.annotator.text().to_pylist()
        labels = [table.classes[k] for k in table.probs.argmax(axis=1)]
        return dict(zip(zip(items, people, strict=True), labels, strict=True))
    return {
        (row["item"], row["annotator"]): _vote(json.loads(row["payload"]))
        for row in table.to_arrow().to_pylist()
        if row["purpose"] != "repeat"
    }


def _numbers(items: list[str], rows: list[list[float]], classes: tuple[str, ...]) -> dict[str, dict[str, float]]:
    return {
        item: {name: n for name, n in zip(classes, row, strict=True) if n}
        for item, row in zip(items, rows, strict=True)
    }


def _vote(payload: dict[str, Any]) -> str:
    """The class chosen, or all marked yes, and with a question mark those marked unsure."""
    if "class" in payload:
        return str(payload["class"])
    marks = {"yes": "", "unsure": "?"}
    return "+".join(f"{name}{marks[mark]}" for name, mark in sorted(payload.items()) if mark in marks)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_values(case: Case, tmp_path: Path) -> None:
    source = case.path(tmp_path)
    name = "auto" if case.certain else case.format
    imported = import_file(source, name, case.settings)
    assert imported.format_name == case.format
    assert content(imported.table) == case.expected
    if case.certain:
        assert imported.notes[0].startswith(f"read as {case.format}: ")
    if case.classes:
        assert imported.table.classes == case.classes
    assert content(sf.read(source, format=name, **case.settings)) == case.expected


@pytest.mark.parametrize("case", [case for case in CASES if not case.certain], ids=lambda case: case.id)
def test_what_is_not_certain_is_asked(case: Case, tmp_path: Path) -> None:
    with pytest.raises(BadTable, match=f'format="{case.format}"|lists? them') as caught:
        import_file(case.path(tmp_path), "auto", case.settings)
    assert caught.value.code in ("not-certain", "unknown-table")


def test_there_are_thirty_files() -> None:
    assert len({case.id for case in CASES}) >= 30
