"""Crowds that nobody plans for, through every aggregator: a clear error, or a right answer and a warning."""

from __future__ import annotations

import time
import tracemalloc
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato import Beliefs, SoftLabels
from sfumato.aggregation import (
    AGGREGATORS,
    AggregationInputs,
    Aggregator,
    AnswerMatrix,
    Mean,
    aggregator_from_name,
    intervals,
)
from sfumato.aggregation.aggregation_options import read_weights
from sfumato.tables.class_order import OrderedClasses
from sfumato.tables.errors import BadSetting, BadTable, SfumatoWarning, UnknownName, warnings_off

CLASSES = OrderedClasses(("cat", "dog", "fox"))


def made(aggregator: Any) -> Aggregator:
    """Ten iterations, whether they are enough or not: small crowds may have no clear optimum."""
    has = {field.name for field in fields(aggregator)}
    settings = {"iterations": 10, "tolerance": 0.0, "components": 4}
    return aggregator(**{name: value for name, value in settings.items() if name in has})


over_all = pytest.mark.parametrize("aggregator", [made(each) for each in AGGREGATORS], ids=lambda each: each.name)


def votes(rows: list[tuple[str, str, int]], classes: tuple[str, ...] = CLASSES) -> Beliefs:
    items, people, chosen = zip(*rows, strict=True)
    return Beliefs.from_numpy(items, people, np.array(chosen), classes)


def checked(aggregator: Aggregator, beliefs: Beliefs, inputs: AggregationInputs | None = None) -> dict[str, np.ndarray]:
    """Each item's distribution, every number of the result looked at; intervals hold the label of how people judge."""
    result = aggregator.aggregate(beliefs, inputs)
    probs = result.labels.probs
    assert np.isfinite(probs).all()
    assert (probs >= 0).all()
    np.testing.assert_allclose(probs.sum(axis=1), 1, atol=1e-9)
    for values in result.annotators.measures.values():
        assert np.isfinite(values).all()
    assert np.isfinite(result.objective).all()
    with warnings_off():  # of few items
        table = intervals(result)
    assert np.isfinite(table.low).all()
    assert np.isfinite(table.high).all()
    assert (table.low <= table.high).all()
    return dict(zip(result.labels.items.to_pylist(), probs, strict=True))


@over_all
@pytest.mark.filterwarnings("ignore:no item has more than one vote")
def test_one_annotator_only(aggregator: Aggregator) -> None:
    rows = checked(aggregator, votes([(f"i{i}", "a", i % 3) for i in range(30)]))
    assert [int(rows[f"i{i}"].argmax()) for i in range(30)] == [i % 3 for i in range(30)]


@over_all
@pytest.mark.filterwarnings("ignore:no item has more than one vote")
def test_a_single_answer(aggregator: Aggregator) -> None:
    assert checked(aggregator, votes([("x", "a", 1)]))["x"].argmax() == 1


@over_all
def test_one_answer_each(aggregator: Aggregator) -> None:
    """Everybody answers once, three people an item: nothing is known of anybody."""
    rows = checked(aggregator, votes([(f"i{i}", f"a{i}-{j}", i % 3) for i in range(20) for j in range(3)]))
    assert [int(rows[f"i{i}"].argmax()) for i in range(20)] == [i % 3 for i in range(20)]


@over_all
def test_only_one_class_is_ever_chosen(aggregator: Aggregator) -> None:
    rows = checked(aggregator, votes([(f"i{i}", f"a{j}", 2) for i in range(10) for j in range(3)]))
    assert {int(row.argmax()) for row in rows.values()} == {2}


@over_all
def test_who_always_says_the_same_does_not_decide(aggregator: Aggregator) -> None:
    others = [(f"i{i}", f"a{j}", i % 3) for i in range(30) for j in range(3)]
    rows = checked(aggregator, votes([*others, *[(f"i{i}", "same", 0) for i in range(30)]]))
    assert [int(rows[f"i{i}"].argmax()) for i in range(30)] == [i % 3 for i in range(30)]


@over_all
def test_groups_that_never_meet(aggregator: Aggregator) -> None:
    """Two groups with items and people of their own."""
    rng = np.random.default_rng(1)
    rows = [
        (f"{group}{i}", f"{group}-{j}", i % 3 if rng.random() < 0.9 else int(rng.integers(3)))
        for group in "ab"
        for i in range(30)
        for j in range(5)
    ]
    found = checked(aggregator, votes(rows))
    assert np.mean([found[f"{group}{i}"].argmax() == i % 3 for group in "ab" for i in range(30)]) > 0.9


@over_all
def test_a_belief_that_knows_nothing(aggregator: Aggregator) -> None:
    flat = np.full((12, 3), 1 / 3)
    beliefs = Beliefs.from_numpy([f"i{i // 3}" for i in range(12)], list("abc") * 4, flat, CLASSES)
    for row in checked(aggregator, beliefs).values():
        # The prior of `bayes` includes items drawn at random, which are not exactly even. The geometric means over the
        # types of an annotator, which `ordinal-dawid-skene` uses, do not sum to 1.
        atol = {"bayes": 1e-3, "ordinal-dawid-skene": 0.03}.get(aggregator.name, 1e-6)
        np.testing.assert_allclose(row, 1 / 3, atol=atol)


TWICE = [("x", "a", 0), ("x", "a", 0), ("x", "b", 1), ("y", "a", 2), ("y", "b", 2)]


@over_all
def test_a_second_answer_warns_and_counts(aggregator: Aggregator) -> None:
    with pytest.warns(SfumatoWarning, match=r"found 1 repeated answers.*average_repeats=True"):
        rows = checked(aggregator, votes(TWICE))
    # By who agrees with whom, a person contradicted twice is trusted less than one contradicted once.
    assert aggregator.name == "spectral" or rows["x"][0] >= rows["x"][1]


@over_all
def test_repeats_averaged_are_one_answer(aggregator: Aggregator) -> None:
    once = checked(aggregator, votes([("x", "a", 0), ("x", "b", 1), ("y", "a", 2), ("y", "b", 2)]))
    if aggregator.name in ("mean", "majority", "log-pool"):
        averaged = checked(aggregator, votes(TWICE), AggregationInputs(average_repeats=True))
        np.testing.assert_allclose(averaged["x"], once["x"], atol=1e-12)
    result = aggregator.aggregate(votes(TWICE), AggregationInputs(average_repeats=True))
    assert result.labels.n_annotators is not None
    assert result.labels.n_annotators.tolist() == [2, 2]


def test_repeats_averaged_by_hand() -> None:
    """a said cat and dog of x: half a voice each; b said dog. So dog has 1.5 of 2."""
    beliefs = votes([("x", "a", 0), ("x", "a", 1), ("x", "b", 1)])
    np.testing.assert_allclose(
        Mean().aggregate(beliefs, AggregationInputs(average_repeats=True)).labels.probs, [[0.25, 0.75, 0.0]], rtol=1e-12
    )


@over_all
@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf")])
def test_weights_that_mean_nothing_are_refused(aggregator: Aggregator, weight: float) -> None:
    with pytest.raises(BadSetting) as caught:
        aggregator.aggregate(votes([("x", "a", 0), ("x", "b", 1)]), AggregationInputs(weights={"a": weight}))
    assert caught.value.code == "bad-weight"


@over_all
def test_nobody_counts(aggregator: Aggregator) -> None:
    with pytest.raises(BadSetting, match="weight 0 for every annotator") as caught:
        aggregator.aggregate(votes([("x", "a", 0), ("x", "b", 1)]), AggregationInputs(weights={"a": 0.0, "b": 0.0}))
    assert caught.value.code == "bad-weight"


@over_all
def test_an_item_of_people_who_do_not_count_is_told(aggregator: Aggregator) -> None:
    beliefs = votes([("x", "a", 0), ("y", "b", 1), ("x", "c", 0), ("z", "c", 1)])
    with pytest.warns(SfumatoWarning, match="and 1 items that nobody else answered"):
        rows = checked(aggregator, beliefs, AggregationInputs(weights={"b": 0.0}))
    assert sorted(rows) == ["x", "z"]


def test_weights_of_strangers_warn() -> None:
    with pytest.warns(SfumatoWarning, match="weights for annotators without answers: zoe"):
        Mean().aggregate(votes([("x", "a", 0)]), AggregationInputs(weights={"zoe": 2.0}))


def test_weights_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text("annotator,weight\na,2\nb,0.5\n")
    assert read_weights(tmp_path / "w.csv") == {"a": 2.0, "b": 0.5}
    (tmp_path / "v.csv").write_text("annotator,weight\na,2\nb,1\na,0.5\n")
    with pytest.raises(BadTable, match="'a' a second time") as caught:
        read_weights(tmp_path / "v.csv")
    assert (caught.value.code, caught.value.where.line) == ("doubled-annotator", 4)


@over_all
def test_no_answers(aggregator: Aggregator) -> None:
    with pytest.raises(BadTable) as caught:
        aggregator.aggregate(Beliefs.from_numpy([], [], np.empty((0, 3)), CLASSES))
    assert caught.value.code == "no-rows"


def test_names_there_are_not() -> None:
    with pytest.raises(UnknownName, match="did you mean 'dawid-skene'"):
        aggregator_from_name("david-skene", {})
    with pytest.raises(BadSetting, match="found the setting prior for mean"):
        aggregator_from_name("mean", {"prior": 1.0})
    with pytest.raises(BadSetting) as caught:
        intervals(Mean().aggregate(votes([("x", "a", 0)])), 1.0)
    assert caught.value.code == "bad-setting"


def many_classes(n_annotators: int) -> Beliefs:
    """Ten thousand classes, 2,000 answers to 400 items; four of five people are right about each."""
    rng = np.random.default_rng(2)
    rows = [
        (f"i{i}", f"a{(5 * i + j) % n_annotators}", i * 20 if j else int(rng.integers(10_000)))
        for i in range(400)
        for j in range(5)
    ]
    return votes(rows, tuple(f"c{k}" for k in range(10_000)))


CAN = [each for each in AGGREGATORS if each.name not in ("dawid-skene", "ordinal-dawid-skene", "mixture-pool")]


@pytest.mark.parametrize("aggregator", CAN, ids=lambda each: each.name)
@pytest.mark.slow
def test_ten_thousand_classes(aggregator: Any) -> None:
    beliefs = many_classes(50)
    inputs = (
        AggregationInputs(gold=SoftLabels.one_hot(["i1"], ["c20"], ("c20", "c0")))
        if aggregator.name == "one-coin"
        else None
    )
    tracemalloc.start()
    started = time.process_time()
    labels = made(aggregator).aggregate(beliefs, inputs).labels
    taken = time.process_time() - started
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [int(row.argmax()) for row in labels.probs] == [20 * i for i in range(400)]
    assert taken < 10
    assert peak < 1.5 * 2**30


@pytest.mark.parametrize("name", ["dawid-skene", "ordinal-dawid-skene", "mixture-pool"])
def test_a_confusion_over_ten_thousand_classes_is_refused_at_once(name: str) -> None:
    with pytest.raises(BadTable, match="one-coin or mace") as caught:
        aggregator_from_name(name, {}).aggregate(many_classes(1000))
    assert caught.value.code == "too-large"


def test_too_many_pairs_are_refused() -> None:
    classes = tuple(f"c{k}" for k in range(70_000))
    people = [f"a{w}" for w in range(35_000)]
    beliefs = Beliefs.from_numpy(["x"] * 35_000, people, np.zeros(35_000, np.int32), classes)
    with pytest.raises(BadTable) as caught:
        AnswerMatrix.of(beliefs)
    assert caught.value.code == "too-many-pairs"
