"""Lesson -> Labels: what a network is to learn. One target a file; `TARGETS` lists them all.

With people's doubt: soft, sampled, deaggregated, tempered, class-level. Without: hard, majority, smoothing, distilled.
Controls: uniform and random can teach nothing; shuffled keeps the doubt of a class and loses whose it was;
entropy-matched keeps how much doubt an item has and loses between which classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.learn.crowds import CROWDS
from sfumato.learn.targets.class_level import ClassLevel
from sfumato.learn.targets.deaggregated import Deaggregated
from sfumato.learn.targets.distilled import Distilled
from sfumato.learn.targets.entropy_matched import EntropyMatched
from sfumato.learn.targets.hard import Hard
from sfumato.learn.targets.majority import Majority
from sfumato.learn.targets.random import Random
from sfumato.learn.targets.sampled import Sampled
from sfumato.learn.targets.shuffled import Shuffled
from sfumato.learn.targets.smoothing import Smoothing
from sfumato.learn.targets.soft import Soft
from sfumato.learn.targets.target import Target
from sfumato.learn.targets.tempered import Tempered
from sfumato.learn.targets.uniform import Uniform
from sfumato.tables.strategies import strategy_named

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
