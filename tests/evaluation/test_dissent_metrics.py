"""Uncertainty of models against people's from few votes: no bias where the plug-in values have one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sfumato.evaluation import RunPredictions, compare_runs, measure_runs, scores_over_seeds
from sfumato.evaluation.matched_labels import MatchedLabels
from sfumato.evaluation.metric import Metric
from sfumato.evaluation.metrics import (
    Brier,
    DissentDifference,
    DissentPearson,
    EntropyDifference,
    EntropyPearson,
    KLDivergence,
    TotalVariation,
)
from sfumato.tables.bootstrap import Bootstrap
from sfumato.tables.estimand import Estimand
from sfumato.tables.soft_labels import SoftLabels

N = 1500


def world(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The probabilities of people's answers, and a model that knows them roughly."""
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.full(5, 0.25), N)
    model = (truth + 0.02) ** 1.5 * np.exp(rng.normal(0, 0.5, truth.shape))
    return truth, model / model.sum(axis=1, keepdims=True)


def matched(predicted: np.ndarray, truth: np.ndarray, m: int, seed: int = 0) -> MatchedLabels:
    votes = np.random.default_rng(seed).multinomial(m, truth)
    items, n = pa.array([str(i) for i in range(len(truth))]), np.full(len(truth), m)
    return MatchedLabels(items, tuple("abcde"), predicted, votes / m, n_annotators=n)


def value(metric: Metric, of: MatchedLabels, level: float = 0.95) -> tuple[float, float, float]:
    found = metric.estimate(of, Bootstrap.of(len(of), level=level, draws=100, rng=np.random.default_rng(0)))
    return found.value, found.interval.low, found.interval.high


def gini(probs: np.ndarray) -> np.ndarray:
    return np.asarray(1 - (probs**2).sum(axis=1))


def test_difference_from_two_votes() -> None:
    truth, model = world()
    known = gini(model).mean() - gini(truth).mean()
    found, low, high = value(DissentDifference(), matched(model, truth, 2))
    assert low < known < high
    assert found == pytest.approx(known, abs=0.03)


def test_correlation_from_four_votes() -> None:
    truth, model = world()
    known = np.corrcoef(gini(model), gini(truth))[0, 1]
    found, low, high = value(DissentPearson(), matched(model, truth, 4))
    assert found == pytest.approx(known, abs=0.08)
    assert low < known < high
    plug_in, _, below = value(EntropyPearson(), matched(model, truth, 4))
    assert plug_in < known - 0.1
    assert below < known, "the plug-in interval does not contain the truth"


def test_correlation_with_all_votes_is_the_plain_one() -> None:
    truth, model = world()
    found, _, _ = value(DissentPearson(), matched(model, truth, 20_000))
    assert found == pytest.approx(np.corrcoef(gini(model), gini(truth))[0, 1], abs=0.002)


def test_entropy_difference_is_corrected() -> None:
    truth, model = world()
    entropy = [-(p * np.log(np.maximum(p, 1e-300))).sum(axis=1).mean() for p in (model, truth)]
    of = matched(model, truth, 4)
    known, plug_in = entropy[0] - entropy[1], value(EntropyDifference(entropy="plug-in"), of)[0]
    assert plug_in > known + 0.1
    found, low, high = value(EntropyDifference(), of)
    assert found == pytest.approx(known, abs=0.05)
    # An interval over items alone would miss the error of the model.
    assert np.isnan([low, high]).all()


def test_entropy_difference_has_no_interval_but_compares_models() -> None:
    """People's entropy is the same for all models, so that a difference between them has an interval."""
    truth, model = world()
    of = matched(model, truth, 4)
    people = SoftLabels(of.items, of.classes, of.people, of.n_annotators, estimand=Estimand.JUDGMENT)
    sharp = model**2 / (model**2).sum(axis=1, keepdims=True)
    runs = [
        RunPredictions(name, "", seed, SoftLabels(of.items, of.classes, probs, None, estimand=Estimand.PREDICTION))
        for name, probs in (("plain", model), ("sharp", sharp))
        for seed in (0, 1)
    ]
    measured = measure_runs(runs, people=people, metrics=[EntropyDifference()])
    scores = scores_over_seeds(measured).scores
    assert all(np.isnan(each.low) and each.covers.startswith("none: people's entropy") for each in scores)
    (apart,) = compare_runs(measured, baseline="plain").differences
    entropies = [float(-(p * np.log(np.maximum(p, 1e-300))).sum(axis=1).mean()) for p in (model, sharp)]
    assert apart.difference == pytest.approx(entropies[1] - entropies[0], abs=1e-9)
    assert apart.low < apart.difference < apart.high
    assert apart.verdict == "differs"


def test_floors_are_the_scores_of_the_crowd_itself() -> None:
    truth, _ = world()
    of = matched(truth, truth, 4)
    for metric, within in ((KLDivergence(), 0.15), (Brier(), 0.04), (TotalVariation(), 0.05)):
        found = metric.estimate(of, Bootstrap.of(N, level=0.95, draws=100, rng=np.random.default_rng(0)))
        assert found.floor == pytest.approx(found.value, rel=within), metric.name


@pytest.mark.parametrize("metric", [DissentPearson(), DissentDifference(), EntropyDifference()])
def test_undefined_with_one_vote_and_where_votes_chose_the_items(metric: Metric) -> None:
    from dataclasses import replace

    truth, model = world()
    assert np.isnan(value(metric, matched(model, truth, 1))[0])
    assert np.isnan(value(metric, replace(matched(model, truth, 5), chosen_by_votes=True))[0])


def test_three_votes_do_not_identify_the_correlation() -> None:
    truth, model = world()
    assert np.isnan(value(DissentPearson(), matched(model, truth, 3))[0])
