"""Labels and predictions in the files that people have: one reader, values checked."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.importers.label_file import read_labels
from sfumato.importers.prediction_file import FileOptions, read_predictions
from sfumato.tables.errors import BadProbabilities, BadTable, SfumatoError, SfumatoWarning, UnknownName, warnings_off
from sfumato.tables.estimand import Estimand
from sfumato.tables.soft_labels import SoftLabels

PROBS = np.array([[0.7, 0.3], [0.25, 0.75]])
CLASSES = ("cat", "dog")
ITEMS = ("a", "b")


def write(path, content):
    if isinstance(content, str):
        path.write_text(content)
    elif isinstance(content, pa.Table):
        pq.write_table(content, path)
    elif isinstance(content, dict) and path.suffix == ".npz":
        np.savez(path, **content)
    elif isinstance(content, np.ndarray):
        np.save(path, content)
    else:
        path.write_text(json.dumps(content))
    return path


LISTS = pa.array(PROBS.tolist(), pa.list_(pa.float64()))
HF = {b"huggingface": json.dumps({"info": {"features": {"label": {"names": CLASSES, "_type": "ClassLabel"}}}}).encode()}
NAMED = FileOptions(classes=CLASSES)
BOTH = FileOptions(classes=CLASSES, items=ITEMS)
FILES = {
    "plain.csv": ("item,cat,dog\na,0.7,0.3\nb,0.25,0.75\n", None),
    "marked.csv": ("item,p:cat,p:dog\na,0.7,0.3\nb,0.25,0.75\n", None),
    "label_too.csv": ("item,label,cat,dog\na,cat,0.7,0.3\nb,dog,0.25,0.75\n", None),
    "other_id.csv": ("uid,cat,dog\na,0.7,0.3\nb,0.25,0.75\n", None),
    "order.csv": ("dog,cat,item\n0.3,0.7,a\n0.75,0.25,b\n", NAMED),
    "all.npz": ({"probs": PROBS, "items": list(ITEMS), "classes": list(CLASSES)}, None),
    "other_names.npz": ({"predictions": PROBS, "ids": list(ITEMS), "class_names": list(CLASSES)}, None),
    "bare.npz": ({"probs": PROBS}, BOTH),
    "bare.npy": (PROBS, BOTH),
    "float32.npy": (PROBS.astype(np.float32), BOTH),
    "by_item.json": ({"a": {"cat": 0.7, "dog": 0.3}, "b": {"cat": 0.25, "dog": 0.75}}, None),
    "lists.json": ({"a": [0.7, 0.3], "b": [0.25, 0.75]}, NAMED),
    "records.json": ([{"id": "a", "cat": 0.7, "dog": 0.3}, {"id": "b", "dog": 0.75, "cat": 0.25}], None),
    "probs.json": ([{"uid": "a", "probs": [0.7, 0.3]}, {"uid": "b", "probs": [0.25, 0.75]}], NAMED),
    "lines.jsonl": (
        '{"uid": "a", "probs": [0.7, 0.3], "pred": 0}\n{"uid": "b", "probs": [0.25, 0.75], "pred": 1}\n',
        NAMED,
    ),
    "columns.json": ({"items": ITEMS, "classes": CLASSES, "probs": PROBS.tolist()}, None),
    "list.parquet": (pa.table({"item": ITEMS, "probs": LISTS}), NAMED),
    "hf.parquet": (pa.table({"id": ITEMS, "probs": LISTS}).replace_schema_metadata(HF), None),
    "wide.parquet": (pa.table({"item": ITEMS, "cat": PROBS[:, 0], "dog": PROBS[:, 1]}), None),
}


@pytest.mark.parametrize("name", FILES)
def test_predictions_of_every_form(tmp_path, name):
    content, options = FILES[name]
    with warnings_off():
        labels = read_predictions(write(tmp_path / name, content), options)
    assert labels.items.to_pylist() == list(ITEMS)
    assert labels.classes == CLASSES
    np.testing.assert_allclose(labels.probs, PROBS, atol=1e-7 if "float32" in name else 0)
    assert labels.estimand is Estimand.PREDICTION
    assert labels.path == tmp_path / name


def test_scores_of_a_text_classification_pipeline(tmp_path):
    scores = [
        [{"label": "dog", "score": 0.3}, {"label": "cat", "score": 0.7}],
        [{"label": "dog", "score": 0.75}, {"label": "cat", "score": 0.25}],
    ]
    path = write(tmp_path / "a.json", scores)
    labels = read_predictions(path, FileOptions(items=ITEMS))
    assert labels.classes == ("dog", "cat")
    assert labels.probs.tolist() == PROBS[:, ::-1].tolist()
    with pytest.warns(SfumatoWarning, match="items are numbered 0 to 1"):
        assert read_predictions(path).items.to_pylist() == ["0", "1"]


@pytest.mark.parametrize("name", ["a.npz", "a.json", "a.csv", "a.parquet"])
def test_logits_by_softmax(tmp_path, name):
    logits = np.array([[2.0, -1.0], [1000.0, 1001.0]])
    contents = {
        "a.npz": {"logits": logits, "items": ITEMS, "classes": CLASSES},
        "a.json": [{"uid": ITEMS[i], "probs": [0.5, 0.5], "logits": logits[i].tolist()} for i in range(2)],
        "a.csv": "item,cat,dog\na,2,-1\nb,1000,1001\n",
        "a.parquet": pa.table({"item": ITEMS, "logits": pa.array(logits.tolist())}),
    }
    path = write(tmp_path / name, contents[name])
    labels = read_predictions(path, FileOptions(classes=CLASSES, logits=True))
    expected = [[1 / (1 + np.exp(-3)), 1 / (1 + np.exp(3))], [1 / (1 + np.e), np.e / (1 + np.e)]]
    np.testing.assert_allclose(labels.probs, expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["a.npz", "a.csv"])
def test_logits_without_the_option_are_explained(tmp_path, name):
    content = {"logits": PROBS, "classes": CLASSES} if name == "a.npz" else "item,cat,dog\na,2,-1\nb,3,1\n"
    with pytest.raises(BadTable, match="logits=True"):
        read_predictions(write(tmp_path / name, content))


def probabilities(n_items=50, n_classes=8):
    return np.random.default_rng(0).dirichlet(np.ones(n_classes), n_items)


@pytest.mark.parametrize(
    ("rounded", "largest"),
    [
        (lambda p: p.astype(np.float16), 1e-3),
        (lambda p: p.round(4), 4e-4),
        (lambda p: p.round(3).astype(np.float32), 4e-3),
        (lambda p: (np.ascontiguousarray(p, np.float32).view(np.uint32) & 0xFFFF0000).view(np.float32), 1e-2),
    ],
    ids=["float16", "4 decimals", "3 decimals in float32", "bfloat16"],
)
def test_rounded_probabilities_are_rescaled_and_it_is_said(tmp_path, rounded, largest):
    exact = probabilities()
    path = write(tmp_path / "a.npy", rounded(exact))
    options = FileOptions(classes=tuple("abcdefgh"), items=tuple(map(str, range(50))))
    with pytest.warns(SfumatoWarning, match=r"a.npy: \d+ rows of rounded numbers are rescaled to sum to 1"):
        labels = read_predictions(path, options)
    np.testing.assert_allclose(labels.probs.sum(axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(labels.probs, exact, atol=largest)


def test_more_than_rounding_is_an_error(tmp_path):
    wrong = probabilities().round(4)
    wrong[3] *= 1.01
    options = FileOptions(classes=tuple("abcdefgh"), items=tuple(map(str, range(50))))
    with pytest.raises(BadProbabilities) as caught:
        read_predictions(write(tmp_path / "a.npy", wrong), options)
    assert caught.value.code == "bad-sum"
    assert (caught.value.where.file, caught.value.where.row) == (str(tmp_path / "a.npy"), 3)


def test_exact_probabilities_are_not_changed(tmp_path):
    exact = probabilities()
    options = FileOptions(classes=tuple("abcdefgh"), items=tuple(map(str, range(50))))
    labels = read_predictions(write(tmp_path / "a.npy", exact), options)
    assert np.array_equal(labels.probs, exact)


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("a.npy", PROBS, None, "classes="),
        ("a.npy", PROBS, FileOptions(classes=("cat",)), "found 2 columns; expected 1 classes"),
        ("a.npy", PROBS, FileOptions(CLASSES, ("a",)), "1 ids for 2 rows"),
        ("a.npz", {"x": np.ones(3), "y": np.ones(2)}, None, "np.savez"),
        ("a.csv", "item,cat,dog\na,0.7,many\nb,0.2,0.8\n", None, "many"),
        ("a.csv", "item,annotator,label\na,1,cat\n", None, "sfumato aggregate"),
        ("a.json", [{"id": "a", "text": "hello"}], None, "a number per class"),
        ("a.json", [{"id": "a", "cat": 0.5, "dog": 0.5}, {"id": "b", "cat": 0.5, "owl": 0.5}], None, "the classes"),
        ("a.csv", "item,cat,dog\na,70,30\nb,20,80\n", None, "percentages"),
    ],
)
def test_natural_mistakes_are_explained(tmp_path, name, content, options, message):
    path = write(tmp_path / name, content)
    with warnings_off(), pytest.raises(SfumatoError, match=message):
        read_predictions(path, options)


def test_people_may_be_counts_or_hard_labels(tmp_path):
    votes = read_labels(write(tmp_path / "n.csv", "item,n:cat,n:dog\na,7,3\nb,1,3\n"))
    assert votes.probs.tolist() == PROBS.tolist()
    assert votes.n_annotators.tolist() == [10, 4]
    plain = read_labels(write(tmp_path / "plain.csv", "item,cat,dog\na,7,3\nb,1,3\n"))
    assert plain.n_annotators.tolist() == [10, 4]
    hard = read_labels(write(tmp_path / "hard.csv", "item,label\na,cat\nb,dog\n"))
    assert hard.probs.tolist() == [[1, 0], [0, 1]]
    wider = read_labels(tmp_path / "hard.csv", FileOptions(classes=("owl", "dog", "cat")))
    assert wider.probs.tolist() == [[0, 0, 1], [0, 1, 0]]
    with pytest.raises(UnknownName, match="dog"):
        read_labels(tmp_path / "hard.csv", FileOptions(classes=("cat", "owl")))


def test_a_table_of_ours_keeps_what_it_records(tmp_path):
    labels = SoftLabels.from_numpy(ITEMS, PROBS, CLASSES, [3, 4], estimand="judgment", made_by="mean")
    for name in ("a.parquet", "a.csv"):
        labels.write(tmp_path / name)
        for read in (read_labels, read_predictions):
            again = read(tmp_path / name)
            assert (again.estimand, again.n_annotators.tolist()) == (Estimand.JUDGMENT, [3, 4])


def test_one_of_several_arrays_is_chosen_by_name(tmp_path):
    path = write(tmp_path / "a.npz", {"net_a": PROBS[::-1], "net_b": PROBS, "labels": np.array([0, 1])})
    with pytest.raises(BadTable, match='array="net_a"'):
        read_predictions(path, BOTH)
    assert read_predictions(path, FileOptions(CLASSES, ITEMS, array="net_b")).probs.tolist() == PROBS.tolist()


def test_hard_predictions_are_one_hot_over_the_known_classes(tmp_path):
    path = write(tmp_path / "a.csv", "item,prediction\na,cat\nb,cat\n")
    labels = read_predictions(path, FileOptions(known=CLASSES))
    assert labels.probs.tolist() == [[1, 0], [1, 0]]
    assert labels.estimand is Estimand.PREDICTION


def test_probabilities_are_never_read_as_votes(tmp_path):
    for content in ("item,p:cat,p:dog\na,1,1\n", "item,p:cat,p:dog\na,2,0\nb,1,0\n"):
        with pytest.raises(BadProbabilities) as caught:
            read_labels(write(tmp_path / "a.csv", content))
        assert (caught.value.code, caught.value.where.line) == ("bad-sum", 2)


def test_probabilities_are_no_logits(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("item,cat,dog\na,0.7,0.3\nb,0.25,0.75\n")
    with pytest.raises(SfumatoError, match="probabilities; expected logits"):
        read_predictions(tmp_path / "p.csv", FileOptions(logits=True))
