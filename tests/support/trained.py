"""Made-up trainings: forty items in three classes, some targets nearer to people than others, seeds that differ."""

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
"""How much of people's label is in what a target predicts."""


def people() -> SoftLabels:
    """A quarter of the items are beyond doubt; of the others people's first choice is sometimes not the original."""
    rng = np.random.default_rng(7)
    probs = rng.dirichlet([3.0, 2.0, 1.0], N_ITEMS)
    probs[: N_ITEMS // 4] = np.eye(3)[np.arange(N_ITEMS // 4) % 3]
    return SoftLabels.from_numpy(ITEMS, probs, CLASSES, 10)


def original() -> SoftLabels:
    return SoftLabels.one_hot(ITEMS, [CLASSES[i % 3] for i in range(N_ITEMS)], CLASSES)


def trained(target: str, seed: int, network: str = "ffn") -> RunPredictions:
    """What one training predicts; seeds of the same number share their luck, whatever their target."""
    luck = np.random.default_rng(seed).dirichlet([2.0, 2.0, 2.0], N_ITEMS)
    own = np.random.default_rng([seed, len(target)]).dirichlet([2.0, 2.0, 2.0], N_ITEMS)
    near = NEARNESS[target]
    probs = near * people().probs + (1 - near) * (0.7 * luck + 0.3 * own)
    return RunPredictions(target, network, seed, SoftLabels.from_numpy(ITEMS, probs, CLASSES, 0))


def shifted(run: RunPredictions, condition: str, worse: float) -> RunPredictions:
    """The same training on worse pictures: a share of what it predicts is the even guess."""
    table = run.predictions
    probs = (1 - worse) * table.probs + worse / len(CLASSES)
    return replace(run, predictions=SoftLabels.from_numpy(ITEMS, probs, CLASSES, 0), condition=condition)


def grid(targets: Sequence[str] = ("hard", "soft"), seeds: Sequence[int] = range(6)) -> list[RunPredictions]:
    return [trained(target, seed) for target in targets for seed in seeds]


def write_run(
    folder: Path, run: RunPredictions, *, fold: int = 0, rows: slice = slice(None), ended: str = "finished"
) -> Path:
    """A run as `sfumato train` and `shift` write it, as far as evaluation looks."""
    place = folder / run.condition.replace("/", "-") / f"{run.target}.{run.network}.seed-{run.seed}.fold-{fold}"
    place.mkdir(parents=True)
    table = run.predictions
    SoftLabels.from_numpy(table.items.to_pylist()[rows], table.probs[rows], table.classes, 0).write(
        place / "predictions.parquet"
    )
    said: dict[str, object] = {
        "target": run.target,
        "network": run.network,
        "seed": run.seed,
        "fold": fold,
        "ended": ended,
    }
    if run.condition:
        said |= {"condition": run.condition, "under": {}}
    (place / "run.json").write_text(json.dumps(said))
    return place
