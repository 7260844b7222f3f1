"""Reliability tables: by hand, and what they add up to."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sfumato.evaluation import MatchedLabels
from sfumato.evaluation.calibration_curves import reliability
from sfumato.evaluation.metrics import ECE
from sfumato.tables.bootstrap import Bootstrap


def sure_by(confidence: np.ndarray, right: np.ndarray) -> MatchedLabels:
    names = pa.array([str(i) for i in range(len(confidence))])
    predicted = np.column_stack([confidence, 1 - confidence])
    return MatchedLabels(names, ("a", "b"), predicted, np.eye(2)[(1 - right).astype(int)])


def test_by_hand() -> None:
    table = reliability(sure_by(np.array([0.6, 0.7, 1.0]), np.array([1, 0, 1])), bins=2)
    assert (table.start.tolist(), table.end.tolist()) == ([0.0, 0.5], [0.5, 1.0])
    assert table.n_items.tolist() == [0, 3]
    assert table.confidence[1] == pytest.approx(2.3 / 3)
    assert table.accuracy[1] == pytest.approx(2 / 3)
    assert np.isnan(table.accuracy[0])
    # Wilson's interval for 2 of 3.
    assert table.low[1] == pytest.approx(0.2077, abs=1e-4)
    assert table.high[1] == pytest.approx(0.9385, abs=1e-4)
    assert table.to_arrow().column_names == ["from", "to", "n_items", "confidence", "accuracy", "low", "high"]


def test_its_gaps_add_up_to_ece() -> None:
    rng = np.random.default_rng(0)
    matched = sure_by(rng.uniform(0.5, 1, 500), rng.random(500) < 0.7)
    table = reliability(matched)
    gaps = np.nansum(table.n_items * np.abs(table.confidence - table.accuracy)) / 500
    bootstrap = Bootstrap.of(500, level=0.95, draws=100, rng=rng)
    assert ECE().estimate(matched, bootstrap).value == pytest.approx(gaps, abs=1e-12)
