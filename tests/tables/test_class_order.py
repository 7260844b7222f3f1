"""Ordered classes: how tables and files carry them from step to step, and what changes with them."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sfumato_command import sfumato

import sfumato as sf
from sfumato.evaluation.metric_scores import score
from sfumato.labeling.kind_labelers import OneHot, PlausibleWeighted
from sfumato.study.study_file import draft_of
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.class_order import OrderedClasses, is_ordered
from sfumato.tables.counts import Counts
from sfumato.tables.errors import SfumatoError, SfumatoWarning
from sfumato.tables.soft_labels import SoftLabels

SCALE = ("none", "mild", "severe")
VOTES = "item,annotator,label\na,x,none\na,y,mild\nb,x,severe\nb,y,severe\nc,x,mild\nc,y,none\n"


def votes() -> Beliefs:
    return Beliefs.from_votes(item=list("aabb"), annotator=list("xyxy"), label=[0, 1, 2, 2], classes=[0, 1, 2])


def annotations() -> Annotations:
    rows = {"item": ["a", "b"], "annotator": ["x", "x"], "kind": ["choice/1"] * 2}
    return Annotations.from_arrow(pa.table({**rows, "payload": ['{"class": "none"}', '{"class": "mild"}']}), SCALE)


TABLES = {
    "annotations": annotations,
    "hard": votes,
    "soft": lambda: Beliefs.from_numpy(["a"], ["x"], [[0.2, 0.3, 0.5]], SCALE),
    "counts": lambda: Counts.from_numpy(["a"], [[1, 2, 0]], SCALE),
    "labels": lambda: SoftLabels.from_numpy(["a"], [[0.2, 0.3, 0.5]], SCALE),
}


@pytest.mark.parametrize("kind", TABLES)
def test_tables_and_files_keep_the_order(kind: str, tmp_path: Path) -> None:
    plain = TABLES[kind]()
    ordered = plain.as_ordered()
    assert (plain.is_ordered, ordered.is_ordered) == (False, True)
    assert ordered.classes == plain.classes
    assert ordered != plain
    assert type(ordered).from_arrow(ordered.to_arrow()).is_ordered
    for table, said in ((plain, None), (ordered, b"true")):
        table.write(tmp_path / "t.parquet")
        assert pq.read_schema(tmp_path / "t.parquet").metadata.get(b"sfumato.ordered") == said
        assert type(table).read(tmp_path / "t.parquet") == table
    with pytest.warns(SfumatoWarning, match="does not record that its classes are ordered"):
        ordered.write(tmp_path / "t.csv")


@pytest.mark.parametrize("kind", TABLES)
def test_classes_in_another_order_take_their_numbers_with_them(kind: str) -> None:
    table = TABLES[kind]()
    order = [table.classes[k] for k in (2, 0, 1)]
    for found, ordered in ((table.in_class_order(order), False), (table.as_ordered(order), True)):
        assert (found.classes, found.is_ordered) == (tuple(order), ordered)
        assert type(found).from_arrow(found.to_arrow()) == found
        if kind == "annotations":  # answers name their class
            assert found.payload.equals(table.payload)
            continue
        wide, before = found.head(9), table.head(9)
        assert set(wide.columns) == set(before.columns)
        assert wide.select(before.columns).equals(before)
    with pytest.raises(SfumatoError, match=f"expected the classes {order[0]}, {order[1]}, maybe"):
        table.in_class_order([*order[:2], "maybe"])


def test_a_table_keeps_its_scale_until_another_is_given() -> None:
    low_to_high = votes().as_ordered()
    assert low_to_high.in_class_order(["2", "1", "0"]).classes == ("0", "1", "2")
    with pytest.warns(SfumatoWarning, match="the scale 0 < 1 < 2 of the table is replaced by 2 < 1 < 0"):
        turned = low_to_high.as_ordered(["2", "1", "0"])
    assert turned.classes == ("2", "1", "0")
    assert turned.hard is not None
    assert turned.hard.tolist() == [2, 1, 0, 0]


@pytest.mark.parametrize("command", ["agreement", "aggregate", "doubt", "import"])
def test_every_command_takes_the_order_of_classes(command: str, scored: Path) -> None:
    classes = ("--classes", "severe,none,mild")
    words = {
        "agreement": ("agreement", "beliefs.parquet", *classes, "--ordered", "--measure", "alpha-ordinal"),
        "aggregate": ("aggregate", "beliefs.parquet", *classes, "--ordered", "-o", "out.parquet"),
        "doubt": ("doubt", "beliefs.parquet", *classes),
        "import": ("import", "auto", "beliefs.parquet", *classes, "-o", "out.parquet"),
    }[command]
    before = sf.read(scored / "beliefs.parquet")
    sfumato(*words, cwd=scored)
    if command == "aggregate":
        found, plain = SoftLabels.read(scored / "out.parquet"), sf.aggregate(before)
        assert found.classes == ("severe", "none", "mild")
        assert found.is_ordered
        for item in plain:
            assert found[item] == pytest.approx(plain[item])
    if command == "import":
        assert sf.read(scored / "out.parquet") == before.in_class_order(["severe", "none", "mild"])


def test_python_functions_take_the_order_of_classes(scored: Path) -> None:
    before = sf.read(scored / "beliefs.parquet")
    for votes_or_file in (before, scored / "beliefs.parquet", scored / "votes.csv"):
        found = sf.aggregate(votes_or_file, classes=["severe", "none", "mild"])
        assert found.classes == ("severe", "none", "mild")
        for item in found:
            assert found[item] == pytest.approx(sf.aggregate(before)[item])
    with pytest.raises(SfumatoError, match="the classes mild, none, severe in the table"):
        sf.agreement(before, classes=["none", "mild"])


def test_wrong_metadata_is_an_error() -> None:
    table = TABLES["labels"]().to_arrow()
    table = table.replace_schema_metadata({**table.schema.metadata, b"sfumato.ordered": b"yes"})
    with pytest.raises(SfumatoError, match="true or false"):
        SoftLabels.from_arrow(table)


def test_every_step_keeps_the_order(tmp_path: Path) -> None:
    beliefs = OneHot().label(annotations().as_ordered(), ())
    labels = sf.aggregate(votes().as_ordered(), by="bayes")
    for each in (
        beliefs, beliefs.take(np.array([0])), labels, Counts.of(votes().as_ordered()), sf.select(labels, items=["a"]),
        TABLES["counts"]().as_ordered().votes(), TABLES["counts"]().as_ordered().labels(),
    ):  # fmt: skip
        assert each.is_ordered, each
    assert not sf.aggregate(votes(), by="bayes").is_ordered
    labels.write(tmp_path / "labels.parquet")
    sfumato("select", tmp_path / "labels.parquet", "--where", "class=2", "-o", tmp_path / "some.parquet")
    assert SoftLabels.read(tmp_path / "some.parquet").is_ordered


def test_an_extra_class_ends_the_order() -> None:
    rows = {"item": ["a"], "annotator": ["x"], "kind": ["plausible/1"]}
    payload = ['{"none": "no", "mild": "no", "severe": "no"}']
    answers = Annotations.from_arrow(pa.table({**rows, "payload": payload}), OrderedClasses(SCALE))
    with pytest.warns(SfumatoWarning, match="no longer ordered"):
        assert not PlausibleWeighted().label(answers, ()).is_ordered


def test_ordered_categoricals_of_pandas_are_ordered() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"item": list("aab"), "annotator": list("xyx"), "label": ["mild", "none", "mild"]})
    for ordered in (True, False):
        frame["label"] = pandas.Categorical(frame["label"], categories=list(SCALE), ordered=ordered)
        beliefs = Beliefs.from_pandas(frame)
        assert beliefs.is_ordered == ordered
        # A class that nobody chose has its place on a scale; without one, the classes are those that occur.
        assert beliefs.classes == (SCALE if ordered else ("mild", "none"))


def test_a_csv_is_ordered_by_the_option(tmp_path: Path) -> None:
    file = tmp_path / "votes.csv"
    file.write_text(VOTES)
    assert sf.read(file, SCALE, ordered=True).is_ordered
    with pytest.warns(SfumatoWarning, match="alphabetical: mild < none < severe"):
        assert sf.read(file, ordered=True).is_ordered
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not sf.read(file).is_ordered
    done = sfumato("import", "crowd", file, "--classes", "none,mild,severe", "--ordered", "-o", tmp_path / "v.parquet")
    assert "ordered classes: none < mild < severe" in done.stdout + done.stderr
    assert Annotations.read(tmp_path / "v.parquet").is_ordered
    sfumato("label", tmp_path / "v.parquet", "--by", "one-hot", "-o", tmp_path / "b.parquet")
    sfumato("aggregate", tmp_path / "b.parquet", "-o", tmp_path / "l.parquet")
    assert SoftLabels.read(tmp_path / "l.parquet").is_ordered


@pytest.fixture
def scored(tmp_path: Path) -> Path:
    """Votes and beliefs on the scale, whose alphabetical order is another one, and two models; `none` is 0, ..."""
    rows = [(f"i{k}", who, SCALE[(k + (who == "y" and k % 5 == 0)) % 3]) for k in range(30) for who in "xyz"]
    (tmp_path / "votes.csv").write_text("item,annotator,label\n" + "".join(f"{','.join(row)}\n" for row in rows))
    item, annotator, label = zip(*rows, strict=True)
    Beliefs.from_votes(item=item, annotator=annotator, label=label).write(tmp_path / "beliefs.parquet")
    (tmp_path / "runs").mkdir()
    for name, shares in (("a", "1,0,0"), ("b", "0,1,0")):
        text = "item,none,mild,severe\n" + "".join(f"i{k},{shares}\n" for k in range(30))
        (tmp_path / f"{name}.csv").write_text(text)
        SoftLabels.from_numpy(
            [f"i{k}" for k in range(30)], [[int(each) for each in shares.split(",")]] * 30, SCALE, 0
        ).write(tmp_path / "runs" / f"{name}.parquet")
    return tmp_path


def distance(place: int) -> float:
    """The mean distance on the scale of the answers from one class."""
    rows = [(k + (who == "y" and k % 5 == 0)) % 3 for k in range(30) for who in "xyz"]
    return sum(abs(each - place) for each in rows) / len(rows)


@pytest.mark.parametrize("people", ["votes.csv", "beliefs.parquet"])
@pytest.mark.parametrize("models", [("--predicted", "a.csv", "--predicted", "b.csv"), ("--runs", "runs")])
def test_classes_are_the_scale_of_people_in_evaluate(people: str, models: tuple[str, ...], scored: Path) -> None:
    given = ("--people", people, "--classes", "none,mild,severe", "--ordered", "--metrics", "wasserstein")
    done = sfumato("evaluate", *models, *given, "-o", "s.csv", cwd=scored)
    assert "ordered classes: none < mild < severe" in done.stdout
    assert "alphabetical" not in done.stderr
    rows = pl.read_csv(scored / "s.csv")
    values = dict(zip(rows["target"], rows["value"], strict=True))
    assert values == pytest.approx({"a": distance(0), "b": distance(1)})


def test_classes_of_people_may_have_one_that_nobody_chose(scored: Path) -> None:
    text = (scored / "votes.csv").read_text().replace("severe", "mild")
    (scored / "votes.csv").write_text(text)
    given = ("--people", "votes.csv", "--classes", "none,mild,severe", "--metrics", "accuracy", "--resamples", "100")
    sfumato("evaluate", "--predicted", "a.csv", *given, "-o", "s.csv", cwd=scored)
    done = sfumato("evaluate", "--predicted", "a.csv", *given[:2], "-o", "s.csv", cwd=scored, code=2)
    assert "other-classes" in done.stderr


def test_a_scale_of_people_is_replaced_by_a_given_one(scored: Path) -> None:
    sf.read(scored / "beliefs.parquet").as_ordered().write(scored / "beliefs.parquet")
    given = ("--people", "beliefs.parquet", "--classes", "none,mild,severe", "--metrics", "wasserstein", "-o", "s.csv")
    done = sfumato("evaluate", "--predicted", "a.csv", *given, "--ordered", cwd=scored)
    assert "the scale mild < none < severe of the table is replaced by none < mild < severe" in done.stderr
    assert pl.read_csv(scored / "s.csv")["value"].item() == pytest.approx(distance(0))
    # Without --ordered, the names are only those of columns.
    done = sfumato("evaluate", "--predicted", "a.csv", *given, cwd=scored)
    assert pl.read_csv(scored / "s.csv")["value"].item() != pytest.approx(distance(0))


def test_python_names_arguments_that_exist(scored: Path) -> None:
    files = {"predicted": scored / "a.csv", "people": scored / "votes.csv", "metrics": "wasserstein"}
    with pytest.warns(SfumatoWarning, match="give ordered=True"):
        sf.evaluate(**files)
    with pytest.warns(SfumatoWarning, match="give the scale with classes="):
        sf.evaluate(**files, ordered=True)
    found = sf.evaluate(**files, classes=SCALE, ordered=True)
    assert found.value_of("wasserstein") == pytest.approx(distance(0))
    both = {name: scored / f"{name}.csv" for name in "ab"}
    found = sf.compare(both, people=scored / "votes.csv", metrics="wasserstein", classes=SCALE, ordered=True)
    assert found.differences[0].difference == pytest.approx(distance(1) - distance(0))


def test_agreement_says_which_order_it_used(scored: Path) -> None:
    done = sfumato("agreement", "votes.csv", "--measure", "weighted-kappa", "--measure", "icc-1", cwd=scored)
    assert "weighted-kappa used the order of the classes in the table, mild < none < severe" in done.stderr
    assert "icc-1 added the sums of squares over the classes" in done.stderr
    assert "--ordered and --classes" in done.stderr
    given = ("--ordered", "--classes", "none,mild,severe")
    done = sfumato("agreement", "votes.csv", "--measure", "gwet-ac2", "--measure", "icc-1", *given, cwd=scored)
    assert "warning" not in done.stderr
    with pytest.warns(SfumatoWarning, match=r"alpha-ordinal used .* or with votes.as_ordered\(\)"):
        sf.agreement(sf.read(scored / "votes.csv"), ["alpha-ordinal"])
    two = Beliefs.from_votes(item=list("aabb"), annotator=list("xyxy"), label=[0, 1, 0, 0])
    sf.agreement(two, ["alpha-ordinal"])  # the order of two classes does not matter: no warning


def test_scores_include_wasserstein_in_the_order_of_the_scale() -> None:
    people = SoftLabels.from_numpy(["a"], [[1, 0, 0]], SCALE, 3)
    # Columns in another order: all mass is two steps away on the scale.
    predicted = SoftLabels.from_numpy(["a"], [[0, 0, 1]], ("mild", "none", "severe"), 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = score(predicted=predicted, people=people)
        scored = score(predicted=predicted, people=people.as_ordered())
        by_prediction = score(predicted=predicted.as_ordered(), people=people)
    assert "wasserstein" not in plain.metric
    assert scored.value[scored.metric.index("wasserstein")] == 2
    assert by_prediction.value[by_prediction.metric.index("wasserstein")] == 1
    with pytest.raises(SfumatoError, match="mild < none < severe"):
        score(predicted=predicted.as_ordered(), people=people.as_ordered())


def test_the_study_file_says_it(tmp_path: Path) -> None:
    text = 'title = "Pain"\nclasses = ["none", "mild"]\nordered = {}\n[items]\nfolder = "."\n'
    for value, ordered in (("true", True), ("false", False)):
        assert is_ordered(draft_of(text.format(value), tmp_path / "study.toml").study.class_names) == ordered
    found = draft_of(text.format('"yes"'), tmp_path / "study.toml").mistakes.found
    assert "true or false" in found[0].expected
    alone = 'title = "Alike"\nordered = true\n[items]\nfolder = "."\n[question]\nkind = "triplet"\n'
    assert [each.code for each in draft_of(alone, tmp_path / "study.toml").mistakes.found] == ["no-classes"]
