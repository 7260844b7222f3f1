"""Lesson -> Labels: what a network is to learn. One target a file; `TARGETS` lists them all.

With people's doubt: soft, sampled, deaggregated, tempered, class-level. Without: hard, majority, smoothing, distilled.
Controls: uniform and random can teach nothing; shuffled keeps the doubt of a class and loses whose it was;
entropy-matched keeps how much doubt an item has and loses between which classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.tables.strategies import strategy_named
from sfumato.training.crowds import CROWDS
from sfumato.training.targets.class_level import ClassLevel
from sfumato.training.targets.deaggregated import Deaggregated
from sfumato.training.targets.distilled import Distilled
from sfumato.training.targets.entropy_matched import EntropyMatched
from sfumato.training.targets.hard import Hard
from sfumato.training.targets.majority import Majority
from sfumato.training.targets.random import Random
from sfumato.training.targets.sampled import Sampled
from sfumato.training.targets.shuffled import Shuffled
from sfumato.training.targets.smoothing import Smoothing
from sfumato.training.targets.soft import Soft
from sfumato.training.targets.target import Target
from sfumato.training.targets.tempered import Tempered
from sfumato.training.targets.uniform import Uniform

TARGETS: tuple[Any, ...] = (
    Hard,
    Majority,
    Soft,
    Sampled,
    Deaggregated,
    Smoothing,
    ClassLevel,
    Distilled,
    Tempered,
    Shuffled,
    EntropyMatched,
    Uniform,
    Random,
)

__all__ = [
    "TARGETS",
    "ClassLevel",
    "Deaggregated",
    "Distilled",
    "EntropyMatched",
    "Hard",
    "Majority",
    "Random",
    "Sampled",
    "Shuffled",
    "Smoothing",
    "Soft",
    "Target",
    "Tempered",
    "Uniform",
    "target_named",
]


def target_named(name: str, settings: Mapping[str, Any]) -> Target:
    """The target called `name` with `settings`; the one place where a name becomes an object.

    The ways to learn from a crowd directly (`CROWDS`) are targets like the others.
    """
    return strategy_named("target", (*TARGETS, *CROWDS), name, settings)  # type: ignore[no-any-return]
