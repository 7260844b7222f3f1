"""Inter-annotator agreement with confidence intervals. `MEASURES` lists the measures.

Comparisons between annotators use each annotator's first answer about an item; later answers are for test-retest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfumato.labeling.agreement.agreement_table import AgreementTable
from sfumato.labeling.agreement.intraclass_correlation import (
    IccAgreement,
    IccAgreementMean,
    IccConsistency,
    IccConsistencyMean,
    IccOneWay,
    IccOneWayMean,
)
from sfumato.labeling.agreement.item_answers import ItemAnswers
from sfumato.labeling.agreement.kappa import CohenKappa, FleissKappa, GwetAC1, GwetAC2, PercentAgreement, WeightedKappa
from sfumato.labeling.agreement.krippendorff_alpha import AlphaDistributions, AlphaNominal, AlphaOrdinal
from sfumato.labeling.agreement.measure_protocol import AgreementMeasure, figure_of
from sfumato.labeling.agreement.pairwise_distance import TotalVariationAgreement
from sfumato.labeling.agreement.test_retest import RetestSameClass, RetestTotalVariation
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.counts import Counts, without_annotators
from sfumato.tables.errors import warn
from sfumato.tables.setting_checks import between_0_and_1
from sfumato.tables.strategies import strategy_from_name

MEASURES: tuple[Any, ...] = (
    AlphaNominal,
    AlphaOrdinal,
    AlphaDistributions,
    TotalVariationAgreement,
    PercentAgreement,
    CohenKappa,
    WeightedKappa,
    FleissKappa,
    GwetAC1,
    GwetAC2,
    IccOneWay,
    IccAgreement,
    IccConsistency,
    IccOneWayMean,
    IccAgreementMean,
    IccConsistencyMean,
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
    "CohenKappa",
    "FleissKappa",
    "GwetAC1",
    "GwetAC2",
    "IccAgreement",
    "IccAgreementMean",
    "IccConsistency",
    "IccConsistencyMean",
    "IccOneWay",
    "IccOneWayMean",
    "PercentAgreement",
    "RetestSameClass",
    "RetestTotalVariation",
    "TotalVariationAgreement",
    "WeightedKappa",
    "agreement",
    "measure_from_name",
]


def agreement(
    beliefs: Beliefs | Counts, *, measures: Sequence[AgreementMeasure] = (), level: float = 0.95
) -> AgreementTable:
    """Inter-annotator agreement: one row per measure, each with its interval over annotators and items.

    Without `measures`, those that apply: `alpha-nominal` and `total-variation` if two annotators answered about the
    same item, `alpha-distributions` if beliefs are soft, both `retest` measures if an annotator answered twice; for
    ordered classes `alpha-ordinal` and `weighted-kappa` lead. The others are computed on request. A requested measure
    that cannot be computed is NaN, with a warning.

    Between annotators, each annotator's first answer about an item counts (the first row); items with one annotator do
    not count. Later answers of the same annotator are used for test-retest only. Counts have no test-retest measures:
    each vote counts as one of another annotator. Their intervals are over items alone, as those of two annotators: the
    annotators are taken as fixed.
    """
    between_0_and_1("level", level)
    annotators_known = not isinstance(beliefs, Counts)
    if isinstance(beliefs, Counts):
        for each in measures:
            if _needs_annotators(each):
                raise without_annotators(each.name, "alpha-nominal, fleiss-kappa or total-variation")
        beliefs = beliefs.votes()
    answers = ItemAnswers.of(beliefs, annotators_known=annotators_known)
    kinds = ["ordered"] * answers.is_ordered + ["soft" if answers.is_soft else "hard"]
    members = [member() for kind in kinds for member in MEASURES if kind in member.default_for]
    usual = [each for each in members if annotators_known or not _needs_annotators(each)]
    chosen = measures or [each for each in usual if getattr(answers, each.compares).n_items]
    if not chosen:
        warn("found nothing to compare: no item has two answers; give several people the same items")
    return AgreementTable.of(
        [figure_of(each, answers, level=level, annotators_known=annotators_known) for each in chosen]
    )


def _needs_annotators(measure: AgreementMeasure) -> bool:
    return measure.compares == "repeats" or getattr(measure, "needs_annotators", False)


ALSO_CALLED = {
    "kappa": "cohen-kappa for two annotators, fleiss-kappa for more", "cohens-kappa": "cohen-kappa",
    "light-kappa": "cohen-kappa: the mean over pairs of annotators", "fleiss": "fleiss-kappa",
    "linear-kappa": "weighted-kappa:power=1", "quadratic-kappa": "weighted-kappa", "qwk": "weighted-kappa",
    "ac1": "gwet-ac1", "ac2": "gwet-ac2", "gwet": "gwet-ac1", "percent": "percent-agreement",
    "alpha": "alpha-nominal", "krippendorff": "alpha-nominal", "krippendorff-alpha": "alpha-nominal",
    "icc": "icc-1, or icc-a1 if the same people answered about every item", "icc1": "icc-1", "icc2": "icc-a1",
    "icc3": "icc-c1", "icc1k": "icc-1k", "icc2k": "icc-ak", "icc3k": "icc-ck", "cronbach": "icc-ck",
}  # fmt: skip
"""Other tools' names of measures."""


def measure_from_name(name: str) -> AgreementMeasure:
    """The measure called `name`."""
    return strategy_from_name("measure", MEASURES, name, {}, also_called=ALSO_CALLED)  # type: ignore[no-any-return]
