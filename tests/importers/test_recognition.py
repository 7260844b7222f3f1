"""Recognition and the traps of foreign files: what is refused, left out, or read with a note."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import zipfile
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato import importers
from sfumato.cli.import_ import command
from sfumato.importers import Evidence, ImportResult, Preview, import_file
from sfumato.tables.errors import BadFile, BadProbabilities, BadRows, BadSetting, BadTable, UnknownName, UnsafeFile

FOREIGN = Path(__file__).parent / "foreign"


def lines(*records: object) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


# What recognition says


def test_the_command_says_what_it_took_the_file_for(tmp_path):
    out = tmp_path / "out.parquet"
    done = CliRunner().invoke(command, ["auto", str(FOREIGN / "lewidi_csc.json"), "-o", str(out)])
    assert "read as lewidi: each entry has annotation task, annotations" in done.output
    assert len(sf.Annotations.read(out)) == 9


def test_a_delimiter_is_found_by_auto_and_given_by_option(written, tmp_path):
    path = written("v.csv", "item|annotator|label\n1|x|cat\n1|y|dog\n")
    assert "columns separated by '|'" in import_file(path).notes[0]
    out = str(tmp_path / "out.parquet")
    assert CliRunner().invoke(command, ["crowd", str(path), "--delimiter", "|", "-o", out]).exit_code == 0
    with pytest.warns(sf.SfumatoWarning, match=r"v.csv: columns are separated by '\|'"):
        assert len(import_file(path, "crowd").table) == 2
    with pytest.raises(BadSetting, match="the delimiter 'x'"):
        import_file(path, "crowd", {"delimiter": "x"})


def test_candidates_are_listed_with_their_evidence(written):
    path = written("w.csv", "item,x,y\n1,1,2\n2,2,1\n3,1,1\n")
    with pytest.raises(BadTable) as caught:
        import_file(path)
    assert caught.value.code == "not-certain"
    assert "wide (one row per item" in caught.value.found
    assert "counts (whole numbers in x, y)" in caught.value.found
    assert f'sf.read("{path}", format="wide") or sf.read("{path}", format="counts")' in caught.value.fix
    done = CliRunner().invoke(command, ["auto", str(path), "-o", str(path.with_suffix(".parquet"))])
    assert f"sfumato import wide {path} -o FILE or sfumato import counts {path} -o FILE" in str(done.exception)


@pytest.mark.parametrize("text", ["3", "[]", '["a"]', "{}", '[{"x": 1}]'])
def test_json_of_nothing_known_is_refused(written, text):
    with pytest.raises(BadTable) as caught:
        import_file(written("a.json", text))
    assert caught.value.code in ("unknown-table", "not-certain")


def test_a_setting_of_another_format_is_refused_by_name():
    with pytest.raises(BadSetting, match="the setting scale for lewidi"):
        import_file(FOREIGN / "lewidi_csc.json", settings={"scale": 5.0})


def test_a_name_that_is_no_file_type_lists_the_types(written):
    with pytest.raises(BadFile, match=r"\.jsonl.*\.zip, \.pt"):
        import_file(written("a.docx", "x"))


def test_a_folder_of_nothing_known_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(BadTable, match=r"files notes\.txt"):
        import_file(tmp_path)


@dataclass(frozen=True)
class Flags:
    """A format of another distribution: files that begin with a flag."""

    name: ClassVar[str] = "flags"

    @classmethod
    def recognize(cls, preview: Preview) -> Evidence | None:
        return Evidence("columns flag and name") if preview.has_columns("flag", "name") else None

    def read(self, source):
        return ImportResult(sf.Beliefs.from_votes(item=["1"], annotator=["a"], label=["x"], classes=["x", "y"]), ())


def test_formats_of_other_distributions_are_found(written, monkeypatch):
    point = EntryPoint("flags", f"{__name__}:Flags", "sfumato.importers")
    monkeypatch.setattr(EntryPoint, "load", lambda _: Flags)
    monkeypatch.setattr(importers, "entry_points", lambda group: [point] if group == "sfumato.importers" else [])
    path = written("a.csv", "flag,name\nred,1\n")
    assert import_file(path).notes == ("read as flags: columns flag and name",)
    assert import_file(path, "flags").format_name == "flags"


# Faults of one file are reported together


def test_wrong_classes_are_reported_together(written):
    text = lines(
        *({"item": n, "annotator": "a", "label": label} for n, label in enumerate(["cat", "cow", "dog", "ox"]))
    )
    with pytest.raises(BadRows) as caught:
        import_file(written("v.jsonl", text), settings={"classes": ("cat", "dog")})
    assert [(each.code, each.where.line) for each in caught.value.mistakes] == [
        ("unknown-class", 2),
        ("unknown-class", 4),
    ]


def test_wrong_counts_are_reported_together(written):
    records = [{"item": "a", "counts": {"x": -1}}, {"item": "b", "counts": {"x": 0}}, {"item": "c", "counts": {"x": 2}}]
    records.append({"item": "c", "counts": {"y": 1.5}})
    with pytest.raises(BadRows) as caught:
        import_file(written("v.jsonl", lines(*records)))
    assert [each.where.line for each in caught.value.mistakes] == [1, 2, 4, 4]


def test_second_answers_need_an_option(written):
    line = {
        "_input_hash": 1,
        "_task_hash": 2,
        "answer": "accept",
        "options": [{"id": "a"}, {"id": "b"}],
        "accept": ["a"],
    }
    path = written("p.jsonl", lines(*[{**line, "_session_id": "ana"}] * 2))
    with pytest.raises(BadTable, match=r"annotator 'ana' answering item '1' again; .*repeats=True"):
        import_file(path)
    table = import_file(path, settings={"repeats": True}).table
    assert table.purpose.text().to_pylist() == ["label", "repeat"]


# Traps


def test_an_object_of_numbers_is_not_guessed(written):
    path = written("v.json", '{"a": {"cat": 3, "dog": 1}}')
    with pytest.raises(BadTable, match=r"part= \(counts, votes or by-annotator\)"):
        import_file(path, "json")
    votes = import_file(path, "json", {"part": "votes"}).table
    assert json.loads(votes.to_arrow().column("payload")[0].as_py()) == {"class": "3"}
    counts = import_file(path, "json", {"classes": ("dog", "cat")}).table
    assert (counts.classes, counts.counts.tolist()) == (("dog", "cat"), [[1, 3]])


def test_a_pickle_that_would_run_code_is_refused(tmp_path):
    class Program:
        def __reduce__(self):
            return os.getcwd, ()

    path = tmp_path / "CIFAR-10_human.pt"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps({"clean_label": Program()}))
    with pytest.raises(UnsafeFile, match=r"posix\.getcwd"):
        import_file(path)


def test_cifar_10n_has_the_clean_labels_as_original(tmp_path):
    arrays = {name: np.array([1, 2]) for name in ("random_label1", "random_label2", "random_label3")}
    path = tmp_path / "c.pt"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x/data.pkl", pickle.dumps({"clean_label": np.array([1, 9]), **arrays}))
    imported = import_file(path)
    assert imported.original.probs.argmax(axis=1).tolist() == [1, 9]
    wrong = {**arrays, "random_label2": np.array([1, 10])}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x/data.pkl", pickle.dumps({"clean_label": np.array([1, 9]), **wrong}))
    with pytest.raises(BadTable, match="row 1:random_label2 found 10; expected a class number from 0 to 9"):
        import_file(path)


def test_chaosnli_has_the_old_labels_as_original():
    original = import_file(FOREIGN / "chaosnli_snli.jsonl").original
    assert [original.classes[k] for k in original.probs.argmax(axis=1)] == ["neutral", "contradiction", "neutral"]


def test_chaosnli_in_another_order_is_refused(written):
    record = json.loads((FOREIGN / "chaosnli_snli.jsonl").read_text().splitlines()[0])
    path = written("a.jsonl", lines(record, {**record, "uid": "2", "label_count": [30, 0, 70]}))
    with pytest.raises(BadTable, match="the same votes in both") as caught:
        import_file(path)
    assert caught.value.where.line == 2


def test_peerannot_labels_beyond_the_classes_are_refused(tmp_path):
    (tmp_path / "answers.json").write_text('{"0": {"a": 1, "b": 2}}')
    (tmp_path / "metadata.json").write_text('{"name": "x", "n_classes": 2, "n_workers": 2}')
    table = import_file(tmp_path).table
    assert table.classes == ("1", "2")
    with pytest.raises(BadTable, match="the class number 2; expected a number from 0 to 1"):
        import_file(tmp_path, settings={"classes": ("cat", "dog")})


def test_labelme_classes_are_known_without_pictures(tmp_path):
    (tmp_path / "answers.json").write_text('{"0": {"1": 0, "2": 7}}')
    (tmp_path / "metadata.json").write_text('{"name": "LabelMe", "n_classes": 8, "n_workers": 77}')
    imported = import_file(tmp_path)
    assert [json.loads(p.as_py())["class"] for p in imported.table.to_arrow().column("payload")] == [
        "coast",
        "tallbuilding",
    ]
    assert imported.original is None


def test_argilla_classes_are_in_its_settings(tmp_path):
    (tmp_path / "records.json").write_bytes((FOREIGN / "argilla_2_nested.json").read_bytes())
    (tmp_path / ".argilla").mkdir()
    options = [{"value": name} for name in ("sad", "neutral", "ironic", "happy")]
    settings = {"questions": [{"name": "mood", "settings": {"type": "label_selection", "options": options}}]}
    (tmp_path / ".argilla" / "settings.json").write_text(json.dumps(settings))
    imported = import_file(tmp_path / "records.json", settings={"label": "mood"})
    assert imported.table.classes == ("sad", "neutral", "ironic", "happy")
    assert any("drafts and discarded" in note for note in imported.notes)
    with pytest.raises(UnknownName, match="did you mean 'mood'"):
        import_file(tmp_path / "records.json", settings={"label": "modo"})


def test_argilla_lists_before_1_14_are_parallel(written):
    given = {"user_id": ["a", "b", "c"], "value": ["x", "y", None], "status": ["submitted", "draft", "submitted"]}
    path = written("r.jsonl", lines({"external_id": "1", "mood": given}, {"external_id": "2", "mood": None}))
    table = import_file(path, "argilla", {"classes": ("x", "y")}).table
    assert table.to_arrow().select(["item", "annotator"]).to_pylist() == [{"item": "1", "annotator": "a"}]


def test_doccano_labels_of_all_users_are_refused(written):
    path = written("all.jsonl", lines({"id": 1, "text": "x", "label": ["a", "a"], "Comments": []}))
    with pytest.raises(BadTable, match="pooled in one file; expected one file per user"):
        import_file(path)


def test_potato_without_users_is_refused(tmp_path):
    for name in ("ana/annotated_instances.jsonl", "annotated_instances.jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes((FOREIGN / "potato_1" / "ana" / "annotated_instances.jsonl").read_bytes())
    with pytest.raises(BadTable, match="annotations without their user"):
        import_file(tmp_path / "annotated_instances.jsonl", settings={"label": "mood"})
    assert len(import_file(tmp_path, settings={"label": "mood"}).table) == 2


def test_potato_points_over_classes_are_tokens():
    imported = import_file(FOREIGN / "potato_2", settings={"label": "share"})
    (row,) = imported.table.to_arrow().to_pylist()
    assert (row["kind"], json.loads(row["payload"])["tokens"]) == ("tokens/1", {"sad": 30, "ironic": 70})


def test_prodigy_with_one_label_is_a_choice(written):
    def answer(who, given):
        return {"_input_hash": 1, "_task_hash": 2, "label": "SPAM", "answer": given, "_annotator_id": who}

    table = import_file(
        written("p.jsonl", lines(answer("a", "accept"), answer("b", "reject"), answer("c", "ignore")))
    ).table
    assert table.classes == ("SPAM", "not SPAM")
    assert [json.loads(p.as_py())["class"] for p in table.to_arrow().column("payload")] == ["SPAM", "not SPAM"]


def test_lewidi_without_votes_says_so(written):
    entry = json.loads((FOREIGN / "lewidi_mp.json").read_text())["9"]
    with pytest.raises(BadTable, match="empty votes"):
        import_file(written("x_test_clear.json", json.dumps({"9": entry})))


def test_several_columns_of_a_data_set_are_not_guessed(tmp_path):
    schema = pa.schema({"item": pa.string(), "a": pa.list_(pa.string()), "b": pa.list_(pa.string())})
    schema = schema.with_metadata({b"huggingface": b'{"info": {"features": {}}}'})
    pa.parquet.write_table(
        pa.table({"item": ["1"], "a": [["x", "y"]], "b": [["x", "x"]]}, schema=schema), tmp_path / "a.parquet"
    )
    with pytest.raises(BadTable, match=r"columns that may be votes: a, b; .* label=NAME"):
        import_file(tmp_path / "a.parquet")
    assert import_file(tmp_path / "a.parquet", settings={"label": "a"}).table.counts.tolist() == [[1, 1]]


def test_what_is_shared_is_read_back(tmp_path):
    from sfumato.cli.share import command as share

    beliefs = sf.Beliefs.from_votes(item=["1", "1", "2"], annotator=["a", "b", "a"], label=["cat", "dog", "dog"])
    labels = sf.aggregate(beliefs)
    labels.write(tmp_path / "labels.parquet")
    beliefs.write(tmp_path / "beliefs.parquet")
    arguments = [
        str(tmp_path / "labels.parquet"),
        "--beliefs",
        str(tmp_path / "beliefs.parquet"),
        "--as",
        "huggingface",
    ]
    done = CliRunner().invoke(share, [*arguments, "-o", str(tmp_path / "shared")], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    again = sf.read(tmp_path / "shared")
    assert again.to_arrow().equals(labels.to_arrow(), check_metadata=True)
    votes = sf.read(tmp_path / "shared", part="beliefs")
    assert votes.to_arrow().equals(beliefs.to_arrow(), check_metadata=True)


def test_votes_by_annotator_are_turned(written):
    path = written("v.json.gz", "")
    path.write_bytes(gzip.compress(b'{"w1": {"i1": 1, "i2": -5}, "w2": {"i1": 5}}'))
    with pytest.raises(BadTable, match='format="json"'):
        import_file(path)
    table = import_file(path, "json", {"part": "by-annotator"}).table
    assert table.classes == ("-5", "1", "5")
    rows = [(row["item"], row["annotator"]) for row in table.to_arrow().to_pylist()]
    assert rows == [("i1", "w1"), ("i2", "w1"), ("i1", "w2")]


def test_the_published_zip_of_cifar_10h(tmp_path):
    with zipfile.ZipFile(tmp_path / "cifar10h-raw.zip", "w") as archive:
        archive.write(FOREIGN / "cifar_10h_raw.csv", "cifar10h-raw.csv")
        archive.writestr("__MACOSX/._cifar10h-raw.csv", "x")
    assert len(import_file(tmp_path / "cifar10h-raw.zip").table) == 4


def test_a_damaged_zip_is_refused(written):
    with pytest.raises(BadFile, match="a damaged zip file"):
        import_file(written("export.zip", "PK no zip"))
    with pytest.raises(BadFile, match="a damaged zip file"):
        import_file(written("export.zip", "PK no zip"), "doccano")


def test_a_folder_of_pictures_is_recognized(tmp_path):
    from sfumato.importers import importer_for

    (tmp_path / "cat").mkdir()
    (tmp_path / "cat" / "1.png").touch()
    importer = importer_for(tmp_path)
    assert (importer.name, [kind.name for kind in importer.output_kinds]) == ("images", ["NumPy"])


@pytest.mark.parametrize(
    ("name", "keys", "value"),
    [
        ("argilla_2_nested.json", (0, "responses", "mood", 0), "x"),
        ("argilla_2_nested.json", (0, "responses", "mood"), 3),
        ("argilla_2_flat.jsonl", (0, "mood.responses"), 3),
        ("argilla_1.jsonl", (0, "mood", 0), None),
        ("doccano_1_0.jsonl", (0, "annotations", 0, "user"), {}),
        ("doccano_1_0.jsonl", (0, "annotations", 0, "label"), []),
        ("potato_2/ana/user_state.json", ("instance_id_to_label_to_value",), [1]),
    ],
)
def test_a_value_of_another_form_is_located(written, name, keys, value):
    text = (FOREIGN / name).read_text()
    document = [json.loads(line) for line in text.splitlines()] if name.endswith(".jsonl") else json.loads(text)
    inner = document
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = value
    path = written(Path(name).name, lines(*document) if name.endswith(".jsonl") else json.dumps(document))
    settings = {"label": "mood"} if name != "doccano_1_0.jsonl" else {}
    with pytest.raises(BadTable) as caught:
        import_file(path, name.partition("_")[0], settings)
    assert caught.value.code == "bad-field"
    assert caught.value.where.file == str(path)


def test_votes_with_other_column_names_are_not_taken_for_a_wide_table(tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text("image;rater;emotion\na;1;happy\na;2;sad\nb;1;sad\nb;2;sad\n")
    with pytest.raises(BadTable, match="name the columns with item=, annotator= and label="):
        sf.read(tmp_path / "v.csv")
    votes = sf.read(tmp_path / "v.csv", item="image", annotator="rater", label="emotion")
    assert isinstance(votes, sf.Beliefs)
    assert sf.aggregate(votes)["a"] == {"happy": 0.5, "sad": 0.5}


def test_a_bare_array_says_what_to_name(tmp_path: Path) -> None:
    np.save(tmp_path / "p.npy", np.full((3, 2), 0.5))
    with pytest.raises(BadTable, match=r"an array of shape \(3, 2\) without names.*sf\.read\(.*predictions"):
        sf.read(tmp_path / "p.npy")


# Files as pandas writes them

VOTES = [("a", "x", "cat"), ("a", "y", "dog"), ("b", "x", "cat"), ("b", "y", "cat")]


@pytest.mark.parametrize("start", [0, 1])
def test_a_first_column_without_a_name_that_numbers_the_rows_is_left_out(written, start):
    rows = "".join(f"{start + n},{','.join(vote)}\n" for n, vote in enumerate(VOTES))
    path = written("v.csv", ",item,annotator,label\n" + rows)
    with pytest.warns(sf.SfumatoWarning, match=r"v.csv: left out the first column, which has no name and numbers"):
        found = import_file(path).table
    assert found.item.text().to_pylist() == ["a", "a", "b", "b"]


def test_row_names_are_ids_if_no_column_has_them(written):
    path = written("c.csv", ",cat,dog\nphoto-1,3,1\nphoto-2,0,4\n")
    with pytest.warns(sf.SfumatoWarning, match="the first column has no name: read as 'item'"):
        assert sf.read(path).items.to_pylist() == ["photo-1", "photo-2"]


def test_row_names_of_chosen_rows_are_no_class(written):
    path = written("c.csv", ",image,cat,dog\n3,a,3,1\n7,b,0,4\n")
    with (
        pytest.warns(sf.SfumatoWarning, match="read as 'index'"),
        pytest.raises(BadTable, match=r'leave_out=\["index"\]'),
    ):
        import_file(path, "counts")


def test_other_columns_need_a_name(written):
    with pytest.raises(BadTable, match="a column without a name"):
        sf.read(written("v.csv", "item,,label\na,x,cat\n"))


def test_class_numbers_with_gaps_are_whole_numbers(written):
    with pytest.warns(sf.SfumatoWarning, match="class numbers written as 0.0 are read as 0"):
        found = import_file(written("w.csv", "item,x,y\na,0.0,1.0\nb,1.0,\n"), "wide").table
    assert found.classes == ("0", "1")
    with pytest.warns(sf.SfumatoWarning, match="written as 1.0"):
        truth = sf.read(written("t.csv", "item,label\na,1.0\nb,0.0\nc,\n"))
    assert truth.classes == ("0", "1")


def test_classes_with_a_point_stay_as_they_are(written):
    assert import_file(written("v.csv", "item,annotator,label\na,x,0.5\na,y,1.0\n")).table.classes == ("0.5", "1.0")


@pytest.mark.parametrize("cell", ["0,7", "70%", "70 %"])
def test_numbers_that_are_written_otherwise_are_named(written, cell):
    with pytest.raises(BadTable, match=r"numbers written as '.*; fix: write them with a point: 0\.7"):
        import_file(written("p.csv", f"item;cat;dog;emu\na;{cell};0,2;0,1\n"))


def test_percentages_are_not_taken_for_votes_without_a_word(written):
    with pytest.warns(sf.SfumatoWarning, match="every row sums to 100, which is read as 100 votes per item"):
        import_file(written("p.csv", "item,cat,dog\na,70,30\nb,20,80\n"))


def test_numbers_per_class_in_json_are_never_annotators(written):
    path = written("c.json", json.dumps([{"item": "a", "cat": 3.0, "dog": 1.0}, {"item": "b", "cat": 0.0, "dog": 4.0}]))
    with pytest.raises(BadRows, match="may be votes per class or class numbers per annotator"):
        import_file(path, "json")


def test_a_number_column_that_is_no_class_is_named(written):
    path = written("p.csv", "item,cat,dog,epoch\na,0.7,0.3,3\nb,0.2,0.8,3\n")
    with pytest.raises(BadProbabilities, match=r"without 'epoch' the numbers of every row sum to 1.*--leave-out epoch"):
        import_file(path, "predictions")


def test_predictions_of_several_models_are_chosen_by_name(written):
    path = written("m.json", json.dumps({"a": {"u": [0.7, 0.3]}, "b": {"u": [0.2, 0.8]}}))
    with pytest.raises(BadTable, match=r"predictions of a, b; expected those of one model; fix: choose one with .*a"):
        import_file(path, "predictions", {"classes": ("cat", "dog")})


def test_inputs_are_named_as_inputs(tmp_path, written):
    from scipy import sparse

    sparse.save_npz(tmp_path / "s.npz", sparse.csr_array(np.eye(3)))
    with pytest.raises(BadTable, match=r"inputs of models: a matrix of scipy\.sparse"):
        import_file(tmp_path / "s.npz")
    np.savez(tmp_path / "o.npz", counts=[[3, 1]], items=np.array(["a"], object))
    with pytest.raises(UnsafeFile, match=r"Python objects, 'items'.*np.array\(items, dtype=str\)"):
        import_file(tmp_path / "o.npz", "counts")
