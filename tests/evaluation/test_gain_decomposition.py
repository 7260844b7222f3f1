"""Mode shift: the parts add up, are paired, and say what they are a share of."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import trained

from sfumato.evaluation import (
    RunMeasurements,
    RunPredictions,
    compare_runs,
    kinds_of_labels,
    measure_against,
    mode_shift,
)
from sfumato.evaluation.metrics import Brier, CrossEntropy
from sfumato.tables.errors import BadTable, UnknownName


def measured(runs: list[RunPredictions]) -> dict[str, RunMeasurements]:
    kinds = kinds_of_labels(trained.people(), trained.original())
    chosen = {name: kinds[name] for name in ("original", "people")}
    return measure_against(runs, chosen, metrics=[Brier(), CrossEntropy()])


def test_the_parts_add_up_and_pair() -> None:
    all_of_it = measured(trained.grid(("hard", "majority", "soft")))
    shift = mode_shift(all_of_it)
    assert len(shift) == 2 * 2 * 3
    for i in range(0, len(shift), 3):
        labels, doubt, both = shift.shifts[i : i + 3]
        assert (labels.part, doubt.part, both.part) == ("other classes", "doubt", "both")
        assert labels.difference + doubt.difference == pytest.approx(both.difference)
    labels, doubt, both = (each for each in shift.shifts if (each.metric, each.against) == ("brier", "people"))
    values = {t: all_of_it["people"].of(t, "ffn", "brier", "all").values for t in ("hard", "majority", "soft")}
    (expected,) = (
        each
        for each in compare_runs(all_of_it["people"], baseline="majority", correction="none").differences
        if (each.target, each.metric) == ("soft", "brier")
    )
    assert doubt.difference == pytest.approx((values["soft"] - values["majority"]).mean())
    assert (doubt.low, doubt.high, doubt.p) == pytest.approx((expected.low, expected.high, expected.p))
    assert both.share == 1
    assert labels.share + doubt.share == pytest.approx(1)
    assert labels.covers == "another training and other items: 95% t interval"


def test_scored_against_the_original_labels_too() -> None:
    all_of_it = measured(trained.grid(("hard", "majority", "soft"), [0, 1]))
    one_hot = np.eye(3)[np.arange(40) % 3]
    by_hand = ((trained.trained("soft", 1).predictions.probs - one_hot) ** 2).sum(1).mean()
    assert all_of_it["original"].of("soft", "ffn", "brier", "all").values[1] == pytest.approx(by_hand)


def test_no_share_of_what_is_not_clear() -> None:
    shift = mode_shift(measured(trained.grid(("hard", "majority", "soft"), [0])))
    for i in range(0, len(shift), 3):
        own = shift.shifts[i : i + 3]
        assert all(np.isnan(each.share) == (own[2].low <= 0 <= own[2].high) for each in own)
    assert 0 < shift.to_polars()["share"].null_count() < len(shift)


def test_seeds_that_all_three_have() -> None:
    runs = [*trained.grid(["hard", "soft"], [0, 1, 2]), *trained.grid(["majority"], [1, 2, 3])]
    assert {each.n_seeds for each in mode_shift(measured(runs)).shifts} == {2}
    apart = [*trained.grid(["hard", "soft"], [0]), *trained.grid(["majority"], [1])]
    with pytest.raises(BadTable, match="no seed with which hard, majority, soft were all trained"):
        mode_shift(measured(apart))


def test_targets_that_are_not_there() -> None:
    with pytest.raises(UnknownName, match="needs runs of hard, majority, soft"):
        mode_shift(measured(trained.grid(("hard", "soft"), [0, 1])))
    runs = [replace(run, target=f"{run.target}@equal") for run in trained.grid(("majority", "soft"), [0, 1])]
    with pytest.raises(UnknownName, match="named exactly so, without a label set"):
        mode_shift(measured([*trained.grid(("hard",), [0, 1]), *runs]))
