"""Parts of tables: the rows that a direct count gives, splits of the right sizes, and clear errors."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.tables.errors import SfumatoError, SfumatoWarning
from sfumato.tables.scores import Score, Scores

VOTES = [("a", "ann", "cat"), ("a", "ben", "cat"), ("a", "cem", "dog"), ("b", "ann", "dog"), ("c", "ann", "cat"),
         ("c", "ben", "cat"), ("d", "ann", "dog"), ("d", "ben", "dog")]  # fmt: skip
BELIEFS = sf.Beliefs.from_votes(
    item=[v[0] for v in VOTES], annotator=[v[1] for v in VOTES], label=[v[2] for v in VOTES], classes=["cat", "dog"]
)
COUNTS = sf.Counts.of(BELIEFS)
LABELS = COUNTS.labels()
INPUTS = sf.Inputs(("a", "b", "c", "d"), features=np.eye(4), labels=("cat", "dog", "cat", "dog"))
TABLES: dict[str, Any] = {
    "beliefs": BELIEFS,
    "counts": COUNTS,
    "labels": LABELS,
    "inputs": INPUTS,
    "doubt": BELIEFS.doubt(),
}


def items_of(table: Any) -> list[str]:
    """The item of every row."""
    return list(table.items) if isinstance(table, sf.Inputs) else table.to_polars()["item"].to_list()


@pytest.mark.parametrize("name", TABLES)
def test_items_are_kept_and_left_out_in_every_table(name: str) -> None:
    table = TABLES[name]
    kept = sf.select(table, items=["d", "a"])
    assert type(kept) is type(table)
    assert items_of(kept) == [item for item in items_of(table) if item in "ad"]
    left = sf.select(table, leave_out=["d", "a"])
    assert items_of(left) == [item for item in items_of(table) if item in "bc"]


def test_what_the_rows_hold_stays(tmp_path: Path) -> None:
    assert np.array_equal(sf.select(COUNTS, items=["a", "c"]).counts, [[2, 1], [2, 0]])
    assert np.array_equal(sf.select(INPUTS, items=["c", "b"]).features, np.eye(4)[[1, 2]])
    assert sf.select(INPUTS, items=["c", "b"]).labels == ("dog", "cat")
    labels = sf.select(LABELS, items=["a"])
    np.testing.assert_allclose(labels.probs, [[2 / 3, 1 / 3]])
    assert labels.n_annotators.tolist() == [3]


@pytest.mark.parametrize("name", ["beliefs", "counts", "labels"])
def test_conditions_mean_the_same_in_every_form(name: str) -> None:
    """By hand: a has votes 2 to 1, b one vote, c and d two equal ones."""
    table = TABLES[name]

    def kept(*where: str) -> str:
        return "".join(dict.fromkeys(items_of(sf.select(table, where=where))))

    assert kept("n_annotators>=2") == "acd"
    assert kept("n_annotators = 1") == "b"
    assert kept("entropy>0.63") == "a"  # ln 3 - 2/3 ln 2 = 0.6365
    assert kept("entropy<0.64") == "abcd"
    assert kept("class==dog") == "bd"
    assert kept("class!='dog'") == "ac"
    assert kept("confidence<0.7") == "a"
    assert kept("p:cat>0.5") == "ac"
    assert kept("class==cat", "n_annotators<3") == "c"


def test_conditions_on_rows_and_times(tmp_path: Path) -> None:
    table = sf.select(BELIEFS, where="annotator==ann")
    assert items_of(table) == ["a", "b", "c", "d"]
    assert sf.select(BELIEFS, where="n_answers>2").annotator.names.to_pylist() == ["ann", "ben", "cem"]
    assert sf.select(COUNTS, where="n:cat>=2").items.to_pylist() == ["a", "c"]


def test_another_table_says_what_inputs_do_not() -> None:
    assert sf.select(INPUTS, where="entropy>0.1", labels=LABELS).items == ("a",)
    assert sf.select(INPUTS, where="n_annotators==1", labels=COUNTS).items == ("b",)
    with pytest.warns(SfumatoWarning, match="2 rows have no n_annotators"):
        part = sf.select(INPUTS, where="n_annotators>0", labels=sf.select(LABELS, items=["a", "c"]))
    assert part.items == ("a", "c")


def test_scores_are_selected_by_their_columns() -> None:
    def score(metric: str, value: float) -> Score:
        return Score(
            metric=metric, condition="all", value=value, low=0.0, high=1.0, n_items=3, floor=0.0, covers="items"
        )

    scores = Scores.of([score("brier", 0.2), score("accuracy", 0.9)])
    assert [row.metric for row in sf.select(scores, where="value>0.5").rows()] == ["accuracy"]
    with pytest.raises(SfumatoError, match="a column 'item'"):
        sf.select(scores, items=["a"])


def many(n: int, seed: int = 0) -> sf.SoftLabels:
    """Labels of `n` items: two thirds cats."""
    names = [f"i{k}" for k in np.random.default_rng(seed).permutation(n)]
    probs = [[0.9, 0.1] if int(name[1:]) % 3 else [0.2, 0.8] for name in names]
    return sf.SoftLabels.from_numpy(names, probs, ["cat", "dog"], 5)


def test_a_split_has_the_sizes_asked_for_and_is_the_same_for_the_same_items() -> None:
    parts = sf.select(many(100), split={"train": 0.7, "val": 0.1, "test": 0.2}, seed=3)
    sets = {name: set(items_of(part)) for name, part in parts.items()}
    assert {name: len(each) for name, each in sets.items()} == {"train": 70, "val": 10, "test": 20}
    assert len(set.union(*sets.values())) == 100
    # Another order of the rows, and another kind of table.
    inputs = sf.Inputs(tuple(items_of(many(100, 1))), texts=("x",) * 100)
    again = sf.select(inputs, split={"train": 0.7, "val": 0.1, "test": 0.2}, seed=3)
    assert {name: set(part.items) for name, part in again.items()} == sets
    other = sf.select(many(100), split={"train": 0.7, "val": 0.1, "test": 0.2}, seed=4)
    assert set(items_of(other["test"])) != sets["test"]
    # About 20 * 20 / 100 items are in both by chance.
    assert len(set(items_of(other["test"])) & sets["test"]) < 12


def test_a_stratified_split_has_the_same_share_of_every_class() -> None:
    labels = many(99)
    for seed in range(5):
        parts = sf.select(labels, split={"train": 2 / 3, "test": 1 / 3}, stratify="class", seed=seed)
        for name, expected in (("train", (44, 22)), ("test", (22, 11))):
            dogs = int((parts[name].probs[:, 1] > 0.5).sum())
            assert len(parts[name]) == sum(expected)
            assert abs(dogs - expected[1]) <= 1


def test_all_rows_of_an_item_are_in_one_part() -> None:
    parts = sf.select(BELIEFS, split={"one": 0.5, "two": 0.5})
    one, two = (set(items_of(part)) for part in parts.values())
    assert not one & two
    assert sum(map(len, parts.values())) == len(BELIEFS)


def test_numbers_of_items_and_of_items_per_class() -> None:
    with pytest.warns(SfumatoWarning, match="85 of 100 items are in no part"):
        parts = sf.select(many(100), split={"a": 10, "b": 5})
    assert [len(part) for part in parts.values()] == [10, 5]
    some = sf.select(many(100), per_class=7)
    assert Counter((some.probs[:, 1] > 0.5).tolist()) == {True: 7, False: 7}
    with pytest.warns(SfumatoWarning, match=r"dog \(34\)"):
        assert len(sf.select(many(100), per_class=40)) == 74


def test_ids_that_the_table_does_not_have_are_named() -> None:
    with pytest.warns(SfumatoWarning, match="1 of 2 ids of items= are not in the table: 'z'"):
        assert items_of(sf.select(LABELS, items=["a", "z"])) == ["a"]


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        ({}, "nothing-chosen", "where="),
        ({"items": ["z"]}, "missing-item", "'a', 'b', 'c'"),
        ({"items": "a"}, "bad-setting", "a list of item ids"),
        ({"where": "n_annotator>3"}, "unknown-column", "did you mean 'n_annotators'"),
        ({"where": "entropy"}, "bad-condition", "n_annotators>=5"),
        ({"where": "entropy>much"}, "bad-condition", "a number after >"),
        ({"where": "class>1"}, "bad-condition", "class with == or !="),
        ({"where": "entropy>5"}, "no-rows", "none of the 4 rows"),
        ({"split": {"a": 0.7, "b": 0.7}}, "bad-setting", "sum to at most 1"),
        ({"split": {"a": 0.99, "b": 0.01}}, "empty-part", "0 of them for b"),
        ({"split": {"a": 3, "b": 3}}, "too-few-items", "at most the 4"),
        ({"split": {}}, "bad-setting", "shares"),
        ({"per_class": 0}, "bad-setting", "1 or more"),
        ({"per_class": 3, "stratify": "class"}, "bad-setting", "without a split"),
        ({"split": {"a": 0.5}, "seed": -1}, "bad-setting", "seed"),
    ],
)
def test_mistakes(options: dict[str, Any], code: str, says: str) -> None:
    with pytest.raises(SfumatoError) as caught:
        sf.select(LABELS, **options)
    assert caught.value.code == code
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("table", "says"), [("labels.parquet", "an existing file"), (pl.DataFrame({"item": ["a"]}), "from_arrow")]
)
def test_what_is_no_table(table: Any, says: str) -> None:
    with pytest.raises(SfumatoError, match=says):
        sf.select(table, items=["a"])
    with pytest.raises(SfumatoError, match="labels="):
        sf.select(INPUTS, where="entropy>1")
