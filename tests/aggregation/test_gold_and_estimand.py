"""What is known beside the answers, and the two things that are never mixed: how people judge, and what is true."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from sfumato import Beliefs, SoftLabels
from sfumato.aggregation import (
    AGGREGATORS,
    AggregationInputs,
    DawidSkene,
    Estimand,
    Glad,
    Mace,
    Majority,
    Mean,
    OneCoin,
    calibrate,
)
from sfumato.labeling.transforms import Infill
from sfumato.tables.class_order import OrderedClasses
from sfumato.tables.errors import BadSetting, BadTable

CLASSES = OrderedClasses(("cat", "dog", "fox"))
OF_TRUTH = [each for each in AGGREGATORS if each.estimand is Estimand.TRUTH]
OF_PEOPLE = [each for each in AGGREGATORS if each.estimand is Estimand.JUDGMENT]
by_name = {"ids": lambda each: each.name}


def misled() -> tuple[np.ndarray, Beliefs]:
    """Six of ten people name the next class, four the right one, on 200 items, each with one slip in ten."""
    rng = np.random.default_rng(1)
    truth = rng.integers(3, size=200)
    who = np.tile(np.arange(10), 200)
    meant = (np.repeat(truth, 10) + (who < 6)) % 3
    said = np.where(rng.random(2000) < 0.1, rng.integers(3, size=2000), meant)
    return truth, Beliefs.from_numpy([f"i{i}" for i in range(200) for _ in range(10)], who.tolist(), said, CLASSES)


def gold_of(truth: np.ndarray, n: int) -> SoftLabels:
    return SoftLabels.one_hot([f"i{i}" for i in range(n)], [CLASSES[k] for k in truth[:n]], CLASSES)


@pytest.mark.parametrize("aggregator", OF_TRUTH, **by_name)
def test_gold_items_keep_their_class(aggregator: Any) -> None:
    truth, beliefs = misled()
    labels = aggregator().aggregate(beliefs, AggregationInputs(gold=gold_of(truth, 40))).labels
    assert np.array_equal(labels.probs[:40], np.eye(3)[truth[:40]])


@pytest.mark.parametrize("aggregator", [DawidSkene, OneCoin, Glad, Mace], **by_name)
def test_gold_improves_the_rest(aggregator: Any) -> None:
    truth, beliefs = misled()
    without = aggregator().aggregate(beliefs).labels.probs[100:].argmax(axis=1)
    with_gold = (
        aggregator().aggregate(beliefs, AggregationInputs(gold=gold_of(truth, 100))).labels.probs[100:].argmax(axis=1)
    )
    assert (without == truth[100:]).mean() < 0.1
    assert (with_gold == truth[100:]).mean() > 0.95


def test_gold_is_matched_by_name() -> None:
    truth, beliefs = misled()
    gold = SoftLabels.one_hot(["nobody-saw-it", "i7"], ["cat", CLASSES[truth[7]]], ("fox", "dog", "cat"))
    labels = DawidSkene().aggregate(beliefs, AggregationInputs(gold=gold)).labels
    assert labels.probs[7].tolist() == np.eye(3)[truth[7]].tolist()
    assert labels.probs[6].max() < 1


@pytest.mark.parametrize("aggregator", OF_PEOPLE, **by_name)
def test_gold_for_how_people_judge_is_refused(aggregator: Any) -> None:
    truth, beliefs = misled()
    with pytest.raises(BadSetting) as caught:
        aggregator().aggregate(beliefs, AggregationInputs(gold=gold_of(truth, 5)))
    assert caught.value.code == "wrong-estimand"


@pytest.mark.parametrize("aggregator", AGGREGATORS, **by_name)
def test_gold_of_strangers_is_refused(aggregator: Any) -> None:
    _, beliefs = misled()
    for gold, code in (
        (SoftLabels.one_hot(["i1"], ["emu"], ("cat", "emu")), "bad-classes"),
        (SoftLabels.one_hot(["j1"], ["cat"], ("cat", "dog")), "missing-gold"),
    ):
        with pytest.raises(BadTable) as caught:
            aggregator().aggregate(beliefs, AggregationInputs(gold=gold))
        assert caught.value.code == code


@pytest.mark.parametrize("aggregator", OF_PEOPLE, **by_name)
def test_doubt_is_not_to_be_calibrated_away(aggregator: Any) -> None:
    aggregation = aggregator().aggregate(misled()[1])
    with pytest.raises(BadSetting) as caught:
        calibrate(aggregation)
    assert caught.value.code == "wrong-estimand"


def test_calibration_needs_something_to_go_by() -> None:
    truth, beliefs = misled()
    for aggregation, gold, code in (
        (Majority().aggregate(beliefs), None, "missing-gold"),
        (Majority().aggregate(beliefs), SoftLabels.one_hot(["j"], ["cat"], CLASSES), "missing-gold"),
        (Majority().aggregate(beliefs), SoftLabels.one_hot(["i1"], ["emu"], ("emu", "cat")), "bad-classes"),
        # Gold that was fixed cannot judge.
        (DawidSkene().aggregate(beliefs, AggregationInputs(gold=gold_of(truth, 9))), gold_of(truth, 9), "missing-gold"),
        (DawidSkene().aggregate(beliefs.take(np.arange(0, 2000, 10))), None, "missing-gold"),
    ):
        with pytest.raises((BadTable, BadSetting)) as caught:
            calibrate(aggregation, gold)
        assert caught.value.code == code


def test_labels_of_two_sorts_do_not_fill_each_other_in() -> None:
    _, beliefs = misled()
    people = Mean().aggregate(beliefs.take(np.arange(500))).labels
    true = DawidSkene().aggregate(beliefs).labels
    for table, filling in ((people, true), (true, people)):
        with pytest.raises(BadTable) as caught:
            Infill(filling=filling).apply(table)
        assert caught.value.code == "wrong-estimand"
    filled = Infill(filling=Mean().aggregate(beliefs).labels).apply(people)
    assert (len(filled), filled.estimand) == (200, Estimand.JUDGMENT)


@pytest.mark.parametrize("aggregator", [Mean, DawidSkene], **by_name)
def test_a_file_says_what_its_labels_are(aggregator: Any, tmp_path: Path) -> None:
    labels = aggregator().aggregate(misled()[1]).labels
    labels.write(tmp_path / "l.parquet")
    assert SoftLabels.read(tmp_path / "l.parquet").estimand is aggregator.estimand
    table = pq.read_table(tmp_path / "l.parquet")
    table = table.replace_schema_metadata({**table.schema.metadata, b"sfumato.estimand": b"what the boss thinks"})
    pq.write_table(table, tmp_path / "m.parquet")
    with pytest.raises(BadTable, match="what the boss thinks") as caught:
        SoftLabels.read(tmp_path / "m.parquet")
    assert caught.value.code == "bad-estimand"


def test_labels_nobody_spoke_about_have_no_target(tmp_path: Path) -> None:
    SoftLabels.one_hot(["a"], ["cat"], CLASSES).write(tmp_path / "l.parquet")
    assert SoftLabels.read(tmp_path / "l.parquet").estimand is None
