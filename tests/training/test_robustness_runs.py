"""Shifting and attacking runs: what is written, what is not done twice, and what is refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import toy_data

from sfumato.evaluation.run_predictions import read_runs
from sfumato.tables.errors import NotNow, SfumatoError
from sfumato.tables.model_inputs import Inputs
from sfumato.tables.soft_labels import SoftLabels
from sfumato.training.attacks import Fgsm, Pgd
from sfumato.training.corruptions import CORRUPTIONS, Brightness, GaussianNoise, Saturate
from sfumato.training.experiment import Experiment
from sfumato.training.grid import Grid
from sfumato.training.networks import SimpleFfn
from sfumato.training.recipe import Recipe
from sfumato.training.robustness_runs import (
    AttackExperiment,
    Corrupted,
    ShiftExperiment,
    corruptions_for,
    in_gray_levels,
    run_missing,
)
from sfumato.training.run_folder import MODEL, RUN, Run
from sfumato.training.splits import KFold
from sfumato.training.targets import HardTarget, SoftTarget
from sfumato.training.trained_runs import TrainedRuns
from sfumato.training.worker_pool import run_experiment

SOFT = "soft.ffn.seed-0.fold-1"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two targets, two folds; every item is tested once."""
    folder = tmp_path_factory.mktemp("trained")
    grid = Grid(
        {"hard": HardTarget(), "soft": SoftTarget()}, {"ffn": SimpleFfn()}, (0,), Recipe(epochs=2, batch_size=16)
    )
    data = toy_data.data()
    run_experiment(Experiment(grid, data, tuple(KFold(k=2).folds(data)), folder), processes=1)
    return folder


@pytest.fixture
def copied(trained: Path, tmp_path: Path) -> Path:
    """The same, to be damaged."""
    return Path(shutil.copytree(trained, tmp_path / "runs"))


def shifting(runs: Path, output: Path, **more: Any) -> ShiftExperiment:
    inputs = more.pop("inputs", None) or toy_data.inputs()
    corrupted = more.pop("corrupted", None) or corruptions_for(inputs, [GaussianNoise(), Brightness()], [1, 5])
    return ShiftExperiment(TrainedRuns.in_folder(runs).runs, output, inputs, corrupted, **more)


def attacking(runs: Path, output: Path, **more: Any) -> AttackExperiment:
    given = {"attack": Fgsm(), "inputs": toy_data.inputs(), "people": toy_data.people()} | more
    return AttackExperiment(TrainedRuns.in_folder(runs).runs, output, **given)


def refused(make: Callable[[], object]) -> SfumatoError:
    with pytest.raises(SfumatoError) as caught:
        make()
    return caught.value


# --- shifts ---


def test_every_condition_is_a_folder_of_runs(trained: Path, tmp_path: Path) -> None:
    work = shifting(trained, tmp_path / "out", extra={"other set": Inputs(("x", "y"), toy_data.images(9, 2))})
    told: list[tuple[int, int]] = []
    assert run_missing(work, processes=1, on_progress=lambda *n: told.append(n)) == 6
    assert told == [(i, 6) for i in range(7)]
    names = ["brightness-1", "brightness-5", "clean", "gaussian-noise-1", "gaussian-noise-5", "other-set"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == names
    run = Run.read(tmp_path / "out" / "gaussian-noise-5" / SOFT)
    own = Run.read(trained / SOFT)
    assert run.metadata["condition"] == "gaussian-noise/5"
    assert run.metadata["under"] | {"inputs": ""} == {
        "inputs": "",
        "corruption": "gaussian-noise",
        "severity": 5,
        "seed": 0,
    }
    for key in ("target", "network", "seed", "fold", "settings", "classes", "ended", "data"):
        assert run.metadata[key] == own.metadata[key]
    assert run.predictions.items.to_pylist() == own.predictions.items.to_pylist()
    assert not np.allclose(run.predictions.probs, own.predictions.probs, atol=1e-3)
    clean = Run.read(tmp_path / "out" / "clean" / SOFT)
    np.testing.assert_allclose(clean.predictions.probs, own.predictions.probs, rtol=0, atol=1e-6)
    assert Run.read(tmp_path / "out" / "other-set" / SOFT).predictions.items.to_pylist() == ["x", "y"]
    # Each condition is what evaluation takes for a folder of runs: folds are brought together.
    scored = read_runs(tmp_path / "out" / "gaussian-noise-5")
    assert [(each.target, each.network, each.seed, len(each.predictions)) for each in scored] == [
        ("hard", "ffn", 0, 60),
        ("soft", "ffn", 0, 60),
    ]


def test_predictions_are_those_of_the_corrupted_pictures(trained: Path, tmp_path: Path) -> None:
    run_missing(shifting(trained, tmp_path), processes=1)
    images = Brightness().apply(toy_data.images(), 5, np.random.default_rng(0))
    run = Run.read(trained / SOFT)
    expected = run.predictor().predict(Inputs(toy_data.ITEMS, images))
    found = Run.read(tmp_path / "brightness-5" / SOFT).predictions
    np.testing.assert_allclose(found.probs, expected.probs[expected.rows_of(found.items)], rtol=0, atol=1e-6)


def test_what_is_written_is_not_done_again_and_comes_out_the_same(trained: Path, tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    run_missing(shifting(trained, one), processes=1)
    assert shifting(trained, one).missing() == []
    # Another command did some of it, and was killed: a folder without run.json is not whole.
    shutil.copytree(one, other)
    (other / "gaussian-noise-5" / SOFT / RUN).unlink()
    (other / "gaussian-noise-5" / SOFT / "predictions.parquet").write_bytes(b"half")
    shutil.rmtree(other / "brightness-1")
    kept = (other / "clean" / SOFT / RUN).stat().st_mtime_ns
    again = shifting(trained, other)
    assert [shift.name for shift in again.missing()] == ["gaussian-noise/5", "brightness/1"]
    assert run_missing(again, processes=1) == 2
    assert (other / "clean" / SOFT / RUN).stat().st_mtime_ns == kept
    for path in one.rglob("predictions.parquet"):
        assert path.read_bytes() == (other / path.relative_to(one)).read_bytes()
    # A corruption does not depend on which others are asked for, nor on which runs.
    alone = shifting(trained / SOFT, tmp_path / "alone", corrupted=(Corrupted(GaussianNoise(), 5),))
    run_missing(alone, processes=1)
    where = Path("gaussian-noise-5", SOFT, "predictions.parquet")
    assert (one / where).read_bytes() == (tmp_path / "alone" / where).read_bytes()


def test_other_settings_or_runs_are_an_error(trained: Path, copied: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_missing(shifting(copied, out), processes=1)
    assert "seed" in str(error := refused(shifting(copied, out, seed=1).missing))
    assert error.code == "drift"
    other = Inputs(toy_data.ITEMS, toy_data.images(5))
    assert "inputs" in refused(shifting(copied, out, inputs=other).missing).found
    said = json.loads((copied / SOFT / RUN).read_text())
    (copied / SOFT / RUN).write_text(json.dumps(said | {"data": {"images": "others"}}))
    assert "data" in refused(shifting(copied, out).missing).found


def test_two_processes_do_the_same(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # What torch would take in a new process, if the worker did not ask for one thread.
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    corrupted = (Corrupted(), Corrupted(GaussianNoise(), 5))
    for folder, processes in (("one", 1), ("two", 2)):
        run_missing(shifting(trained, tmp_path / folder, corrupted=corrupted), processes=processes)
    paths = sorted(path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("predictions.parquet"))
    assert len(paths) == 8
    for path in paths:
        assert (tmp_path / "one" / path).read_bytes() == (tmp_path / "two" / path).read_bytes()


def test_kinds_fit_the_pictures() -> None:
    grey = toy_data.inputs()
    colour = Inputs(("a",), np.zeros((1, 8, 8, 3), np.uint8))
    assert len(corruptions_for(grey)) == 1 + 5 * (len(CORRUPTIONS) - 1)
    assert len(corruptions_for(colour)) == 1 + 5 * len(CORRUPTIONS)
    assert refused(lambda: corruptions_for(grey, [Saturate()])).code == "no-colour"
    assert refused(lambda: corruptions_for(grey, [GaussianNoise()], [6])).code == "unknown-severity"


# --- what cannot be asked ---


def test_runs_that_cannot_be_asked(copied: Path, tmp_path: Path) -> None:
    said = json.loads((copied / SOFT / RUN).read_text())
    (copied / SOFT / RUN).write_text(json.dumps(said | {"ended": "diverged"}))
    assert "diverged" in refused(lambda: TrainedRuns.in_folder(copied / SOFT)).found
    ready = TrainedRuns.in_folder(copied)
    assert (len(ready.runs), ready.notes) == (3, (f"left out {SOFT}: a run that diverged",))
    for run in ready.runs:
        (run.folder / MODEL).unlink()
    assert refused(lambda: TrainedRuns.in_folder(copied)).code == "no-weights"
    assert "no model.safetensors" in refused(lambda: TrainedRuns.in_folder(ready.runs[0].folder)).found
    assert refused(lambda: TrainedRuns.in_folder(tmp_path / "nowhere")).code == "no-such-run"
    (tmp_path / "empty").mkdir()
    assert refused(lambda: TrainedRuns.in_folder(tmp_path / "empty")).code == "no-such-run"


def test_what_was_shifted_holds_no_networks(trained: Path, tmp_path: Path) -> None:
    run_missing(shifting(trained, tmp_path, corrupted=(Corrupted(),)), processes=1)
    assert "under a condition" in refused(lambda: TrainedRuns.in_folder(tmp_path / "clean")).found


@pytest.mark.parametrize("make", [shifting, attacking], ids=["shift", "attack"])
def test_inputs_that_do_not_fit(make: Callable[..., Any], trained: Path, tmp_path: Path) -> None:
    few = toy_data.inputs().take(np.arange(59))
    error = refused(lambda: make(trained, tmp_path, inputs=few))
    assert error.code == "missing-input"
    assert "'i59'" in error.found
    small = Inputs(toy_data.ITEMS, toy_data.images()[:, :20], labels=toy_data.inputs().labels)
    error = refused(lambda: make(trained, tmp_path, inputs=small))
    assert error.code == "wrong-shape"
    assert "20 x 28" in error.found
    assert "28 x 28" in error.expected
    texts = Inputs(toy_data.ITEMS, texts=("t",) * 60, labels=toy_data.inputs().labels)
    assert refused(lambda: make(trained, tmp_path, inputs=texts)).code == "no-images"
    assert not list(tmp_path.iterdir())


def test_damaged_weights_and_missing_predictions(copied: Path, tmp_path: Path) -> None:
    (copied / SOFT / "predictions.parquet").rename(tmp_path / "away")
    assert refused(lambda: shifting(copied, tmp_path / "out")).code == "no-predictions"
    (tmp_path / "away").rename(copied / SOFT / "predictions.parquet")
    model = copied / SOFT / MODEL
    whole = model.read_bytes()
    model.write_bytes(whole[:100])
    for work in (shifting(copied, tmp_path / "out"), attacking(copied, tmp_path / "out")):
        error = refused(lambda work=work: run_missing(work, processes=1))  # type: ignore[misc]
        assert (error.code, error.where.file) == ("damaged", str(model))
    from safetensors.torch import save_file

    save_file({"weight": torch.zeros(3)}, model)
    error = refused(lambda: run_missing(shifting(copied, tmp_path / "out"), processes=1))
    assert error.code == "damaged"
    assert "another network" in error.found


def test_a_network_of_ones_own_is_handed_in(copied: Path, tmp_path: Path) -> None:
    for path in copied.glob(f"*/{RUN}"):
        said = json.loads(path.read_text())
        path.write_text(json.dumps(said | {"settings": said["settings"] | {"network": "mine.Net"}}))
    one = (Corrupted(),)
    error = refused(lambda: run_missing(shifting(copied, tmp_path, corrupted=one), processes=1))
    assert error.code == "unknown-network"
    assert run_missing(shifting(copied, tmp_path, corrupted=one, networks={"ffn": SimpleFfn()}), processes=1) == 1


def test_conditions_whose_folders_would_be_one(trained: Path, tmp_path: Path) -> None:
    other = {"gaussian noise 5": toy_data.inputs()}
    assert refused(lambda: shifting(trained, tmp_path, extra=other)).code == "bad-setting"
    assert refused(lambda: shifting(trained, tmp_path, extra={"..": toy_data.inputs()})).code == "bad-setting"


class _Deadly:
    def missing(self) -> list[int]:
        return [1, 2]

    def run(self, job: int) -> None:
        raise AssertionError


def test_a_process_that_dies_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    from concurrent.futures.process import BrokenProcessPool

    class Pool:
        def __init__(self, *_: Any, **__: Any) -> None: ...

        def submit(self, *_: Any) -> None:
            raise BrokenProcessPool("killed")

        def shutdown(self, **_: Any) -> None: ...

    monkeypatch.setattr("sfumato.jobs.ProcessPoolExecutor", Pool)
    with pytest.raises(NotNow) as caught:
        run_missing(_Deadly(), processes=2)
    assert caught.value.code == "worker-died"


# --- attacks ---


def test_an_attack_is_written_step_by_step(trained: Path, tmp_path: Path) -> None:
    work = attacking(trained, tmp_path, attack=Pgd(steps=3), targets="soft")
    assert work.missing() == [0, 1, 2, 3]
    assert run_missing(work, processes=1) == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "clean", *(f"pgd-eps-4-255-targets-soft-step-{step}" for step in (1, 2, 3))
    ]  # fmt: skip
    run = Run.read(tmp_path / "pgd-eps-4-255-targets-soft-step-3" / SOFT)
    assert run.metadata["condition"] == "pgd eps=4/255 targets=soft step 3"
    under = run.metadata["under"]
    assert (under["targets"], under["step"], under["seed"]) == ("soft", 3, 0)
    assert under["attack"] == {"name": "pgd", "eps": 4 / 255, "alpha": 2 / 255, "steps": 3, "norm": "linf"}
    own = Run.read(trained / SOFT).predictions
    clean = Run.read(tmp_path / "clean" / SOFT).predictions
    np.testing.assert_allclose(clean.probs, own.probs, rtol=0, atol=1e-6)
    people = toy_data.people()
    q = people.probs[people.rows_of(own.items)]
    losses = [
        -(q * np.log(Run.read(tmp_path / name / SOFT).predictions.probs)).sum(1).mean()
        for name in sorted(path.name for path in tmp_path.iterdir())
    ]
    assert losses[0] < losses[1] < losses[2] < losses[3]
    assert attacking(trained, tmp_path, attack=Pgd(steps=3), targets="soft").missing() == []
    # Beside it another one; what is clean is the same for both, and a half-written one is done again.
    assert run_missing(attacking(trained, tmp_path, targets="soft"), processes=1) == 4
    shutil.rmtree(tmp_path / "fgsm-eps-4-255-targets-soft" / SOFT)
    assert len(attacking(trained, tmp_path, targets="soft").missing()) == 1
    error = refused(attacking(trained, tmp_path, attack=Pgd(steps=3, alpha=0.01), targets="soft").missing)
    assert (error.code, "attack" in error.found) == ("drift", True)


def test_what_a_network_is_led_away_from(trained: Path, tmp_path: Path) -> None:
    """The original class says one thing here, people another."""
    probs = np.roll(toy_data.people().probs, 1, axis=1)
    people = SoftLabels.from_numpy(toy_data.ITEMS, probs, toy_data.CLASSES)
    found = {}
    for targets in ("hard", "majority", "soft"):
        work = attacking(trained, tmp_path, people=people, targets=targets)
        found[targets] = work._labels(work.runs[0])
        items = work.runs[0].predictions.items.to_pylist()
    rows = [toy_data.ITEMS.index(item) for item in items]
    assert np.array_equal(found["hard"], np.eye(3)[toy_data.NUMBERS[rows]])
    assert np.array_equal(found["majority"], np.eye(3)[probs[rows].argmax(1)])
    np.testing.assert_allclose(found["soft"], probs[rows], rtol=0, atol=1e-7)
    # By name, whatever order classes and items stand in.
    turned = SoftLabels.from_numpy(toy_data.ITEMS[::-1], probs[::-1, [2, 0, 1]], ("emu", "cat", "dog"))
    again = attacking(trained, tmp_path, people=turned, targets="soft")
    np.testing.assert_allclose(again._labels(again.runs[0]), found["soft"], rtol=0, atol=1e-7)


def test_labels_that_are_missing(trained: Path, tmp_path: Path) -> None:
    people = toy_data.people()
    few = SoftLabels.from_numpy(toy_data.ITEMS[:-1], people.probs[:-1], toy_data.CLASSES)
    error = refused(lambda: attacking(trained, tmp_path, people=few, targets="soft"))
    assert (error.code, "'i59'" in error.found) == ("missing-item", True)
    # The original class needs no people.
    attacking(trained, tmp_path, people=few, targets="hard")
    bare = replace(toy_data.inputs(), labels=None)
    error = refused(lambda: attacking(trained, tmp_path, inputs=bare, targets="hard"))
    assert (error.code, 'targets="majority"' in error.fix) == ("missing-source", True)
    attacking(trained, tmp_path, inputs=bare, original=dict(zip(toy_data.ITEMS, toy_data.inputs().labels, strict=True)))
    error = refused(lambda: attacking(trained, tmp_path, people=None, targets="soft"))
    assert (error.code, error.fix) == ("missing-source", "give labels=")
    others = SoftLabels.from_numpy(toy_data.ITEMS, people.probs, ("cat", "dog", "owl"))
    assert refused(lambda: attacking(trained, tmp_path, people=others, targets="soft")).code == "bad-classes"
    assert refused(lambda: attacking(trained, tmp_path, targets="sofd")).code == "unknown-target"


def test_eps_in_gray_levels() -> None:
    assert [in_gray_levels(eps) for eps in (4 / 255, 0.0, 1.0, 0.01)] == ["4/255", "0/255", "255/255", "0.01"]
    names = [
        AttackExperiment((), Path(), attack, toy_data.inputs()).name_of(1)
        for attack in (Fgsm(), Pgd(), Pgd(eps=0.5, norm="l2", steps=1))
    ]
    assert names == [
        "fgsm eps=4/255 targets=hard",
        "pgd eps=4/255 targets=hard step 01",
        "pgd-l2 eps=0.5 targets=hard",
    ]
