"""Lesson -> Labels: what a network is to learn. One target a file; `TARGETS` lists them all.

With people's doubt: soft, sampled, deaggregated, tempered, class-level. Without: hard, majority, smoothing, distilled.
Controls: uniform and random can teach nothing; shuffled keeps the doubt of a class and loses whose it was;
entropy-matched keeps how much doubt an item has and loses between which classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.tables.strategies import strategy_from_name
from sfumato.training.crowds import CROWDS
from sfumato.training.targets.class_level import ClassLevelTarget
from sfumato.training.targets.deaggregated import DeaggregatedTarget
from sfumato.training.targets.distilled import DistilledTarget
from sfumato.training.targets.entropy_matched import EntropyMatchedTarget
from sfumato.training.targets.hard import HardTarget
from sfumato.training.targets.majority import MajorityTarget
from sfumato.training.targets.random import RandomTarget
from sfumato.training.targets.sampled import SampledTarget
from sfumato.training.targets.shuffled import ShuffledTarget
from sfumato.training.targets.smoothing import SmoothingTarget
from sfumato.training.targets.soft import SoftTarget
from sfumato.training.targets.target import Target
from sfumato.training.targets.tempered import TemperedTarget
from sfumato.training.targets.uniform import UniformTarget

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
