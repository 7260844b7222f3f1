"""H-Mix (Collins et al. 2023): the curve from what went into a mixed image to what people see, and labels from it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import curve_fit

from sfumato import Annotations, Beliefs
from sfumato.importers import HMixImporter
from sfumato.labeling import MixtureLabeler
from sfumato.training.mixing import CurveFit, HumanMixtures, Judgments, MixtureSmoothing, blends_of


@pytest.fixture(scope="module")
def annotations(published: Path) -> Annotations:
    table = HMixImporter().read(published / "hmix").table
    assert isinstance(table, Annotations)
    return table


@pytest.fixture(scope="module")
def judgments(annotations: Annotations) -> Judgments:
    return Judgments.of(annotations, blends_of(annotations.item.names.to_pylist(), ()))


@pytest.fixture(scope="module")
def mixtures(published: Path, annotations: Annotations) -> HumanMixtures:
    with np.load(published / "cifar10-test" / "images.npz") as arrays:
        return HumanMixtures.of(annotations, arrays["images"])


def logistic(x: np.ndarray, k: float, x0: float) -> np.ndarray:
    return np.asarray(1 / (1 + np.exp(-k * (x - x0))))


def test_the_pooled_curve_is_the_published_one(judgments: Judgments) -> None:
    pooled = CurveFit().fit(judgments).pooled
    assert (round(pooled.k, 2), round(pooled.x0, 3)) == (4.59, 0.522)
    ends = pooled.at(np.array([0.0, 1.0]))
    assert (round(float(ends[0]), 2), round(float(ends[1]), 2)) == (0.08, 0.90)


def test_the_curve_of_every_pair_is_that_of_plain_least_squares(judgments: Judgments) -> None:
    curves = CurveFit(prior=0.0).fit(judgments)
    assert len(curves.pairs) == 45
    assert sum(curves.n_judgments) == 4_950
    item = judgments.item_of_rows()
    # The published pairs are in canonical order already.
    assert (judgments.first < judgments.second).all()
    for pair in curves.pairs:
        rows = (judgments.first[item] == pair.first) & (judgments.second[item] == pair.second)
        (k, x0), _ = curve_fit(logistic, judgments.generating[item][rows], judgments.share[rows], p0=(5, 0.5))
        assert (pair.curve.k, pair.curve.x0) == (pytest.approx(k, abs=2e-3), pytest.approx(x0, abs=2e-4))


def test_shrinkage_brings_pairs_together(judgments: Judgments) -> None:
    own, shrunk = CurveFit(prior=0.0).fit(judgments), CurveFit(prior=100.0).fit(judgments)
    spread = [np.std([pair.curve.x0 for pair in curves.pairs]) for curves in (own, shrunk)]
    assert 0.3 * spread[0] < spread[1] < 0.8 * spread[0]
    assert own.pooled == shrunk.pooled


def test_mixtures_are_what_people_were_shown(published: Path, mixtures: HumanMixtures) -> None:
    with np.load(published / "cifar10-test" / "images.npz") as arrays:
        images, original = arrays["images"], arrays["labels"]
    assert mixtures.images.shape == (2_070, 32, 32, 3)
    row = mixtures.items.index("mixed_0.5_Dog_2205_Frog_6908.png")
    exact = 0.5 * images[2205].astype(float) + 0.5 * images[6908].astype(float)
    assert np.abs(mixtures.images[row] - exact).max() <= 0.5
    row = mixtures.items.index("mixed_0.1_Airplane_4126_Frog_5936.png")
    exact = 0.1 * images[4126].astype(float) + 0.9 * images[5936].astype(float)
    assert np.abs(mixtures.images[row] - exact).max() <= 0.501
    blends = blends_of(mixtures.items, ())
    assert np.array_equal(mixtures.judgments.first, original[[int(blends[item].first) for item in mixtures.items]])
    assert np.array_equal(mixtures.judgments.second, original[[int(blends[item].second) for item in mixtures.items]])


def test_averaged_labels_are_the_authors_means(published: Path, mixtures: HumanMixtures) -> None:
    with gzip.open(published / "hmix" / "processed_hmix_inferences.json.gz", "rt", encoding="utf-8") as file:
        theirs = json.load(file)
    rows = np.arange(len(mixtures.items))
    shares = mixtures.averaged().mean()[rows, mixtures.judgments.first]
    expected = [np.mean(theirs[item]["Predicted Mixing Factor"]) for item in mixtures.items]
    np.testing.assert_allclose(shares, expected, rtol=0, atol=1e-6)
    np.testing.assert_allclose(
        mixtures.generating().mean()[rows, mixtures.judgments.first],
        [float(item.split("_")[1]) for item in mixtures.items],
        rtol=0,
        atol=1e-7,
    )
    confidence = np.array([np.mean(theirs[item]["Predicted Confidence"]) for item in mixtures.items])
    smooth = mixtures.averaged(MixtureSmoothing()).mean()
    # Eight of the ten classes get nothing but their part of the smoothing.
    np.testing.assert_allclose(smooth.min(axis=1), 0.005**confidence / 10, rtol=0, atol=1e-6)


def test_labels_by_annotator_are_the_labelers(annotations: Annotations, mixtures: HumanMixtures) -> None:
    ours, theirs = mixtures.by_annotator(MixtureSmoothing()), mixtures.believed(MixtureLabeler().label(annotations))
    assert np.array_equal(ours.starts, theirs.starts)  # type: ignore[union-attr]
    np.testing.assert_allclose(ours.rows, theirs.rows, rtol=0, atol=1e-6)  # type: ignore[union-attr]
    assert len(ours.rows) == 4_950


def test_beliefs_about_a_hundred_of_the_mixtures(published: Path, mixtures: HumanMixtures) -> None:
    beliefs = HMixImporter(part="soft-labels").read(published / "hmix").table
    assert isinstance(beliefs, Beliefs)
    chosen = mixtures.take(beliefs.item.names.to_pylist())
    mean = chosen.believed(beliefs).mean()
    rows = np.arange(100)
    named = mean[rows, chosen.judgments.first] + mean[rows, chosen.judgments.second]
    # People put 38.3% of their mass on classes that were not mixed (thesis, section 5.1.2).
    assert round(1 - float(named.mean()), 3) == 0.383
