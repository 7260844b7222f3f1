"""Noise and dimensions are found again in simulated pilots; and what a pilot's tables say."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sfumato import Annotations, Counts
from sfumato.planning.informativeness.answered_triplets import RankedLists, flip_rate
from sfumato.planning.informativeness.label_types import HardLabels, LabelSet, SoftLabelType, SparseLabels
from sfumato.planning.informativeness.latent_world import LatentWorld
from sfumato.planning.pilot_geometry import (
    KindAnswers,
    dimensions_from_features,
    dimensions_from_pilot,
    disagreement,
    noise_from_error,
    noise_from_pilot,
)
from sfumato.planning.pilot_kinds import read_pilot
from sfumato.tables.errors import SfumatoError


def simulated(kind: LabelSet, *, noise: float, d: int, k: int = 20, n_people: int = 3, seed: int = 0) -> KindAnswers:
    rng = np.random.default_rng(seed)
    world = LatentWorld.sample(60, k, d, rng=rng)
    labels = [kind.labels(world.soft_labels(noise=noise, rng=rng)) for _ in range(n_people)]
    return KindAnswers(
        kind, np.concatenate(labels), np.tile(np.arange(60), n_people), np.repeat(np.arange(n_people), 60)
    )


def test_disagreement_is_the_flip_rate() -> None:
    rng = np.random.default_rng(0)
    world = LatentWorld.sample(20, 6, 4, rng=rng)
    mine = SparseLabels(2).labels(world.soft_labels(noise=0.5, rng=rng))
    other = world.soft_labels(noise=0.5, rng=rng)
    listed = flip_rate(judged=RankedLists.of_labels(mine), true=RankedLists.of_labels(other))
    assert disagreement(mine, other) == pytest.approx(listed)


@pytest.mark.parametrize(("kind", "noise"), [(SoftLabelType(), 0.5), (SoftLabelType(), 1.5), (SparseLabels(2), 1.0)])
def test_the_noise_of_a_simulated_pilot_is_found(kind: LabelSet, noise: float) -> None:
    found = noise_from_pilot(simulated(kind, noise=noise, d=5), 60, 20, (5,), np.random.default_rng(1))
    assert found.value == pytest.approx(noise, rel=0.3)
    assert found.low < found.value < found.high


def test_the_dimensions_of_a_simulated_pilot_are_found() -> None:
    few, many = (
        dimensions_from_pilot(simulated(SoftLabelType(), noise=0.5, d=d, k=30), 30, np.random.default_rng(1))
        for d in (3, 35)
    )
    assert few.low <= 3 <= few.high < 12 < many.low <= 35 <= many.high
    assert 2 <= few.best <= 5


def test_the_dimensions_of_features_are_found() -> None:
    rng = np.random.default_rng(0)
    for d in (3, 40):
        features = rng.standard_normal((200, d)) @ np.linalg.qr(rng.standard_normal((60, 60)))[0][:d]
        assert dimensions_from_features(features, rng).best == pytest.approx(d, rel=0.05)
    assert dimensions_from_features(np.ones((20, 4)), rng).best == 1
    with pytest.raises(SfumatoError, match="ten items"):
        dimensions_from_features(np.ones((4, 4)), rng)


def test_error_rates_become_noise() -> None:
    low, high = (
        noise_from_error(SoftLabelType(), error, 40, 10, (5,), np.random.default_rng(0)).value for error in (0.25, 0.4)
    )
    assert 0 < low < high
    none = noise_from_error(SoftLabelType(), 0.01, 40, 10, (5,), np.random.default_rng(0))
    assert none.value == 0
    assert "even without noise" in none.source


def test_too_few_second_answers() -> None:
    answers = KindAnswers(HardLabels(), np.eye(3), np.arange(3), np.arange(3))
    with pytest.raises(SfumatoError, match="0 items with two answers"):
        noise_from_pilot(answers, 3, 3, (5,), np.random.default_rng(0))


def test_a_pilot_of_counts_and_of_answers_with_times() -> None:
    rng = np.random.default_rng(0)
    world = LatentWorld.sample(50, 4, 3, rng=rng)
    votes = sum(HardLabels().labels(world.soft_labels(noise=0.8, rng=rng)) for _ in range(5))
    items = [f"i{i}" for i in range(50)]
    counted = read_pilot([Counts.from_numpy(items, votes.astype(int), list("abcd"))], rng=np.random.default_rng(1))
    assert (counted.n_items, counted.n_classes) == (50, 4)
    assert set(counted.geometry.noise) == {"hard"}
    assert counted.geometry.noise["hard"].low < 0.8 < counted.geometry.noise["hard"].high
    assert counted.geometry.dimensions is not None

    def answers(kind: str, payload: str, seconds: float) -> Annotations:
        rows = [(item, person) for item in items for person in ("x", "y")]
        return Annotations.from_arrow(
            pa.table({
                "item": [item for item, _ in rows], "annotator": [person for _, person in rows],
                "kind": [f"{kind}/1"] * 100, "payload": [payload] * 100, "seconds": [seconds] * 100,
            }),
            list("abcd"),
        )  # fmt: skip

    both = [answers("choice", '{"class": "a"}', 2.0), answers("sliders", '{"a": 1, "b": 0.5, "c": 0.2, "d": 0}', 9.0)]
    timed = read_pilot(both, dimensions=(5,), rng=np.random.default_rng(1))
    assert timed.geometry.seconds == pytest.approx({"hard": 2.0, "soft": 9.0})
    assert set(timed.geometry.noise) == {"hard", "soft"}
    assert timed.geometry.noise_of("sparse:2").source == "as measured for hard and soft, not for sparse:2"  # type: ignore[union-attr]
