"""Targets: what a model is trained on, computed from a TrainingSet. `TARGETS` lists them all.

With people's uncertainty: soft, sampled, deaggregated, tempered, class-level. Without: hard, majority, smoothing,
distilled. Controls: uniform and random contain no information; shuffled keeps the distributions of a class but not
their items; entropy-matched keeps the entropy of an item but not between which classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.tables.strategies import strategy_from_name
from sfumato.training.target_labels import Target
from sfumato.training.targets.controls import RandomTarget, ShuffledTarget, UniformTarget
from sfumato.training.targets.hard import HardTarget, MajorityTarget
from sfumato.training.targets.smoothing import ClassLevelTarget, DistilledTarget, EntropyMatchedTarget, SmoothingTarget
from sfumato.training.targets.soft import DeaggregatedTarget, SampledTarget, SoftTarget, TemperedTarget

TARGETS: tuple[Any, ...] = (
    HardTarget,
    MajorityTarget,
    SoftTarget,
    SampledTarget,
    DeaggregatedTarget,
    SmoothingTarget,
    ClassLevelTarget,
    DistilledTarget,
    TemperedTarget,
    ShuffledTarget,
    EntropyMatchedTarget,
    UniformTarget,
    RandomTarget,
)

__all__ = [
    "TARGETS",
    "ClassLevelTarget",
    "DeaggregatedTarget",
    "DistilledTarget",
    "EntropyMatchedTarget",
    "HardTarget",
    "MajorityTarget",
    "RandomTarget",
    "SampledTarget",
    "ShuffledTarget",
    "SmoothingTarget",
    "SoftTarget",
    "Target",
    "TemperedTarget",
    "UniformTarget",
    "target_family",
    "target_named",
]


def target_named(name: str, settings: Mapping[str, Any]) -> Target:
    """The target called `name` with `settings`; crowd layers are targets too."""
    return strategy_from_name("target", target_family(name), name, settings)  # type: ignore[no-any-return]


def target_family(name: str) -> tuple[Any, ...]:
    """The targets that `name` is chosen from: with crowd layers, which need torch, unless it is one of `TARGETS`."""
    if name.partition(":")[0].strip() in [member.name for member in TARGETS]:
        return TARGETS
    try:
        from sfumato.training.crowd_layers import CROWDS
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        return TARGETS
    return (*TARGETS, *CROWDS)
