"""The risk-coverage curve by hand."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sfumato.evaluation import MatchedLabels
from sfumato.evaluation.calibration_curves import risk_coverage


def test_by_hand_with_equals_kept_together() -> None:
    predicted = np.array([[0.8, 0.2], [0.9, 0.1], [0.8, 0.2], [0.6, 0.4]])
    people = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    table = risk_coverage(MatchedLabels(pa.array(list("wxyz")), ("a", "b"), predicted, people))
    assert table.confidence.tolist() == [0.9, 0.8, 0.6]
    assert table.coverage.tolist() == [0.25, 0.75, 1.0]
    assert table.risk.tolist() == pytest.approx([0, 1 / 3, 2 / 4])
    assert table.n_items.tolist() == [1, 3, 4]
    assert table.to_arrow().column_names == ["confidence", "coverage", "risk", "n_items"]


def test_a_long_curve_is_thinned_and_keeps_its_end() -> None:
    rng = np.random.default_rng(0)
    c = rng.uniform(0.5, 1, 5000)
    predicted = np.column_stack([c, 1 - c])
    matched = MatchedLabels(
        pa.array([str(i) for i in range(5000)]), ("a", "b"), predicted, np.eye(2)[(c < 0.7).astype(int)]
    )
    table = risk_coverage(matched, points=50)
    assert len(table) == 50
    assert table.coverage[-1] == 1
    assert table.risk[-1] == pytest.approx((c < 0.7).mean())
