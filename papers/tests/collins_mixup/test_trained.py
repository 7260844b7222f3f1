"""The protocol as published, and trainings end to end on a cut of the data."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from sfumato.tables.doubt import entropy
from sfumato.training.mixing import EntropyWeighted, MixMaxEnt, Mixup, Plain
from sfumato.training.networks import PreactResNet
from sfumato.training.optimizers import StepSchedule
from sfumato_papers.collins_mixup import run_scores, training
from sfumato_papers.collins_mixup.run_scores import CALIBRATION, CE, CORRUPTION, FGSM, values_of
from sfumato_papers.collins_mixup.training import (
    AUGMENTING,
    DEPTHS,
    ENT_WC,
    HARD,
    MIX_MAX_ENT,
    MIXUP,
    REGULAR,
    SOFT,
    TAU,
    TAU_ENT_WC,
    grid,
    mixings,
    scaled_down,
    soft_endpoints,
    split,
)
from sfumato_papers.paper import Rerun, Scale
from sfumato_papers.published_data import PublishedData


def test_the_published_protocol(published: Path, tmp_path: Path) -> None:
    full = Rerun(PublishedData(published), Scale.FULL, tmp_path)
    made = mixings(full)
    assert set(made) == {REGULAR, MIXUP, MIX_MAX_ENT, ENT_WC, TAU, TAU_ENT_WC}
    assert (made[REGULAR], made[MIXUP]) == (Plain(), Mixup(alpha=1.0))
    assert made[MIX_MAX_ENT] == MixMaxEnt(alpha=10.0, weight=1.0)
    assert made[ENT_WC] == EntropyWeighted(alpha=0.2, kappa=0.7)
    assert len(made[TAU].pairs) == 45
    data, fold = training._augmented_data(full)
    assert (len(fold.train), len(fold.test)) == (7810, 3000)
    targets = training.labelings(training._mixtures(full))
    asked = grid(full, targets, Plain(), DEPTHS[:1])
    assert asked.networks == {"preact-resnet-18": PreactResNet(18)}
    recipe = asked.recipe
    assert (recipe.epochs, recipe.schedule, recipe.optimiser.rate) == (200, StepSchedule((100, 150), 0.1), 0.1)
    assert (recipe.augmentation, len(asked.seeds)) == (None, 5)
    assert scaled_down(Scale.FULL, 18) == ""
    assert f"{training.EPOCHS[Scale.CPU]} epochs in one cycle for 200" in scaled_down(Scale.CPU, 34)
    # A mixed image is no test item, and what is learned of it is what people said.
    assert not any(data.items[i].startswith("mixed") for i in fold.test)
    labels = targets["averaged"].labels(data.take(fold.train), np.random.default_rng(0)).mean()
    assert np.isclose(labels.max(axis=1), 1).sum() >= 7000


def test_smaller_scales_use_some_of_the_same(published: Path, tmp_path: Path) -> None:
    small, full = (Rerun(PublishedData(published), scale, tmp_path) for scale in (Scale.SMALL, Scale.FULL))
    for some, everything in zip(split(small), split(full), strict=True):
        assert set(some.tolist()) < set(everything.tolist())
    assert not set(split(full)[0].tolist()) & set(split(full)[1].tolist())


def test_soft_endpoints_have_as_much_doubt_as_those_elicited(published: Path) -> None:
    data = PublishedData(published)
    labels = soft_endpoints(data)
    elicited = set(data.cifar_10s.item.names.to_pylist())
    doubt = entropy(data.cifar_10h.probs[data.cifar_10h.rows_of(labels.items)]) >= 0.25
    own = entropy(labels.probs)
    real = np.array([item in elicited for item in labels.items.to_pylist()])
    assert real.sum() == 1000
    # The mean of six simulated answers to a doubtful item is about as uncertain as the mean of six real ones.
    assert own[real & doubt].mean() == pytest.approx(own[~real & doubt].mean(), rel=0.25)
    assert own[~real & doubt].mean() > 1.5 * own[~real & ~doubt].mean()
    agree = labels.probs.argmax(axis=1) == data.cifar_10h.probs[data.cifar_10h.rows_of(labels.items)].argmax(axis=1)
    assert agree.mean() > 0.95


def test_from_pictures_to_figures(published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for table, value in (
        (training.SEEDS, 2), (training.EPOCHS, 1), (training.N_LEARNT, 100), (training.N_MIXTURES, 20),
        (training.N_TESTED, 210), (run_scores.N_CORRUPTIONS, 1),
    ):  # fmt: skip
        monkeypatch.setitem(table, Scale.SMALL, value)
    every = training.labelings
    kept = ("generating", "by-annotator-confidence")
    monkeypatch.setattr(training, "labelings", lambda given: {name: every(given)[name] for name in kept})
    rerun = Rerun(PublishedData(published), Scale.SMALL, tmp_path, processes=1)
    augmented, regular = values_of(rerun, AUGMENTING), values_of(rerun, REGULAR)
    assert set(augmented) == {(name, "small-8", column) for name in kept for column in (CE, CALIBRATION, FGSM)}
    columns = (CE, CALIBRATION, FGSM, CORRUPTION)
    assert set(regular) == {(name, "small-8", column) for name in (HARD, SOFT) for column in columns}
    for values in (*augmented.values(), *regular.values()):
        assert sorted(values) == [0, 1]
        assert all(math.isfinite(value) and value > 0 for value in values.values())
    assert len(list(training.mixed(rerun, TAU_ENT_WC).glob("hard.*/run.json"))) == 2
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("run.json")}
    again = Rerun(PublishedData(published), Scale.SMALL, tmp_path, processes=1)
    assert values_of(again, AUGMENTING) == augmented
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("run.json")} == before
