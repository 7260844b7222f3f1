"""Several label sets in one experiment, labels of some items only, and weights of items."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.tables.errors import BadSetting, BadTable, UnknownName
from sfumato.tables.estimand import Estimand
from sfumato.tables.strategies import StrategyText
from sfumato.training.item_join import join_items, read_weights
from sfumato.training.label_set import LabelSetTarget, check_set_name, label_set_of, named_targets, note_of_sets
from sfumato.training.run_folder import Run
from sfumato.training.targets import DeaggregatedTarget, HardTarget, MajorityTarget, SoftTarget
from sfumato.training.training_set import TrainingSet

CLASSES = ("cat", "dog", "emu")
ITEMS = tuple(f"i{n}" for n in range(24))
NUMBERS = np.arange(24) % 3
INPUTS = sf.Inputs(ITEMS, features=np.eye(3)[NUMBERS] + np.linspace(0, 0.3, 72).reshape(24, 3))
ORIGINAL = {item: CLASSES[k] for item, k in zip(ITEMS, NUMBERS, strict=True)}
RNG = np.random.default_rng(0)


def labels(sure: float, items: tuple[str, ...] = ITEMS, classes: tuple[str, ...] = CLASSES) -> sf.SoftLabels:
    probs = np.full((24, 3), (1 - sure) / 2) + (1.5 * sure - 0.5) * np.eye(3)[NUMBERS]
    rows = [ITEMS.index(item) for item in items]
    columns = [CLASSES.index(name) for name in classes]
    return sf.SoftLabels.from_numpy(items, probs[rows][:, columns], classes, 5)


EQUAL, WEIGHTED, SOME = labels(0.6), labels(0.8, ITEMS[::-1], ("emu", "cat", "dog")), labels(0.7, ITEMS[:10])


def names(text: str, *sets: str, rest: str | None = None) -> list[str]:
    return list(named_targets(StrategyText.of(text), sets, rest))


def test_a_target_without_a_label_set_stands_for_all() -> None:
    assert names("soft") == ["soft"]
    assert names("soft", "people") == ["soft"]
    assert names("soft", "equal", "people") == ["soft@equal", "soft"]
    assert names("tempered:temperature=2", "equal") == ["tempered@equal:temperature=2"]
    assert names("tempered@equal:temperature=2", "equal", "weighted") == ["tempered@equal:temperature=2"]
    for name in ("hard", "smoothing", "uniform", "deaggregated", "distilled"):
        assert names(name, "equal", "weighted") == [name]
    assert names("hard@original", "equal") == ["hard"]
    assert names("soft@people", "people") == ["soft"]
    both = named_targets(StrategyText.of("soft"), ["equal", "weighted"])
    assert note_of_sets({"soft": both, "hard": {"hard": None}}) == (
        "soft is trained on each label set: soft@equal, soft@weighted",
    )
    assert [label_set_of(each) for each in both.values()] == ["equal", "weighted"]
    assert [label_set_of(each) for each in (SoftTarget(), HardTarget(), DeaggregatedTarget())] == [
        "people", "original", ""
    ]  # fmt: skip


def test_names_that_mean_nothing_are_refused() -> None:
    with pytest.raises(UnknownName, match="did you mean 'weighted'"):
        names("soft@wieghted", "equal", "weighted")
    with pytest.raises(UnknownName, match="one of equal, original"):
        names("soft:rest=people", "equal")
    with pytest.raises(BadSetting, match="uses no people's labels"):
        names("uniform@equal", "equal")
    with pytest.raises(BadSetting, match="deaggregated uses beliefs"):
        names("deaggregated@equal", "equal")
    with pytest.raises(BadSetting, match="uses no labels of people"):
        names("hard:rest=original", "people")
    for name in ("original", "beliefs", "a b", "", "a@b"):
        with pytest.raises(BadSetting):
            check_set_name(name)


def test_each_set_is_matched_by_item_and_class() -> None:
    data = join_items(INPUTS, label_sets={"equal": EQUAL, "weighted": WEIGHTED}, original=ORIGINAL)
    assert (data.people, data.set_names) == (None, ["equal", "weighted"])
    for name, sure in (("equal", 0.6), ("weighted", 0.8)):
        target = LabelSetTarget(SoftTarget(), name)
        np.testing.assert_allclose(target.labels(data, RNG).mean(), labels(sure).probs)
    for target in (LabelSetTarget(MajorityTarget(), "weighted"), LabelSetTarget(SoftTarget(), "original")):
        np.testing.assert_array_equal(target.labels(data, RNG).mean(), np.eye(3)[NUMBERS])
    with pytest.raises(BadSetting, match="write soft@equal"):
        SoftTarget().labels(data, RNG)
    few = data.take(np.array([5, 2]))
    soft = LabelSetTarget(SoftTarget(), "weighted").labels(few, RNG).mean()
    np.testing.assert_allclose(soft, labels(0.8).probs[[5, 2]])


def test_hard_labels_are_a_label_set_too() -> None:
    experts = sf.SoftLabels.one_hot(ITEMS, ["emu"] * 24, CLASSES)
    data = join_items(INPUTS, label_sets={"experts": experts, "equal": EQUAL}, original=ORIGINAL)
    hard = LabelSetTarget(HardTarget(), "experts").labels(data, RNG).mean()
    np.testing.assert_array_equal(hard, np.tile([0, 0, 1], (24, 1)))
    assert HardTarget().labels(data, RNG).mean()[0, 0] == 1
    with pytest.raises(BadSetting, match="majority@equal"):
        LabelSetTarget(HardTarget(), "equal").labels(data, RNG)


def test_sets_must_have_the_same_items_and_classes() -> None:
    with pytest.raises(BadTable, match=r"no label of the set some for item 'i10' \(14 such") as caught:
        join_items(INPUTS, label_sets={"equal": EQUAL, "some": SOME}, original=ORIGINAL)
    assert caught.value.code == "other-items"
    assert "rest" in caught.value.fix
    birds = sf.SoftLabels.from_numpy(ITEMS, EQUAL.probs, ["cat", "dog", "owl"])
    with pytest.raises(BadTable, match="the label set birds with the additional class owl and no class emu"):
        join_items(INPUTS, label_sets={"equal": EQUAL, "birds": birds})
    more = sf.SoftLabels.from_numpy([*ITEMS, "z"], np.vstack([EQUAL.probs, EQUAL.probs[:1]]), CLASSES)
    with pytest.raises(BadTable, match="no input for item 'z'"):
        join_items(INPUTS, label_sets={"equal": EQUAL, "more": more}, rests=["equal"])


def partly(rest: str = "original", **others: sf.SoftLabels) -> TrainingSet:
    return join_items(INPUTS, label_sets={"people": SOME, **others}, original=ORIGINAL, rests=[rest])


def test_soft_labels_for_some_items_and_hard_ones_for_the_rest() -> None:
    data = partly()
    assert data.n_items == 24
    assert data.notes == ("people: labels for 10 of 24 items; the rest by original",)
    made = LabelSetTarget(SoftTarget(), rest="original").labels(data, RNG).mean()
    np.testing.assert_allclose(made[:10], labels(0.7).probs[:10])
    np.testing.assert_array_equal(made[10:], np.eye(3)[NUMBERS[10:]])
    with pytest.raises(BadTable, match=r"no label of people for item 'i10' \(14 such items\).*original"):
        SoftTarget().labels(data, RNG)
    made = LabelSetTarget(SoftTarget(), rest="equal").labels(partly("equal", equal=EQUAL), RNG).mean()
    np.testing.assert_allclose(made[10:], labels(0.6).probs[10:])
    with pytest.raises(BadTable, match="nor of other, for item 'i12'"):
        LabelSetTarget(SoftTarget(), rest="other").labels(partly("original", other=labels(0.6, ITEMS[:12])), RNG)
    left_out = join_items(INPUTS, people=SOME, original=ORIGINAL)
    assert left_out.notes == (
        'left out 14 of 24 inputs: they have no label; rest="original" would train on their original labels',
    )


def test_beliefs_about_some_items() -> None:
    beliefs = sf.Beliefs.from_numpy(["i3", "i3", "i20"], ["a", "b", "a"], np.array([0, 1, 2]), CLASSES)
    data = join_items(INPUTS, people=EQUAL, beliefs=beliefs, original=ORIGINAL)
    with pytest.raises(BadTable, match="no belief about item 'i0'") as caught:
        DeaggregatedTarget().labels(data, RNG)
    assert "leave these items out" in caught.value.fix
    filled = LabelSetTarget(DeaggregatedTarget(), rest="original").labels(data, RNG).mean()
    expected = np.eye(3)[NUMBERS]
    expected[3], expected[20] = [0.5, 0.5, 0], [0, 0, 1]
    np.testing.assert_array_equal(filled, expected)
    soft = LabelSetTarget(DeaggregatedTarget(annotators=1), rest="people").labels(data, RNG).mean()
    np.testing.assert_allclose(soft[4:20], labels(0.6).probs[4:20])
    pool = data.with_beliefs_for_all("people", "soft").beliefs
    assert pool is not None
    assert (pool.n_annotators, int((pool.annotators == 2).sum())) == (3, 22)


def test_runs_name_their_label_set_and_later_sets_only_add_runs(tmp_path: Path) -> None:
    sets = {"equal": EQUAL, "original": sf.SoftLabels.one_hot(ITEMS, list(ORIGINAL.values()), CLASSES)}
    settings = {"targets": "hard,soft", "model": "linear", "seeds": 2, "output": tmp_path}
    first = sf.train(INPUTS, sets, **settings)
    assert [(run.metadata["target"], run.metadata["label_set"]) for run in first.runs[:2]] == [
        ("hard", "original"), ("soft@equal", "equal")
    ]  # fmt: skip
    written = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*/run.json")}
    both = sf.train(INPUTS, {**sets, "weighted": WEIGHTED, "people": labels(0.9)}, **settings)
    assert [run.metadata["target"] for run in both.runs[:4]] == ["hard", "soft@equal", "soft@weighted", "soft"]
    assert {path: path.stat().st_mtime_ns for path in written} == written
    assert (tmp_path / "runs.csv").read_text().splitlines()[0].split(",")[5] == '"label_set"'
    stored = sf.SoftLabels.read(tmp_path / "label-sets" / "weighted.parquet")
    np.testing.assert_allclose(stored.probs, labels(0.8).probs)
    # One experiment: the same seeds, splits and test items.
    tested = {tuple(run.predictions.items.to_pylist()) for run in both.runs if run.predictions is not None}
    assert len(tested) == 1
    with pytest.raises(BadSetting, match=r"labels\.equal was"):
        sf.train(INPUTS, {**sets, "equal": labels(0.5)}, **settings)


def test_partly_soft_and_weights_in_python(tmp_path: Path) -> None:
    sets = {"people": SOME, "original": sf.SoftLabels.one_hot(ITEMS, list(ORIGINAL.values()), CLASSES)}
    weights = {item: 1.0 + n % 2 for n, item in enumerate(ITEMS)}
    models = sf.train(
        INPUTS, sets, targets=["hard", "soft:rest=original"], model="linear", weights=weights, output=tmp_path
    )
    run = Run.read(tmp_path / "soft-rest-original.linear.seed-0.fold-0")
    assert (run.metadata["label_set"], run.settings["target"]["rest"]) == ("people", "original")
    assert len(models.runs) == 2
    plain = sf.train(INPUTS, sets, targets="hard", model="linear", rest="original")
    assert not np.allclose(plain.predictions("hard").probs, models.predictions("hard").probs)
    with pytest.raises(BadTable, match=r"no weight for item 'i1' \(23 such items"):
        sf.train(INPUTS, sets, targets="hard", model="linear", weights={"i0": 1.0}, rest="original")
    (tmp_path / "w.csv").write_text("item,weight\ni0,2\ni1,0.5\n")
    assert read_weights(tmp_path / "w.csv") == {"i0": 2.0, "i1": 0.5}
    (tmp_path / "w.csv").write_text("item,weight\ni0,2\ni0,0.5\n")
    with pytest.raises(BadTable, match="'i0' a second time"):
        read_weights(tmp_path / "w.csv")


def test_the_estimand_of_each_set_counts() -> None:
    truth = replace(EQUAL, estimand=Estimand.TRUTH)
    data = join_items(INPUTS, label_sets={"truth": truth, "equal": EQUAL})
    LabelSetTarget(SoftTarget(), "equal").labels(data, RNG)
    with pytest.raises(BadTable, match="true"):
        LabelSetTarget(SoftTarget(), "truth").labels(data, RNG)
