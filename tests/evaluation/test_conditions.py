"""Conditions: in the order one reads them, scored apart, and compared within each."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import trained

from sfumato import SoftLabels
from sfumato.evaluation import (
    RunPredictions,
    compare_runs,
    measure_runs,
    read_runs,
    scores_over_seeds,
    stratification_from_name,
)
from sfumato.evaluation.metrics import Brier, CrossEntropy
from sfumato.evaluation.run_predictions import joined, order_of
from sfumato.tables.errors import BadFile, SfumatoWarning

WORSE = {"clean": 0.0, "jpeg/2": 0.3, "jpeg/10": 0.6}


def curve(targets: tuple[str, ...] = ("hard", "soft"), seeds: range = range(3)) -> list[RunPredictions]:
    return [
        trained.shifted(run, condition, worse)
        for condition, worse in WORSE.items()
        for run in trained.grid(targets, seeds)
    ]


def test_natural_order() -> None:
    names = ["pgd eps=4/255 targets=hard step 10", "jpeg/10", "drawn", "jpeg/2", "pgd eps=4/255 targets=hard step 09"]
    names += [
        "fgsm eps=0.5 targets=soft",
        "fgsm eps=0.25 targets=soft",
        "clean",
        "",
        "pgd eps=4/255 targets=hard step 2",
    ]
    assert sorted(names, key=order_of) == [
        "", "clean", "drawn", "fgsm eps=0.25 targets=soft", "fgsm eps=0.5 targets=soft", "jpeg/2", "jpeg/10",
        "pgd eps=4/255 targets=hard step 2", "pgd eps=4/255 targets=hard step 09",
        "pgd eps=4/255 targets=hard step 10",
    ]  # fmt: skip


def test_names_of_conditions_and_strata() -> None:
    assert joined("", "all") == "all"
    assert joined("", "people disagree") == "people disagree"
    assert joined("jpeg/2", "all") == "jpeg/2"
    assert joined("jpeg/2", "people disagree") == "jpeg/2: people disagree"


def test_runs_of_several_conditions_are_found(tmp_path: Path) -> None:
    for run in curve(seeds=range(2)):
        trained.write_run(tmp_path, run, fold=0, rows=slice(0, 15))
        trained.write_run(tmp_path, run, fold=1, rows=slice(15, None))
    found = read_runs(tmp_path)
    assert [run.name for run in found[:5]] == [
        "hard.ffn.seed-0 under clean", "hard.ffn.seed-1 under clean", "soft.ffn.seed-0 under clean",
        "soft.ffn.seed-1 under clean", "hard.ffn.seed-0 under jpeg/2",
    ]  # fmt: skip
    assert list(dict.fromkeys(run.condition for run in found)) == ["clean", "jpeg/2", "jpeg/10"]
    expected = next(run for run in curve() if run.name == "soft.ffn.seed-1 under jpeg/10").predictions
    assert np.array_equal(found[-1].predictions.probs, expected.probs)
    (tmp_path / "jpeg-2" / "soft.ffn.seed-1.fold-1" / "run.json").unlink()
    with pytest.warns(SfumatoWarning) as said:
        assert len(read_runs(tmp_path)) == 11
    assert "soft.ffn.seed-1 under jpeg/2 (1 of 2 folds missing)" in str(said[-1].message)
    path = tmp_path / "clean" / "soft.ffn.seed-1.fold-1" / "run.json"
    path.write_text(path.read_text().replace('"clean"', "3"))
    with pytest.raises(BadFile, match="found no condition"):
        read_runs(tmp_path)


def test_conditions_are_scored_apart() -> None:
    told: list[tuple[int, int]] = []
    measured = measure_runs(
        curve(), people=trained.people(), metrics=[Brier()], on_progress=lambda done, of: told.append((done, of))
    )
    assert measured.shifts == list(WORSE)
    assert (len(told), told[-1]) == (6, (18, 18))
    people = trained.people().probs
    for run in curve():
        values = measured.of(run.target, "ffn", "brier", run.condition).values
        assert values[run.seed] == pytest.approx(((run.predictions.probs - people) ** 2).sum(1).mean())
    apart = [run for run in curve() if run.condition == "jpeg/2"]
    alone = measure_runs(apart, people=trained.people(), metrics=[Brier()])
    one, other = (each.of("soft", "ffn", "brier", "jpeg/2") for each in (alone, measured))
    # A condition has the same contributions of items by itself and among others.
    assert np.array_equal(one.contributions.items, other.contributions.items)


def test_comparisons_pair_within_a_condition() -> None:
    measured = measure_runs(curve(), people=trained.people(), metrics=[Brier(), CrossEntropy()])
    found = compare_runs(measured, baseline="hard").differences
    assert [each.condition for each in found if each.metric == "brier"] == list(WORSE)
    for each in found:
        one, other = (measured.of(target, "ffn", each.metric, each.condition).values for target in ("soft", "hard"))
        assert each.difference == pytest.approx((one - other).mean())
        assert each.correction == "holm over 3"


@pytest.mark.filterwarnings("ignore:people agree")
def test_strata_stand_behind_the_condition() -> None:
    measured = measure_runs(
        curve(seeds=range(1)), people=trained.people(), metrics=[Brier()], strata=[stratification_from_name("agree")]
    )
    scores = [score for score in scores_over_seeds(measured).scores if score.target == "soft"]
    assert [score.condition for score in scores[:4]] == [
        "clean", "clean: people agree", "clean: people disagree", "jpeg/2"
    ]  # fmt: skip
    assert [score.n_items for score in scores] == [40, 10, 30] * 3


def test_another_set_has_items_of_its_own() -> None:
    run = trained.trained("soft", 0)
    items = [f"x{i}" for i in range(30)]
    drawn = SoftLabels.from_numpy(items, run.predictions.probs[:30], trained.CLASSES, 0)
    people = trained.people()
    both = SoftLabels.from_numpy(
        [*trained.ITEMS, *items], np.concatenate([people.probs, people.probs[:30]]), trained.CLASSES
    )
    measured = measure_runs([run, replace(run, predictions=drawn, condition="drawn")], people=both, metrics=[Brier()])
    assert [(each.condition, each.n_items) for each in measured.figures] == [("all", 40), ("drawn", 30)]


def test_a_baseline_that_a_condition_lacks() -> None:
    runs = [run for run in curve() if (run.target, run.condition) != ("hard", "jpeg/2")]
    measured = measure_runs(runs, people=trained.people(), metrics=[Brier(), CrossEntropy()])
    with pytest.warns(SfumatoWarning) as said:
        found = compare_runs(measured, baseline="hard").differences
    assert [str(each.message) for each in said] == ["ffn: soft has no hard to compare with under jpeg/2"]
    assert {each.condition for each in found} == {"clean", "jpeg/10"}
