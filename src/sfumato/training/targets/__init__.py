"""Lesson -> Labels: what a network is to learn. One target a file; `TARGETS` lists them all.

With people's doubt: soft, sampled, deaggregated, tempered, class-level. Without: hard, majority, smoothing, distilled.
Controls: uniform and random can teach nothing; shuffled keeps the doubt of a class and loses whose it was;
entropy-matched keeps how much doubt an item has and loses between which classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.tables.strategies import strategy_from_name
from sfumato.training.crowd_layers import CROWDS
from sfumato.training.targets.controls import RandomTarget, ShuffledTarget, UniformTarget
from sfumato.training.targets.hard import HardTarget, MajorityTarget
from sfumato.training.targets.smoothing import ClassLevelTarget, DistilledTarget, EntropyMatchedTarget, SmoothingTarget
from sfumato.training.targets.soft import DeaggregatedTarget, SampledTarget, SoftTarget, TemperedTarget
from sfumato.training.targets.target import Target

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
    "target_named",
]


def target_named(name: str, settings: Mapping[str, Any]) -> Target:
    """The target called `name` with `settings`; the one place where a name becomes an object.

    The ways to learn from a crowd directly (`CROWDS`) are targets like the others.
    """
    return strategy_from_name("target", (*TARGETS, *CROWDS), name, settings)  # type: ignore[no-any-return]
