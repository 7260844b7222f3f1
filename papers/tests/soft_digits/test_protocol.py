"""The training protocol: as published at full scale, and all trained parts walked on a small soft-digits file."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.evaluation import RunPredictions, read_runs
from sfumato.evaluation.epoch_predictions import EpochPredictions
from sfumato_papers.paper import Scale
from sfumato_papers.soft_digits import training
from sfumato_papers.soft_digits.alignment import table_4
from sfumato_papers.soft_digits.corpus import SIZES, size_grid
from sfumato_papers.soft_digits.maps import appendix_f_3, figure_2, maps, watched
from sfumato_papers.soft_digits.paper import PAPER
from sfumato_papers.soft_digits.run_scores import ACCURACY, KLD, by_seed, differences, is_above, is_below, measured
from sfumato_papers.soft_digits.score_tables import table_2, table_3, table_9, table_10
from sfumato_papers.soft_digits.section_3_3 import section_3_3_mode_shift, shifts_of
from sfumato_papers.soft_digits.sets import HLV, NO_HLV, ON_PEOPLE, soft_digits
from sfumato_papers.soft_digits.training import NETWORKS, SEEDS, TARGETS, best_recipe, fixed_recipe, targets_of
from sfumato_papers.verdict import Verdict


def test_the_full_protocol_is_the_papers(columns, made, tmp_path):
    """60 epochs at most, 40 of a fixed length, batches of 64, Adam, six seeds, three networks (its Table 8)."""
    mnist, mukhoti = soft_digits(made(columns, tmp_path))
    best, fixed = best_recipe(Scale.FULL, mnist), fixed_recipe(Scale.FULL)
    assert (best.epochs, best.batch_size, best.optimiser.name, best.schedule.name) == (60, 64, "adam", "plateau")
    assert best.validation * len(mnist.learnt) == pytest.approx(mnist.n_validation)
    assert best.patience is not None
    assert (fixed.epochs, fixed.patience, fixed.predictions_each_epoch) == (40, None, True)
    assert (SEEDS[Scale.CPU], SEEDS[Scale.FULL]) == (6, 6)
    assert list(NETWORKS) == ["SimpleFFN", "DeeperFFN", "LeNet"]
    assert SIZES[Scale.FULL] == (50, 100, 150, 300, 500, 1000, 2000)
    assert (size_grid(3).recipe.epochs, size_grid(3).seeds) == (25, (3,))
    assert targets_of(mnist)["original"].name == "hard"
    assert targets_of(mukhoti)["original"].name == "distilled", "the synthetic labels are distributions"


def test_steps_have_names_of_their_own():
    names = [step.__name__ for step in PAPER.steps]
    assert len(set(names)) == len(names)
    assert set(TARGETS) == {"original", "majority", "equal", "weighted"}


def test_differences_are_paired_by_seed():
    one = {"a": {0: 1.0, 1: 2.0, 2: 3.0}, "b": {0: 1.0, 1: 1.0, 2: 1.5}}
    other = {"a": {0: 0.5, 1: 1.5, 2: 2.25}, "b": {0: 0.5, 1: 0.25, 2: 0.5}}
    found = differences(one, other)
    assert list(found) == ["together", "a", "b"]
    assert found["a"].value == pytest.approx((0.5 + 0.5 + 0.75) / 3)
    assert found["together"].value == pytest.approx(np.mean([0.5, 0.625, 0.875]))
    assert is_above(found)
    assert is_below(differences(other, one))
    assert not is_above(differences(one, one))


def test_shifts_between_epochs_by_hand():
    """From (1, 0) to (0, 1) is ln 2; to stay is 0."""
    probs = np.array([[[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.5, 0.5]]])
    assert EpochPredictions(("a", "b"), (1, 2), probs).shifts().tolist() == [
        [pytest.approx(np.log(2)), pytest.approx(0)]
    ]


def test_the_whole_protocol_on_a_small_file(columns, made, tmp_path, monkeypatch):
    """Every trained part comes out of the file itself: no cell needs data, and figures are those of the predictions."""
    monkeypatch.setitem(training.MOST_EPOCHS, Scale.SMALL, 2)
    monkeypatch.setitem(training.FIXED_EPOCHS, Scale.SMALL, 6)
    rerun = made(columns, tmp_path)
    parts = [step(rerun) for step in (table_2, table_3, table_9, table_10, section_3_3_mode_shift, figure_2, table_4)]
    parts.append(appendix_f_3(rerun))
    assert not any(part.tally()[Verdict.NEEDS_DATA] for part in parts)
    assert all("3 seeds for 6" in part.scaled_down for part in parts)
    mnist, mukhoti = soft_digits(rerun)
    runs = read_runs(tmp_path / "runs" / "small" / "mnist")
    _check_against_predictions(rerun, mnist, next(r for r in runs if (r.target, r.network) == ("weighted", "lenet")))
    found = shifts_of(rerun, mnist)
    for network in NETWORKS:
        parts_of = [found[network, KLD, part].difference for part in ("other classes", "doubt", "both")]
        assert parts_of[0] + parts_of[1] == pytest.approx(parts_of[2])
    _check_map(rerun, mukhoti)
    names = [chart.name for part in parts for chart in part.charts]
    assert len(set(names)) == len(names)
    assert "figure-2-mukhoti" in names


def _check_against_predictions(rerun, audited, run: RunPredictions) -> None:
    """Accuracy and KL divergence by plain NumPy."""
    predicted = run.predictions
    q = audited.weighted.probs[audited.weighted.rows_of(predicted.items)]
    p = predicted.probs[:, [predicted.classes.index(name) for name in audited.weighted.classes]]
    doubtful = q.max(axis=1) < 1
    scores = measured(rerun, audited)[ON_PEOPLE]
    for stratum, own in ((HLV, doubtful), (NO_HLV, ~doubtful)):
        with np.errstate(divide="ignore", invalid="ignore"):
            kld = np.where(q[own] > 0, q[own] * np.log(q[own] / p[own]), 0).sum(axis=1).mean()
        right = (q[own].argmax(axis=1) == p[own].argmax(axis=1)).mean()
        assert by_seed(scores, "weighted", "LeNet", KLD, stratum)[run.seed] == pytest.approx(kld)
        assert by_seed(scores, "weighted", "LeNet", ACCURACY, stratum)[run.seed] == pytest.approx(right)


def _check_map(rerun, audited) -> None:
    """Confidence over the last five epochs of all seeds, by plain NumPy; its gold class is the target's own first."""
    drawn = maps(rerun, audited)["LeNet", "original"]
    runs = watched(rerun, audited)["LeNet", "original"]
    item = drawn.items[3].as_py()
    gold = int(audited.synthetic.probs[audited.synthetic.rows_of([item])[0]].argmax())
    own = np.concatenate([run.probs[-5:, run.items.index(item), gold] for run in runs.values()])
    assert drawn.confidence[3] == pytest.approx(own.mean())
    assert drawn.variability[3] == pytest.approx(own.std())
