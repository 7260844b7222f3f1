"""Beliefs -> Agreement: how far people agree, each figure with an interval. One measure a file; `MEASURES` lists them.

Comparisons between people look at each person's first answer about an item; later ones are for test-retest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sfumato.labeling.agreement.item_answers import ItemAnswers
from sfumato.labeling.agreement.krippendorff_alpha import AlphaDistributions, AlphaNominal, AlphaOrdinal
from sfumato.labeling.agreement.measure import AgreementMeasure, AgreementTable, agreement_of
from sfumato.labeling.agreement.pairwise_distance import TotalVariationAgreement
from sfumato.labeling.agreement.test_retest import RetestSameClass, RetestTotalVariation
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.strategies import strategy_from_name

MEASURES: tuple[Any, ...] = (
    AlphaNominal,
    AlphaOrdinal,
    AlphaDistributions,
    TotalVariationAgreement,
    RetestSameClass,
    RetestTotalVariation,
)

__all__ = [
    "MEASURES",
    "AgreementMeasure",
    "AgreementTable",
    "AlphaDistributions",
    "AlphaNominal",
    "AlphaOrdinal",
    "RetestSameClass",
    "RetestTotalVariation",
    "TotalVariationAgreement",
    "agreement",
    "measure_from_name",
]


def agreement(
    beliefs: Beliefs,
    *,
    measures: Sequence[AgreementMeasure] = (),
    level: float = 0.95,
    resamples: int = 1000,
    rng: np.random.Generator,
) -> AgreementTable:
    """How far people agree: one row a measure, each with a bootstrap interval over items.

    Without `measures`, those that apply: `alpha-nominal` and `total-variation` where two people answered about the same
    item, `alpha-distributions` where beliefs are soft, both `retest` measures where somebody answered twice;
    `alpha-ordinal` only when asked for. A measure asked for that cannot be computed is NaN, with a warning.

    Between people each person's first answer about an item counts (the row that stands first); an item with a single
    person does not. Later answers of the same person are left to test-retest.
    """
    offered = [member() for member in MEASURES]
    return agreement_of(ItemAnswers.of(beliefs), measures, offered, level=level, resamples=resamples, rng=rng)


def measure_from_name(name: str) -> AgreementMeasure:
    """The measure called `name`."""
    return strategy_from_name("measure", MEASURES, name, {})  # type: ignore[no-any-return]
