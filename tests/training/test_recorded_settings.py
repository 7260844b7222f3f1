"""Settings, data hashes and fingerprints of a small experiment, as recorded earlier: they must not change."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
import toy_data

from sfumato.training.experiment_file import ExperimentFile
from sfumato.training.fingerprint import hash_of
from sfumato.training.run_folder import Run
from sfumato.training.worker_pool import run_experiment

DOCUMENT = {
    "data": {
        "inputs": "x.npz",
        "labels": "labels.parquet",
        "beliefs": "beliefs.parquet",
        "teachers": "teacher.parquet",
    },
    "grid": {
        "targets": ["hard", "soft", "distilled:temperature=2", "crowd-layer:decay=0.1"],
        "networks": ["simple-ffn"],
        "seeds": 2,
    },
    "split": "k-fold:k=3",
    "recipe": {"epochs": 2, "batch_size": 16, "validation": 0.2, "patience": 1},
    "optimiser": "sgd:momentum=0.9",
    "schedule": "one-cycle",
    "augmentation": {"pad": 2},
    "pretraining": {"inputs": "x.npz", "labels": "labels.parquet", "epochs": 1},
}
KEYS = [
    "run",
    "target",
    "network",
    "seed",
    "fold",
    "label_set",
    "settings",
    "classes",
    "data",
    "kind",
    "shape",
    "scale",
]
KEYS += ["seconds", "validation", "ended", "epochs", "environment"]
DIGESTS = {
    "crowd-layer-decay-0.1.simple-ffn.seed-1.fold-2": ("b272942666784268", "fc62d364eb3e80fa"),
    "distilled-temperature-2.simple-ffn.seed-0.fold-0": ("fde02623528fd86a", "94756e393ee536dc"),
    "hard.simple-ffn.seed-1.fold-1": ("412c154fd535b347", "3edbff67cc3bcf43"),
    "pretrained.simple-ffn.seed-0": ("6cf04162c46d365e", "1fd366b359aba91d"),
    "soft.simple-ffn.seed-0.fold-1": ("9e112b78fbe13d08", "3edbff67cc3bcf43"),
}
"""SHA-256 of the settings and of the data hashes of some of the runs."""
SETTINGS = "3cc68114e19c84a897c0a20fcb809953e6404bf199908410811b090881c4babb"
"""The fingerprint's hash of the settings of `soft.simple-ffn.seed-0.fold-1`."""


def digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def test_settings_and_data_of_runs_hash_as_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toy_data.write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    file = ExperimentFile.of(DOCUMENT)
    experiment = file.experiment(tmp_path / "runs")
    run_experiment(experiment, processes=1)
    runs = {name: Run.read(tmp_path / "runs" / name) for name in DIGESTS}
    found = {name: (digest(run.metadata["settings"]), digest(run.metadata["data"])) for name, run in runs.items()}
    assert found == DIGESTS
    for name, run in runs.items():
        has_validation = not name.startswith("pretrained")
        assert list(run.metadata) == [key for key in KEYS if key != "validation" or has_validation]
    assert hash_of({"runs": [runs["soft.simple-ffn.seed-0.fold-1"].metadata["settings"]]}) == SETTINGS
