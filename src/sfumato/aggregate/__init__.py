"""Beliefs -> SoftLabels: what people together say. One aggregator a file; `AGGREGATORS` lists them all.

Each says which of two distributions it estimates (`Target`): how people judge, or how probable each class is to be
true.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.aggregate.aggregation import Aggregation, Aggregator, AnnotatorQuality
from sfumato.aggregate.answers import Answers, Beside
from sfumato.aggregate.bayes import Bayes
from sfumato.aggregate.calibration import calibrate
from sfumato.aggregate.dawid_skene import DawidSkene
from sfumato.aggregate.engine import Engine, LocalEngine
from sfumato.aggregate.glad import Glad
from sfumato.aggregate.intervals import Intervals, intervals
from sfumato.aggregate.log_pool import LogPool
from sfumato.aggregate.mace import Mace
from sfumato.aggregate.majority import Majority
from sfumato.aggregate.mean import Mean
from sfumato.aggregate.mixture_pool import MixturePool
from sfumato.aggregate.one_coin import OneCoin
from sfumato.aggregate.reliability_pool import ReliabilityPool
from sfumato.aggregate.spectral import Spectral
from sfumato.aggregate.updating import update
from sfumato.aggregate.wawa import Wawa
from sfumato.aggregate.zero_based_skill import ZeroBasedSkill
from sfumato.tables.soft_labels import Target
from sfumato.tables.strategies import strategy_named

AGGREGATORS: tuple[Any, ...] = (
    Mean,
    Bayes,
    LogPool,
    ReliabilityPool,
    MixturePool,
    Majority,
    DawidSkene,
    OneCoin,
    Glad,
    Mace,
    Wawa,
    ZeroBasedSkill,
    Spectral,
)

__all__ = [
    "AGGREGATORS",
    "Aggregation",
    "Aggregator",
    "AnnotatorQuality",
    "Answers",
    "Bayes",
    "Beside",
    "DawidSkene",
    "Engine",
    "Glad",
    "Intervals",
    "LocalEngine",
    "LogPool",
    "Mace",
    "Majority",
    "Mean",
    "MixturePool",
    "OneCoin",
    "ReliabilityPool",
    "Spectral",
    "Target",
    "Wawa",
    "ZeroBasedSkill",
    "aggregator_named",
    "calibrate",
    "intervals",
    "update",
]


def aggregator_named(name: str, settings: Mapping[str, Any]) -> Aggregator:
    """The aggregator called `name` with `settings`; the one place where a name becomes an object."""
    return strategy_named("aggregator", AGGREGATORS, name, settings)  # type: ignore[no-any-return]
