"""What makes labels good for a goal: losses by hand, rank correlations against scipy and against drawn items."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import spearmanr

from sfumato.planning.label_quality import (
    ClassQuality,
    DistributionQuality,
    GeometryQuality,
    QualitySplit,
    Similarities,
)
from sfumato.tables.errors import SfumatoError

ONES = np.ones((1, 2))
ITEMS = pa.array(["x", "y"])
# Two items, 0 and 1 answers: x got a vote for the first class, y for the second.
SUMS = np.array([[[0.0, 0.0], [1.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]]])
REFERENCE = np.array([[0.75, 0.25], [0.5, 0.5]])


def test_total_variation_by_hand() -> None:
    value = DistributionQuality().curve([QualitySplit(SUMS, REFERENCE)], ITEMS).values(ONES)[0]
    # Without answers (.5, .5) is off by .25 and 0; with one and a constant of 1, (2/3, 1/3) by 1/12 and 1/6.
    assert np.isclose(value[0], -0.125)
    assert np.isclose(value[1], -(1 / 12 + 1 / 6) / 2)


def test_squared_distance_and_log_loss_by_hand() -> None:
    label = np.array([[2 / 3, 1 / 3], [1 / 3, 2 / 3]])  # the largest constant is the best here
    squared = DistributionQuality("squared").curve([QualitySplit(SUMS, REFERENCE)], ITEMS).values(ONES)[0, 1]
    assert np.isclose(squared, -((label - REFERENCE) ** 2).sum(axis=1).mean())
    log_loss = DistributionQuality("log-loss").curve([QualitySplit(SUMS, REFERENCE)], ITEMS).values(ONES)[0, 1]
    assert np.isclose(log_loss, (REFERENCE * np.log(label)).sum(axis=1).mean())


def test_smoothing_is_chosen_for_every_weighing() -> None:
    sure = np.array([[1.0, 0.0], [0.5, 0.5]])
    judged = DistributionQuality().curve([QualitySplit(SUMS, sure)], ITEMS)
    alone = judged.values(np.array([[2.0, 0.0], [0.0, 2.0], [1.0, 1.0]]))[:, 1]
    assert np.allclose(alone[:2], [0, -1 / 6], atol=1e-5)
    assert alone[2] < alone[:2].mean() + 1e-9


def test_accuracy_shares_ties() -> None:
    sums = np.array([[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]])
    value = (
        ClassQuality()
        .curve([QualitySplit(sums, np.array([[0.5, 0.25, 0.25]]))], pa.array(["x"]))
        .values(np.ones((1, 1)))
    )
    assert np.allclose(value[0] + 1, [1 / 3, 1, 1 / 2])
    truth = np.array([[0.0, 0.0, 1.0]])
    value = ClassQuality(truth).curve([QualitySplit(sums, np.eye(3)[:1])], pa.array(["x"])).values(np.ones((1, 1)))
    assert np.allclose(value[0] + 1, [1 / 3, 0, 0])


def geometry(n: int = 40) -> tuple[np.ndarray, np.ndarray, pa.StringArray]:
    rng = np.random.default_rng(0)
    reference = rng.dirichlet(np.ones(4), n)
    label = np.array([rng.multinomial(5, p) for p in reference]) / 5
    return label, reference, pa.array([f"i{i}" for i in range(n)])


def test_rank_correlation_is_scipys() -> None:
    label, reference, items = geometry()
    value = GeometryQuality().curve([QualitySplit(label[:, None], reference)], items).values(np.ones((1, 40)))
    above = np.triu_indices(40, 1)
    true = spearmanr(np.round((label @ label.T)[above], 9), (reference @ reference.T)[above]).statistic
    assert np.isclose(value[0, 0], true)


def test_weights_are_items_drawn_several_times() -> None:
    """Pearson's correlation of the ranks over all pairs of different items among those drawn."""
    label, reference, items = geometry(20)
    times = np.random.default_rng(1).integers(0, 3, 20)
    judged = GeometryQuality().curve([QualitySplit(label[:, None], reference)], items)
    drawn = np.repeat(np.arange(20), times)
    pairs = [(a, b) for i, a in enumerate(drawn) for b in drawn[:i] if a != b]
    found, true = (np.array([ranks[a, b] for a, b in pairs]) for ranks in (judged.found[0][0], judged.true[0]))
    assert np.isclose(judged.values(times[None].astype(float))[0, 0], np.corrcoef(found, true)[0, 1])


def test_judgments_of_some_pairs_are_enough() -> None:
    label, reference, items = geometry()
    values = reference @ reference.T
    gaps = np.random.default_rng(2).random((40, 40)) < 0.3
    values[gaps | gaps.T | np.eye(40, dtype=bool)] = np.nan
    quality = GeometryQuality(Similarities(items, values))
    value = quality.curve([QualitySplit(label[:, None], reference[::-1])], items).values(np.ones((1, 40)))[0, 0]
    known = np.triu(~np.isnan(values), 1)
    true = spearmanr(np.round((label @ label.T)[known], 9), values[known]).statistic
    assert np.isclose(value, true)
    assert quality.measure == "rank correlation with similarity judgments"


def test_a_loss_that_is_not_known() -> None:
    with pytest.raises(SfumatoError, match="one of tv, squared, log-loss"):
        DistributionQuality("brier")
