"""Aggregation: from the beliefs of several annotators to one soft label per item. `AGGREGATORS` lists the methods.

Each method states its `Estimand`: how people judge, or how probable each class is to be true.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.aggregation.aggregation import Aggregation, Aggregator, AnnotatorQuality, update
from sfumato.aggregation.aggregation_options import AggregationInputs
from sfumato.aggregation.aggregator_mixture import MixturePool
from sfumato.aggregation.answer_matrix import AnswerMatrix
from sfumato.aggregation.belief_pools import LogPool, Mean
from sfumato.aggregation.dawid_skene import DawidSkene
from sfumato.aggregation.empirical_bayes import Bayes
from sfumato.aggregation.glad import Glad
from sfumato.aggregation.label_intervals import Intervals, intervals
from sfumato.aggregation.mace import Mace
from sfumato.aggregation.majority import Majority, Wawa, ZeroBasedSkill
from sfumato.aggregation.one_coin import OneCoin
from sfumato.aggregation.ordinal_dawid_skene import OrdinalDawidSkene
from sfumato.aggregation.pass_engine import Engine, LocalEngine
from sfumato.aggregation.posterior_calibration import calibrate
from sfumato.aggregation.reliability_pool import ReliabilityPool
from sfumato.aggregation.spectral import Spectral
from sfumato.tables.estimand import Estimand
from sfumato.tables.strategies import strategy_from_name

AGGREGATORS: tuple[Any, ...] = (
    Mean,
    Bayes,
    LogPool,
    ReliabilityPool,
    MixturePool,
    Majority,
    DawidSkene,
    OrdinalDawidSkene,
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
    "AggregationInputs",
    "Aggregator",
    "AnnotatorQuality",
    "AnswerMatrix",
    "Bayes",
    "DawidSkene",
    "Engine",
    "Estimand",
    "Glad",
    "Intervals",
    "LocalEngine",
    "LogPool",
    "Mace",
    "Majority",
    "Mean",
    "MixturePool",
    "OneCoin",
    "OrdinalDawidSkene",
    "ReliabilityPool",
    "Spectral",
    "Wawa",
    "ZeroBasedSkill",
    "aggregator_from_name",
    "calibrate",
    "intervals",
    "update",
]


def aggregator_from_name(name: str, settings: Mapping[str, Any]) -> Aggregator:
    """The aggregator called `name` with `settings`."""
    return strategy_from_name("aggregator", AGGREGATORS, name, settings)  # type: ignore[no-any-return]
