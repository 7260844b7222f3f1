"""Scoring: one table of predictions beside people's, and what is said of bad ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sfumato
from sfumato import SoftLabels
from sfumato.evaluation import (
    Better,
    Estimate,
    MatchedLabels,
    Metric,
    RunPredictions,
    Stratum,
    mean_over_items,
    measure_runs,
    metric_from_name,
    score,
    stratification_from_name,
)
from sfumato.evaluation.metrics import Brier, CrossEntropy
from sfumato.tables.bootstrap import Bootstrap
from sfumato.tables.errors import BadProbabilities, BadSetting, BadTable, SfumatoWarning, UnknownName
from sfumato.tables.scores import Scores

CLASSES = ["cat", "dog"]
ITEMS = [f"i{i}" for i in range(40)]
PEOPLE = SoftLabels.from_numpy(ITEMS, np.stack([np.linspace(0, 1, 40), np.linspace(1, 0, 40)], 1), CLASSES)
PREDICTED = SoftLabels.from_numpy(ITEMS, np.full((40, 2), 0.5), CLASSES, 0)


def test_values_by_hand() -> None:
    scores = score(predicted=PREDICTED, people=PEOPLE, metrics=[Brier(), CrossEntropy()])
    assert scores.value_of("brier") == pytest.approx(2 * np.mean((np.linspace(0, 1, 40) - 0.5) ** 2))
    assert scores.value_of("cross_entropy") == pytest.approx(np.log(2))
    row = scores.rows()[0]
    assert row.low < row.value < row.high
    assert row.covers == "95% bootstrap of t over items, 1,000 resamples"
    # Whatever people say, an even guess costs ln 2: there is nothing to resample.
    assert scores.rows()[1].covers == "none: every resample gives the same"


def test_strata_are_listed_with_all_items() -> None:
    with pytest.warns(SfumatoWarning, match="people agree: found 2 items"):
        scores = score(
            predicted=PREDICTED, people=PEOPLE, metrics=[Brier()], strata=[stratification_from_name("agree")]
        )  # fmt: skip
    assert scores.condition == ("all", "people agree", "people disagree")
    assert scores.n_items.tolist() == [40, 2, 38]
    assert scores.value[1] == pytest.approx(0.5)
    assert scores.value[0] * 40 == pytest.approx(scores.value[1] * 2 + scores.value[2] * 38)


def test_an_empty_stratum_is_named_once() -> None:
    nobody = Stratum("nobody", np.array([], np.int64))
    with pytest.warns(SfumatoWarning) as said:
        scores = score(predicted=PREDICTED, people=PEOPLE, metrics=[Brier(), CrossEntropy()], strata=[nobody])
    assert [str(each.message) for each in said] == ["found no items in nobody: there is nothing to score"]
    assert np.isnan(scores.value[2:]).all()
    assert scores.n_items[2:].tolist() == [0, 0]
    assert scores.covers[2] == "none: no items"


def test_one_item() -> None:
    one = SoftLabels.from_numpy(["i3"], [[0.5, 0.5]], CLASSES)
    with pytest.warns(SfumatoWarning, match="found 1 items"):
        scores = score(predicted=one, people=PEOPLE, metrics=[Brier()])
    assert scores.n_items.tolist() == [1]
    assert scores.covers[0] == "none: only one item"


def test_an_infinite_score_survives_a_file(tmp_path: Path) -> None:
    sure = SoftLabels.from_numpy(ITEMS, np.tile([1.0, 0.0], (40, 1)), CLASSES, 0)
    scores = score(predicted=sure, people=PEOPLE, metrics=[CrossEntropy(), Brier()])
    for name in ("s.csv", "s.parquet"):
        scores.write(tmp_path / name)
        again = Scores.read(tmp_path / name)
        assert again.rows()[0].value == np.inf
        assert np.array_equal(again.value, scores.value)
        assert np.array_equal(again.low, scores.low, equal_nan=True)
        assert again.covers == scores.covers
    (tmp_path / "s.csv").write_text("metric,condition,value,low,high,n_items\nbrier,all,lots,,,3\n")
    with pytest.raises(BadTable, match="'lots'"):
        Scores.read(tmp_path / "s.csv")


@pytest.mark.parametrize("probs", [[[0.5, 0.6]], [[np.nan, 1]], [[-0.5, 1.5]]])
def test_rows_that_are_no_distribution(probs: list[list[float]]) -> None:
    with pytest.raises(BadProbabilities):
        SoftLabels.from_numpy(["i0"], probs, CLASSES)


def test_other_items_and_classes() -> None:
    with pytest.raises(BadTable, match="people judged none"):
        score(predicted=SoftLabels.from_numpy(["x"], [[1, 0]], CLASSES), people=PEOPLE)
    with pytest.raises(BadTable, match="found the classes cat, emu"):
        score(predicted=SoftLabels.from_numpy(["i0"], [[1, 0]], ["cat", "emu"]), people=PEOPLE)
    some = SoftLabels.from_numpy([*ITEMS, "x"], np.full((41, 2), 0.5), CLASSES)
    with pytest.raises(BadTable, match="1 of 41 items that nobody judged"):
        score(predicted=some, people=PEOPLE)
    assert score(predicted=some, people=PEOPLE, common=True, metrics=[Brier()]).n_items.tolist() == [40]


def test_names_and_settings() -> None:
    with pytest.raises(UnknownName, match="did you mean 'brier'"):
        metric_from_name("brior")
    with pytest.raises(BadSetting, match="found brier twice"):
        score(predicted=PREDICTED, people=PEOPLE, metrics=[Brier(), Brier()])
    with pytest.raises(BadSetting, match="level"):
        score(predicted=PREDICTED, people=PEOPLE, level=1.0)
    with pytest.raises(BadSetting, match="at least 100"):
        score(predicted=PREDICTED, people=PEOPLE, resamples=10)


class SumOfCats:
    """A metric of one's own: no dataclass, not listed anywhere."""

    name = "cats"
    better = Better.NEITHER
    bounds = (0.0, 1.0)

    def estimate(self, matched: MatchedLabels, bootstrap: Bootstrap) -> Estimate:
        return mean_over_items(matched.predicted[:, matched.classes.index("cat")], bootstrap)


def test_a_metric_of_ones_own_needs_no_listing() -> None:
    mine = SumOfCats()
    assert isinstance(mine, Metric)
    predicted = SoftLabels.from_numpy(ITEMS, PEOPLE.probs**2 / (PEOPLE.probs**2).sum(1, keepdims=True), CLASSES, 0)
    scores = score(predicted=predicted, people=PEOPLE, metrics=[mine, Brier()])
    assert scores.value_of("cats") == pytest.approx(predicted.probs[:, 0].mean())
    measured = measure_runs([RunPredictions("soft", "", 0, predicted)], people=PEOPLE, metrics=[mine])
    # The values of items are handed on, so that runs can be compared item by item.
    expected = predicted.probs[:, 0] - predicted.probs[:, 0].mean()
    np.testing.assert_allclose(measured.figures[0].contributions.items[0], expected, atol=1e-12)


def test_scores_are_a_public_name() -> None:
    assert sfumato.Scores is Scores
    assert {"evaluate", "Scores"} <= set(dir(sfumato))


def test_an_interval_ends_where_the_metric_does() -> None:
    """Of 40 items one is wrong: the bootstrap of t by itself would go past 1."""
    right = np.tile([0.9, 0.1], (40, 1))
    people = right.copy()
    people[0] = [0.0, 1.0]
    tables = [SoftLabels.from_numpy([str(i) for i in range(40)], each, ["a", "b"]) for each in (right, people)]
    found = score(predicted=tables[0], people=tables[1], metrics=[metric_from_name("accuracy")]).rows()[0]
    assert found.value == pytest.approx(39 / 40)
    assert 0 < found.low < found.value < found.high <= 1
