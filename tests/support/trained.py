"""Simulated runs: forty items in three classes; some targets are closer to people than others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from sfumato.evaluation import RunPredictions
from sfumato.tables.soft_labels import SoftLabels

CLASSES = ("cat", "dog", "emu")
N_ITEMS = 40
ITEMS = tuple(f"i{i}" for i in range(N_ITEMS))
NEARNESS = {"hard": 0.3, "majority": 0.5, "soft": 0.8}
"""The weight of people's labels in the predictions of each target."""


def people() -> SoftLabels:
    """People's labels: certain for a quarter of the items; the mode of the others is sometimes not the original."""
    rng = np.random.default_rng(7)
    probs = rng.dirichlet([3.0, 2.0, 1.0], N_ITEMS)
    probs[: N_ITEMS // 4] = np.eye(3)[np.arange(N_ITEMS // 4) % 3]
    return SoftLabels.from_numpy(ITEMS, probs, CLASSES, 10)


def original() -> SoftLabels:
    return SoftLabels.one_hot(ITEMS, [CLASSES[i % 3] for i in range(N_ITEMS)], CLASSES)


def trained(target: str, seed: int, network: str = "ffn") -> RunPredictions:
    """The predictions of one run; runs of the same seed share most of their noise."""
    shared_noise = np.random.default_rng(seed).dirichlet([2.0, 2.0, 2.0], N_ITEMS)
    own_noise = np.random.default_rng([seed, len(target)]).dirichlet([2.0, 2.0, 2.0], N_ITEMS)
    near = NEARNESS[target]
    probs = near * people().probs + (1 - near) * (0.7 * shared_noise + 0.3 * own_noise)
    return RunPredictions(target, network, seed, SoftLabels.from_numpy(ITEMS, probs, CLASSES, 0))


def shifted(run: RunPredictions, condition: str, worse: float) -> RunPredictions:
    """The same run on worse pictures: its predictions are mixed with the uniform distribution."""
    table = run.predictions
    probs = (1 - worse) * table.probs + worse / len(CLASSES)
    return replace(run, predictions=SoftLabels.from_numpy(ITEMS, probs, CLASSES, 0), condition=condition)


def grid(targets: Sequence[str] = ("hard", "soft"), seeds: Sequence[int] = range(6)) -> list[RunPredictions]:
    return [trained(target, seed) for target in targets for seed in seeds]


def write_run(
    folder: Path, run: RunPredictions, *, fold: int = 0, rows: slice = slice(None), ended: str = "finished"
) -> Path:
    """Write a run as `sfumato train` and `shift` do, with the files that evaluation reads."""
    place = folder / run.condition.replace("/", "-") / f"{run.target}.{run.network}.seed-{run.seed}.fold-{fold}"
    place.mkdir(parents=True)
    table = run.predictions
    SoftLabels.from_numpy(table.items.to_pylist()[rows], table.probs[rows], table.classes, 0).write(
        place / "predictions.parquet"
    )
    metadata: dict[str, object] = {
        "target": run.target,
        "network": run.network,
        "seed": run.seed,
        "fold": fold,
        "ended": ended,
    }
    if run.condition:
        metadata |= {"condition": run.condition, "under": {}}
    (place / "run.json").write_text(json.dumps(metadata))
    return place
