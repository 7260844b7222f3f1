"""The functions of `import sfumato as sf`, each against a calculation by hand or the package behind it."""

from __future__ import annotations

import math
from pathlib import Path

import msgspec
import numpy as np
import pytest

import sfumato as sf
from sfumato.aggregation import DawidSkene
from sfumato.evaluation.metrics import Brier
from sfumato.tables.errors import BadTable, warnings_off

VOTES = "item,annotator,label\na,1,cat\na,2,cat\na,3,dog\nb,1,dog\nb,2,dog\nb,3,dog\n"


@pytest.fixture
def votes(tmp_path: Path) -> sf.Beliefs:
    (tmp_path / "votes.csv").write_text(VOTES)
    table = sf.read(tmp_path / "votes.csv")
    assert isinstance(table, sf.Beliefs)
    return table


def probs(labels: sf.SoftLabels) -> dict[str, list[float]]:
    return dict(zip(labels.items.to_pylist(), labels.probs.tolist(), strict=True))


def test_votes_become_labels(votes: sf.Beliefs) -> None:
    labels = sf.aggregate(votes)
    assert labels.classes == ("cat", "dog")
    assert probs(labels) == {"a": pytest.approx([2 / 3, 1 / 3]), "b": [0.0, 1.0]}


def test_an_aggregator_by_name_and_as_an_object_is_the_same(votes: sf.Beliefs) -> None:
    assert probs(sf.aggregate(votes, by="dawid-skene:prior=20")) == probs(
        sf.aggregate(votes, by=DawidSkene(prior=20.0))
    )


def test_doubt_of_single_votes_is_all_between_annotators(votes: sf.Beliefs) -> None:
    doubt = sf.doubt(votes)
    assert doubt.total[0] == pytest.approx(-(2 / 3 * math.log(2 / 3) + 1 / 3 * math.log(1 / 3)))
    assert doubt.within.tolist() == [0.0, 0.0]


def test_agreement_by_name(votes: sf.Beliefs) -> None:
    table = sf.agreement(votes, ["alpha-nominal"])
    # By hand: observed disagreement 2/6, expected disagreement 2 * 2 * 4 / (6 * 5).
    assert table.to_polars()["value"][0] == pytest.approx(1 - (2 / 6) / (16 / 30))


@pytest.mark.parametrize("name", ["beliefs.parquet", "beliefs.csv", "labels.parquet", "labels.csv"])
def test_what_is_written_is_read_as_what_it_is(votes: sf.Beliefs, tmp_path: Path, name: str) -> None:
    table = votes if name.startswith("beliefs") else sf.aggregate(votes)
    table.write(tmp_path / name)
    assert type(sf.read(tmp_path / name)) is type(table)


def test_an_unknown_table_names_its_columns(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("picture,opinion\n1,cat\n")
    with pytest.raises(BadTable, match="found columns picture, opinion"):
        sf.read(tmp_path / "t.csv")


def test_evaluate_and_compare(votes: sf.Beliefs) -> None:
    people = sf.aggregate(votes)
    rng = np.random.default_rng(0)
    items = [f"i{k}" for k in range(200)]
    truth = rng.dirichlet([1, 1], 200)
    people = sf.SoftLabels.from_numpy(items, truth, ("cat", "dog"), 50)
    good = sf.SoftLabels.from_numpy(items, 0.9 * truth + 0.05, ("cat", "dog"))
    bad = sf.SoftLabels.from_numpy(items, np.full((200, 2), 0.5), ("cat", "dog"))
    by_name = sf.evaluate(predicted=good, people=people, metrics=["brier"])
    assert by_name.to_polars().equals(sf.evaluate(predicted=good, people=people, metrics=[Brier()]).to_polars())
    difference = sf.compare({"bad": bad, "good": good}, people=people, metrics=["total_variation"]).to_polars()
    assert difference["target"].to_list() == ["good"]
    expected = np.abs(0.05 - 0.1 * truth[:, 0]).mean() - np.abs(0.5 - truth[:, 0]).mean()
    assert difference["difference"][0] == pytest.approx(expected)


@pytest.mark.usefixtures("quick_plans")
def test_a_plan_fits_its_budget(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = [f"i{i},a{a},{rng.choice(['x', 'y'], p=[0.7, 0.3])}" for i in range(60) for a in range(5)]
    (tmp_path / "v.csv").write_text("item,annotator,label\n" + "\n".join(rows) + "\n")
    votes = sf.read(tmp_path / "v.csv")
    small, large = (sf.plan(pilot=votes, budget=money, items=100) for money in (20, 200))
    assert small.cost.money <= 20
    assert large.cost.money <= 200
    assert large.expected.value < small.expected.value


def test_a_report_of_a_folder(votes: sf.Beliefs, tmp_path: Path) -> None:
    votes.write(tmp_path / "beliefs.parquet")
    sf.aggregate(votes).write(tmp_path / "labels.parquet")
    sf.report(tmp_path).save(tmp_path / "report.html")
    assert "<html" in (tmp_path / "report.html").read_text()


@pytest.mark.usefixtures("quick_plans")
def test_counts_and_files_are_taken_by_every_step(tmp_path: Path) -> None:
    counts = sf.Counts.from_numpy(["a", "b", "c"], [[7, 3], [2, 2], [1, 9]], ["cat", "dog"])
    votes = counts.votes()
    for by in ("mean", "majority", "bayes:bags=2"):
        np.testing.assert_allclose(sf.aggregate(counts, by).probs, sf.aggregate(votes, by).probs, rtol=0, atol=1e-12)
    assert np.array_equal(sf.doubt(counts).total, sf.doubt(votes).total)
    assert sf.agreement(counts).value.tolist() == sf.agreement(votes).value.tolist()
    with pytest.raises(sf.SfumatoError, match="without annotators, for retest-same-class"):
        sf.agreement(counts, ["retest-same-class"])
    counts.write(tmp_path / "people.csv")
    (tmp_path / "model.csv").write_text("item,dog,cat\na,0.4,0.6\nb,0.5,0.5\nc,0.8,0.2\n")
    (tmp_path / "truth.csv").write_text("item,label\na,cat\nb,cat\nc,dog\n")
    predicted = sf.SoftLabels.from_numpy(["a", "b", "c"], [[0.6, 0.4], [0.5, 0.5], [0.2, 0.8]], ["cat", "dog"])
    with warnings_off():
        from_files = sf.evaluate(
            predicted=tmp_path / "model.csv", people=tmp_path / "people.csv", original=tmp_path / "truth.csv"
        )
        original = sf.SoftLabels.one_hot(["a", "b", "c"], ["cat", "cat", "dog"], ["cat", "dog"])
        from_tables = sf.evaluate(predicted=predicted, people=counts, original=original)
        from_votes = sf.evaluate(predicted=predicted, people=sf.aggregate(votes), original=original)
    assert from_files.metric == from_tables.metric
    np.testing.assert_array_equal(from_files.value, from_tables.value)
    np.testing.assert_allclose(from_votes.value, from_tables.value, rtol=0, atol=1e-12)
    with warnings_off():
        ours, theirs = (sf.plan(pilot=each, budget=50) for each in (counts, votes))
    assert msgspec.structs.replace(ours, made=theirs.made) == theirs
