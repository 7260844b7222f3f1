"""Beliefs -> Agreement: how far people agree, each figure with an interval. One measure a file; `MEASURES` lists them.

Comparisons between people look at each person's first answer about an item; later ones are for test-retest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sfumato.labeling.agreement.alpha_distributions import AlphaDistributions
from sfumato.labeling.agreement.alpha_nominal import AlphaNominal
from sfumato.labeling.agreement.alpha_ordinal import AlphaOrdinal
from sfumato.labeling.agreement.figures import Agreement, agreement_of
from sfumato.labeling.agreement.item_answers import Answers
from sfumato.labeling.agreement.measure import Measure
from sfumato.labeling.agreement.pairwise_distance import TotalVariation
from sfumato.labeling.agreement.retest_same_class import RetestSameClass
from sfumato.labeling.agreement.retest_total_variation import RetestTotalVariation
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.strategies import strategy_named

MEASURES: tuple[Any, ...] = (
    AlphaNominal,
    AlphaOrdinal,
    AlphaDistributions,
    TotalVariation,
    RetestSameClass,
    RetestTotalVariation,
)

__all__ = [
    "MEASURES",
    "Agreement",
    "AlphaDistributions",
    "AlphaNominal",
    "AlphaOrdinal",
    "Measure",
    "RetestSameClass",
    "RetestTotalVariation",
    "TotalVariation",
    "agreement",
    "measure_named",
]


def agreement(
    beliefs: Beliefs,
    *,
    measures: Sequence[Measure] = (),
    level: float = 0.95,
    resamples: int = 1000,
    rng: np.random.Generator,
) -> Agreement:
    """How far people agree: one row a measure, each with a bootstrap interval over items.

    Without `measures`, those that apply: `alpha-nominal` and `total-variation` where two people answered about the same
    item, `alpha-distributions` where beliefs are soft, both `retest` measures where somebody answered twice;
    `alpha-ordinal` only when asked for. A measure asked for that cannot be computed is NaN, with a warning.

    Between people each person's first answer about an item counts (the row that stands first); an item with a single
    person does not. Later answers of the same person are left to test-retest.
    """
    offered = [member() for member in MEASURES]
    return agreement_of(Answers.of(beliefs), measures, offered, level=level, resamples=resamples, rng=rng)


def measure_named(name: str) -> Measure:
    """The measure called `name`."""
    return strategy_named("measure", MEASURES, name, {})  # type: ignore[no-any-return]
