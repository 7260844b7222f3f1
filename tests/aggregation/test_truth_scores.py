"""Aggregated labels against the truth, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.aggregation.truth_scores import truth_scores
from sfumato.tables.errors import BadTable
from sfumato.tables.soft_labels import SoftLabels

CLASSES = ("cat", "dog", "owl")
LABELS = SoftLabels.from_numpy(
    ["a", "b", "c", "d"], [[0.5, 0.5, 0], [0.2, 0.8, 0], [0.1, 0.2, 0.7], [1, 0, 0]], CLASSES, estimand="judgment"
)


def test_by_hand():
    truth = SoftLabels.one_hot(["c", "b", "a", "x"], ["owl", "cat", "dog", "cat"], ("owl", "cat", "dog"))
    scores = truth_scores({"mean": LABELS}, truth)
    assert scores.n_items.tolist() == [3]
    assert scores.accuracy.tolist() == pytest.approx([(1 + 0 + 0.5) / 3])
    assert scores.log_loss.tolist() == pytest.approx([-np.log(0.7 * 0.2 * 0.5) / 3])
    assert scores.brier.tolist() == pytest.approx([(0.01 + 0.04 + 0.09 + 0.64 + 0.64 + 0.25 + 0.25) / 3])
    assert (scores.method, scores.estimand, scores.n_zero.tolist()) == (("mean",), ("judgment",), [0])


def test_a_true_class_at_0_is_counted():
    scores = truth_scores({"mean": LABELS}, SoftLabels.one_hot(["a", "d"], ["owl", "dog"], CLASSES))
    assert scores.log_loss.tolist() == [np.inf]
    assert scores.n_zero.tolist() == [2]
    assert scores.brier.tolist() == pytest.approx([(1.5 + 2) / 2])


def test_other_items_and_other_classes_are_refused():
    with pytest.raises(BadTable, match="no true class for any item"):
        truth_scores({"mean": LABELS}, SoftLabels.one_hot(["z"], ["cat"], CLASSES))
    with pytest.raises(BadTable, match="the true class fox"):
        truth_scores({"mean": LABELS}, SoftLabels.one_hot(["a"], ["fox"], ("fox", "cat")))
