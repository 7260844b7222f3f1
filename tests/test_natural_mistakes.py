"""What people naturally get wrong in Python ends in an error of ours that says what to do, or simply works."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import LinearSVC

import sfumato as sf
from sfumato.aggregation.dawid_skene import DawidSkene
from sfumato.evaluation.metrics.brier import Brier

VOTES = {"item": list("aabbcc"), "annotator": list("121212"), "label": list("xyxxyy")}
votes: Any = sf.Beliefs.from_votes(**VOTES)  # type: ignore[arg-type]
labels: Any = sf.aggregate(votes)
predicted: Any = sf.SoftLabels.from_numpy("abc", [[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]], ["x", "y"], 0)
images: Any = sf.Inputs(("a", "b", "c"), images=np.zeros((3, 4, 4), np.uint8))
others: Any = sf.SoftLabels.from_numpy(["a"], [[0.5, 0.5]], ["x", "z"], 0)
more: Any = sf.SoftLabels.from_numpy("abcd", [[0.5, 0.5]] * 4, ["x", "y"], 0)
named: Any = sf.SoftLabels.from_numpy(["photo-1", "photo-3", "other"], predicted.probs, ["x", "y"], 0)


def fitted(estimator: Any, y: Any = ("x", "y", "x", "y")) -> Any:
    return sf.SoftLabelClassifier(estimator).fit([[0.0], [1.0], [0.0], [1.0]], y)


MISTAKES: dict[str, tuple[Callable[[], Any], str]] = {
    "read a missing file": (lambda: sf.read("vots.csv"), "votes.csv"),
    "read a data frame": (lambda: sf.read(pd.DataFrame(VOTES)), "sf.Beliefs.from_pandas"),
    "read nothing": (lambda: sf.read(None), "the path of a file or folder"),
    "read with a misspelled format": (lambda: sf.read("votes.csv", format="crwod"), "did you mean 'crowd'"),
    "aggregate a dictionary": (lambda: sf.aggregate(VOTES), "sf.Beliefs.from_votes"),
    "aggregate an array": (lambda: sf.aggregate(np.eye(3)), "from_numpy"),
    "aggregate labels": (lambda: sf.aggregate(labels), "the votes or beliefs behind the labels"),
    "aggregator with an underscore": (lambda: sf.aggregate(votes, "dawid_skene"), "did you mean 'dawid-skene'"),
    "aggregator misspelled": (lambda: sf.aggregate(votes, "majorty"), "did you mean 'majority'"),
    "aggregator None": (lambda: sf.aggregate(votes, None), "an aggregator, by name or as an object"),
    "several aggregators": (lambda: sf.aggregate(votes, ["mean", "majority"]), 'write its name: "mean"'),
    "argument misspelled": (lambda: sf.aggregate(votes, method="mean"), "write sf.aggregate(votes, by)"),
    "setting misspelled": (lambda: sf.aggregate(votes, "dawid-skene:priors=20"), "did you mean 'prior'"),
    "doubt of labels": (lambda: sf.doubt(labels), "Annotations, Beliefs or Counts"),
    "doubt of a column": (lambda: sf.doubt(pd.Series(["x", "y"])), "a Series"),
    "evaluate a frame without classes": (
        lambda: sf.evaluate(predicted=pd.DataFrame({"item": ["a"], "x": ["u"], "y": ["v"]}), people=labels),
        "columns that are not classes",
    ),
    "doubt of a list": (lambda: sf.doubt([1, 2, 3]), "sf.Beliefs.from_votes"),
    "agreement by another name": (lambda: sf.agreement(votes, "kappa"), "alpha-nominal"),
    "agreement of labels": (lambda: sf.agreement(labels), "Annotations, Beliefs or Counts"),
    "evaluate without names": (lambda: sf.evaluate(predicted, labels), "sf.evaluate(predicted=..., people=...)"),
    "evaluate without people": (lambda: sf.evaluate(predicted=predicted), "no people"),
    "evaluate an array": (lambda: sf.evaluate(predicted=np.eye(3), people=labels), "SoftLabels.from_numpy"),
    "evaluate swapped": (lambda: sf.evaluate(predicted=labels, people=predicted), "swap predicted and people"),
    "evaluate other classes": (lambda: sf.evaluate(predicted=others, people=labels), "the same class names"),
    "metric misspelled": (lambda: sf.evaluate(predicted=predicted, people=labels, metrics=["briar"]), "'brier'"),
    "metric as a number": (lambda: sf.evaluate(predicted=predicted, people=labels, metrics=[3]), "a metric, by name"),
    "compare a list": (lambda: sf.compare([predicted, predicted], people=labels), "a dictionary of SoftLabels"),
    "compare one table": (lambda: sf.compare(predicted, people=labels), "a dictionary of SoftLabels"),
    "compare one model": (lambda: sf.compare({"a": predicted}, people=labels), "evaluate without a baseline"),
    "baseline misspelled": (
        lambda: sf.compare({"a": predicted, "b": predicted}, people=labels, baseline="c"),
        "one of a, b",
    ),
    "plan without names": (lambda: sf.plan(votes, 500), "sf.plan(pilot=...)"),
    "plan without a budget": (lambda: sf.plan(pilot=votes), "no budget"),
    "plan with a negative budget": (lambda: sf.plan(pilot=votes, budget=-3), "above 0"),
    "plan with a budget as text": (lambda: sf.plan(pilot=votes, budget="500"), "a number, without quotes"),
    "goal misspelled": (lambda: sf.plan(pilot=votes, budget=9, goal="distributions"), "did you mean 'distribution'"),
    "report of a missing folder": (lambda: sf.report("nowhere"), "check the path"),
    "report of a table": (lambda: sf.report(labels), "the path of a folder"),
    "train without labels": (lambda: sf.train(images), "no labels"),
    "train on nothing": (lambda: sf.train(None, labels), "sf.Inputs.read"),
    "train on a missing file": (lambda: sf.train("images.npz", labels), "an existing file"),
    "train on votes": (lambda: sf.train(images, votes), "sf.aggregate"),
    "target misspelled": (lambda: sf.train(images, labels, targets=["sotf"]), "did you mean 'soft'"),
    "target as one text": (lambda: sf.train(images, labels, targets="sotf"), "did you mean 'soft'"),
    "target as a number": (lambda: sf.train(images, labels, targets=3), 'write its name: "soft"'),
    "share of the test items": (lambda: sf.train(images, labels, split=0.3), '"share:test=0.3"'),
    "half a seed": (lambda: sf.train(images, labels, seeds=1.5), "seeds=3"),
    "no seeds": (lambda: sf.train(images, labels, seeds=0), "a whole number, 1 or more"),
    "an array and no sources": (lambda: sf.train(images.images, {}), '"original": hard}'),
    "no sources": (lambda: sf.train(images, {}), '{"people": labels, "original": hard}'),
    "source by another name": (lambda: sf.train(images, {"labels": labels, "truth": labels}), "name it people"),
    "truth as a source": (lambda: sf.train(images, {"truth": labels}), "name it original"),
    "votes as people": (lambda: sf.train(images, {"people": votes}), '{"people": sf.aggregate(votes)}'),
    "labels as beliefs": (lambda: sf.train(images, {"beliefs": labels}), "sf.Beliefs.from_votes"),
    "soft labels as original": (lambda: sf.train(images, {"original": labels}), '"original": hard}'),
    "target without its source": (lambda: sf.train(images, labels, targets="hard", model="simple-ffn"), '"original"'),
    "array transposed": (lambda: sf.SoftLabels.from_numpy("abc", np.ones((2, 3)) / 3, ["x", "y"]), "(3, 2)"),
    "percentages": (lambda: sf.SoftLabels.from_numpy("a", [[70, 30]], ["x", "y"]), "divide them by 100"),
    "no classes": (lambda: sf.SoftLabels.from_numpy("a", [[0.7, 0.3]]), "no classes"),
    "classes as one text": (lambda: sf.SoftLabels.from_numpy("a", [[0.7, 0.3]], "x,y"), "write ['x', 'y']"),
    "a number of items": (lambda: sf.SoftLabels.from_numpy(3, [[0.7, 0.3]] * 3, ["x", "y"]), "range(n)"),
    "votes of different lengths": (
        lambda: sf.Beliefs.from_votes(item=["a"], annotator=["1", "2"], label=["x"]),
        "the same number of each",
    ),
    "votes without names": (lambda: sf.Beliefs.from_votes(["a"], ["1"], ["x"]), "item=..., annotator=..., label=..."),
    "a vote missing": (
        lambda: sf.Beliefs.from_votes(item="ab", annotator="12", label=["x", None]),
        "fill in or remove",
    ),
    "an unknown class": (lambda: sf.SoftLabels.one_hot("a", "z", ["x", "y"]), "one of x, y"),
    "shares as counts": (lambda: sf.Counts.from_numpy("a", [[0.7, 0.3]], ["x", "y"]), "whole numbers"),
    "classifier of a regressor": (lambda: fitted(LinearRegression()), "use a classifier"),
    "classifier of a class": (lambda: fitted(LogisticRegression), "SoftLabelClassifier(LogisticRegression())"),
    "classifier of one class": (lambda: fitted(None, ["x"] * 4), "add items of another class"),
    "classifier without probabilities": (lambda: fitted(LinearSVC()).predict_labels([[0.0]]), "LinearSVC"),
    "attribute of another library": (lambda: labels.to_csv("x.csv"), 'write("table.csv")'),
    "attribute misspelled": (lambda: labels.prob, "did you mean 'probs'"),
    "function misspelled": (lambda: sf.agregate(votes), "did you mean 'aggregate'"),
    "written for a spreadsheet": (lambda: labels.write("x.xlsx"), "write 'x.csv' instead"),
    "an item that is not there": (lambda: labels["zz"], "no item 'zz' among 3 items"),
    "counts of an item that is not there": (lambda: sf.Counts.of(votes)["zz"], "use an id of the table, such as 'a'"),
    "an item misspelled": (lambda: named["photo-31"], "did you mean 'photo-3'"),
    "split as a number": (lambda: sf.select(labels, split=0.8), '{"train": 0.8, "test": 0.2}'),
    "split as other text": (lambda: sf.select(labels, split="0.8"), "train=0.8,test=0.2"),
    "where as a function": (lambda: sf.select(labels, where=lambda _row: True), 'where="n_annotators>=5"'),
    "where as a list of functions": (lambda: sf.select(labels, where=[len]), '"n_annotators>=5"'),
    "select from a data frame": (lambda: sf.select(pd.DataFrame(VOTES), items=["a"]), "sf.Beliefs.from_pandas"),
    "select by labels that are no table": (lambda: sf.select(labels, items=["a"], labels=3), "a table of sfumato"),
    "select from a missing file": (lambda: sf.select("labels.parquet", items=["a"]), "an existing file"),
    "select misspelled": (lambda: sf.select(labels, item=["a"]), "did you mean 'items'"),
    "scorer that needs the original": (lambda: sf.scorer("accuracy_original"), "needs the original labels"),
    "scorer without a better way": (lambda: sf.scorer("entropy_difference"), "neither way is better"),
    "scorer of another kind": (lambda: sf.scorer("overconfidence"), 'use one such as "brier"'),
    "scorer of predictions": (lambda: sf.scorer("brier")(predicted.probs, labels.probs), "sf.evaluate(predicted="),
    "nothing to select by": (lambda: sf.select(labels), "give items=, leave_out=, where=, per_class= or split="),
    "stratified without a split": (lambda: sf.select(labels, stratify="class"), 'split="train=0.8,test=0.2"'),
    "ids that are not in the table": (lambda: sf.select(labels, items=["zz"]), "ids of items= among"),
    "select from missing records": (lambda: sf.select("records.json", items=["a"]), "an existing file"),
    "truth to evaluate": (lambda: sf.evaluate(predicted=labels, people=labels, truth="t.csv"), "'original'"),  # type: ignore[call-arg]
    "metric by its short name": (
        lambda: sf.evaluate(predicted=predicted, people=labels, metrics="kl"),
        "kl_divergence",
    ),
    "repeated answers": (lambda: sf.read("again.csv"), "sf.read(path, repeats=True)"),
    "swapped files": (lambda: sf.evaluate(predicted="again_counts.csv", people=labels), "labels swapped?"),
    "items that people did not judge": (lambda: sf.evaluate(predicted=more, people=labels), "(common=True)"),
    "totals as a class": (lambda: sf.read("totals.csv", format="counts"), 'leave_out=["total"]'),
    "predictions without class names": (
        lambda: sf.evaluate(predicted="p.npy", people=labels),
        'classes=["cat", "dog"],...; read the file first: predicted=sf.read("p.npy", format="predictions", ...)',
    ),
    "a bare array": (lambda: sf.read("p.npy"), 'sf.read("p.npy", format="predictions", classes=["cat", "dog"]'),
    "columns of other names": (lambda: sf.read("other.csv"), "item=, annotator= and label="),
    "texts without their column": (lambda: sf.Inputs.read("votes.csv"), "text=COLUMN"),
    "a slice of labels": (lambda: labels[0:2], "the id of an item"),
}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pl.DataFrame(VOTES).write_csv("votes.csv")
    pl.DataFrame(VOTES).rename({"item": "a", "annotator": "b", "label": "c"}).write_csv("other.csv")
    pl.DataFrame({"item": ["a", "b"], "x": [3, 2], "y": [1, 2], "total": [4, 4]}).write_csv("totals.csv")
    pl.DataFrame({"item": ["a", "b"], "x": [3, 2], "y": [1, 2]}).write_csv("again_counts.csv")
    pl.DataFrame(VOTES | {"annotator": list("112212")}).write_csv("again.csv")
    np.save("p.npy", np.full((3, 2), 0.5))


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        (images, "<Inputs: 3 items, images of 4 x 4 pixels, gray>"),
        (labels, "<SoftLabels: 3 rows, 2 classes>"),
        (sf.ReportInputs(labels={"mean": labels}), "<ReportInputs: labels>"),
        (sf.Report(sf.ReportInputs(labels={"mean": labels})), "<Report: from labels; .save('report.html') writes it>"),
    ],
)
def test_a_result_is_shown_in_one_line(shown: Any, said: str) -> None:
    assert repr(shown) == said


@pytest.mark.usefixtures("quick_plans")
def test_a_plan_is_shown_in_one_line() -> None:
    with pytest.warns(sf.SfumatoWarning, match="the pilot is small"):
        shown = repr(sf.plan(pilot=votes, budget=9))
    assert shown.startswith("<Plan: ")
    assert " answers about 3 items, 2 classes; expected " in shown
    assert shown.endswith(" USD>")


@pytest.mark.parametrize(("made", "said"), MISTAKES.values(), ids=list(MISTAKES))
@pytest.mark.filterwarnings("ignore::sfumato.SfumatoWarning")
def test_a_mistake_is_explained(made: Callable[[], Any], said: str) -> None:
    with pytest.raises(sf.SfumatoError) as error:
        made()
    assert said in str(error.value)
    assert "; fix: " in str(error.value)


@pytest.mark.parametrize(
    "given",
    [pd.DataFrame(VOTES), pl.DataFrame(VOTES), "votes.csv", Path("votes.csv"), votes],
    ids=lambda v: type(v).__name__,
)
def test_votes_are_taken_in_any_form(given: Any) -> None:
    assert sf.aggregate(given) == labels
    assert sf.doubt(given) == sf.doubt(votes)


def test_select_takes_files_and_splits_as_text(tmp_path: Path) -> None:
    labels.write(tmp_path / "labels.parquet")
    images.write(tmp_path / "images.npz")
    parts = sf.select(tmp_path / "labels.parquet", split="train=2,test=1")
    assert parts == sf.select(labels, split={"train": 2, "test": 1})
    assert {name: len(part) for name, part in parts.items()} == {"train": 2, "test": 1}
    assert sf.select(str(tmp_path / "images.npz"), items=["b"]).items == ("b",)


@pytest.mark.filterwarnings("ignore::sfumato.SfumatoWarning")
def test_strategies_are_taken_as_names_classes_and_objects() -> None:
    by_name = sf.aggregate(votes, "dawid-skene")
    assert sf.aggregate(votes, DawidSkene) == by_name  # type: ignore[arg-type]
    assert sf.aggregate(votes, DawidSkene()) == by_name
    scores = [sf.evaluate(predicted=predicted, people=labels, metrics=each) for each in ("brier", ["brier"], [Brier()])]
    both = sf.evaluate(predicted=predicted, people=labels, metrics="brier,ece:bins=10")
    assert len(both) == 2
    assert scores[0] == scores[1] == scores[2]


def test_missing_attributes_are_still_attribute_errors() -> None:
    assert not hasattr(labels, "to_csv")
    assert not hasattr(sf, "agregate")
    assert getattr(labels, "nothing", 3) == 3


@pytest.mark.filterwarnings("ignore:all.*too few for a reliable interval:sfumato.SfumatoWarning")
def test_predictions_and_original_labels_are_taken_as_frames() -> None:
    frame = pd.DataFrame(np.asarray(predicted), columns=["x", "y"]).assign(item=list("abc"))
    brier = sf.evaluate(predicted=predicted, people=labels, metrics="brier")
    assert sf.evaluate(predicted=frame, people=labels, metrics="brier") == brier
    assert sf.evaluate(predicted=frame.set_index("item"), people=labels, metrics="brier") == brier
    truth = {"a": "x", "b": "x", "c": "y"}
    forms = (truth, pd.DataFrame({"item": list("abc"), "label": list("xxy")}))
    for given in forms:
        found = sf.evaluate(predicted=predicted, people=labels, original=given, metrics="accuracy_original")
        assert found.value_of("accuracy_original") == pytest.approx(2.5 / 3)


def test_select_takes_a_list_without_items() -> None:
    with pytest.warns(sf.SfumatoWarning, match="lists no items"):
        assert sf.select(votes, leave_out=[]) == votes
