"""What kinds of label recover: against published figures, more answers, missing labels, and the cache."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sfumato.planning.informativeness.kind_recovery import (
    AUTO,
    GNMDS,
    SPECTRAL,
    RecoveryGrid,
    SimulatedKind,
    WorldSize,
    cache_folder,
)
from sfumato.planning.informativeness.label_types import (
    HardLabels,
    SimilarityLabels,
    SoftLabelType,
    SparseLabels,
    TopClassLabels,
    TripletLabels,
    label_kinds_named,
)
from sfumato.planning.informativeness.latent_world import LatentWorld
from sfumato.tables.errors import SfumatoError


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def grid(*kinds: SimulatedKind, n: int = 80, k: int = 20, d: int = 5, **settings: object) -> RecoveryGrid:
    return RecoveryGrid((WorldSize(n, k, (d,)),), kinds, **{"n_worlds": 4, **settings})  # type: ignore[arg-type]


def rho(asked: RecoveryGrid) -> np.ndarray:
    return asked.run(workers=1, cache=False)[0].rho(items_only=False).mean(axis=0)


def test_sparse_labels_are_not_undervalued() -> None:
    """Of 80 items of 20 classes in 5 dimensions: 0.54 by GNMDS and 0.22 by spectral unfolding for two classes, 0.81 and
    0.65 for five."""
    kinds = [SimulatedKind(SparseLabels(2)), SimulatedKind(SparseLabels(5))]
    assert rho(grid(*kinds, embedder=GNMDS)) == pytest.approx([0.54, 0.81], abs=0.03)
    assert rho(grid(*kinds, embedder=SPECTRAL)) == pytest.approx([0.22, 0.65], abs=0.05)
    found = grid(*kinds, SimulatedKind(SoftLabelType())).run(workers=1, cache=False)[0]
    assert found.used(items_only=False)[:2] == (GNMDS, GNMDS)
    by_each = found.every[..., 0].mean(axis=0)
    assert np.array_equal(found.rho(items_only=False).mean(axis=0), by_each.max(axis=0))


def test_the_same_with_more_workers_and_from_the_cache(cache: Path) -> None:
    asked = grid(SimulatedKind(HardLabels()), SimulatedKind(SoftLabelType(), noise=0.5), n=12, k=4)
    first = asked.run(workers=1)[0]
    files = list(cache_folder().iterdir())
    assert len(files) == 1
    assert cache in files[0].parents
    done: list[tuple[int, int]] = []
    again = asked.run(workers=1, progress=lambda *each: done.append(each))[0]
    assert not done
    assert np.array_equal(first.every, again.every)
    files[0].write_bytes(b"damaged")
    assert np.array_equal(asked.run(workers=1)[0].every, first.every)
    replace(asked, seed=1).run(workers=1)
    assert len(list(cache_folder().iterdir())) == 2


def test_more_people_recover_more_if_there_is_noise() -> None:
    once, often = (
        rho(grid(*(SimulatedKind(kind, 1.0, times) for kind in (HardLabels(), SoftLabelType(), TopClassLabels(6)))))
        for times in (1.0, 10.0)
    )
    assert (often > once + 0.05).all()
    quiet = [rho(grid(SimulatedKind(HardLabels(), 0.0, times), n=20, k=4))[0] for times in (1.0, 5.0)]
    assert quiet[0] == quiet[1]


def test_labels_of_half_of_the_items_recover_less() -> None:
    kinds = (SoftLabelType(), SimilarityLabels(), TripletLabels(400))
    whole, half = (rho(grid(*(SimulatedKind(kind, 0.0, t) for kind in kinds), n=30, k=8)) for t in (1.0, 0.5))
    assert (half < whole).all()
    world = LatentWorld.sample(30, 8, 3, rng=np.random.default_rng(0))
    labels = SoftLabelType().mean_labels(world, times=0.5, rng=np.random.default_rng(1))
    assert np.isnan(labels).all(axis=1).sum() == 15


def test_mean_labels_are_means() -> None:
    """Three votes about each item are thirds, and the mean of many is the share of people who would choose a class."""
    world = LatentWorld.sample(40, 5, 3, rng=np.random.default_rng(0))
    three = HardLabels().mean_labels(world, noise=1.0, times=3, rng=np.random.default_rng(1))
    assert np.allclose(three * 3, np.round(three * 3))
    assert np.allclose(three.sum(axis=1), 1)
    top = TopClassLabels(2).mean_labels(world, noise=1.0, times=3, rng=np.random.default_rng(1))
    assert (~np.isnan(top)).all(axis=0).sum() == 2
    assert np.isnan(top).all(axis=0).sum() == 3


@pytest.mark.parametrize(
    ("typed", "titles"),
    [
        (["hard", "soft"], ["hard", "soft"]),
        (["sparse:2..4", "top:3"], ["sparse:2", "sparse:3", "sparse:4", "top:3"]),
        (["triplet", "triplet:7"], ["triplet:50", "triplet:7"]),
        (["hard", "hard"], ["hard"]),
    ],
)
def test_kinds_as_typed(typed: list[str], titles: list[str]) -> None:
    assert [kind.title for kind in label_kinds_named(typed, 10, 5)] == titles


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("dense", "hard, soft, similarity"),
        ("soft:3", "soft without a number"),
        ("sparse", "sparse and a number"),
        ("sparse:0", "1 or more"),
        ("sparse:6", "at most 5, the number of classes"),
        ("top:2..9", "write top:2..5"),
        ("sparse:4..2", "sparse:2..4"),
        ("triplet:2..4", "triplet and a number"),
    ],
)
def test_kinds_that_cannot_be(typed: str, message: str) -> None:
    with pytest.raises(SfumatoError, match=message):
        label_kinds_named([typed], 10, 5)


def test_what_cannot_be_simulated() -> None:
    kind = SimulatedKind(HardLabels())
    with pytest.raises(SfumatoError, match="auto, gnmds"):
        grid(kind, embedder="mds")
    with pytest.raises(SfumatoError, match="three items or more"):
        WorldSize(2, 3, (5,))
    with pytest.raises(SfumatoError, match="noise"):
        SimulatedKind(HardLabels(), noise=-1)
    assert grid(kind).embedder == AUTO
