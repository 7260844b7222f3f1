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
from sfumato.labeling.agreement.kappa import CohenKappa, FleissKappa, GwetAC1, GwetAC2, WeightedKappa
from sfumato.labeling.agreement.krippendorff_alpha import AlphaDistributions, AlphaNominal, AlphaOrdinal
from sfumato.labeling.agreement.measure_protocol import AgreementMeasure, figure_of
from sfumato.labeling.agreement.pairwise_distance import PercentAgreement, TotalVariationAgreement
from sfumato.labeling.agreement.test_retest import RetestSameClass, RetestTotalVariation
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.class_order import is_ordered, scale_text
from sfumato.tables.counts import Counts, without_annotators
from sfumato.tables.errors import listing, warn
from sfumato.tables.option_words import is_command
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
WITH_ORDER = (AlphaOrdinal, WeightedKappa, GwetAC2)
"""Measures that depend on the order of the classes."""
OF_NUMBERS = (IccOneWay, IccAgreement, IccConsistency, IccOneWayMean, IccAgreementMean, IccConsistencyMean)
"""Measures of numbers: positions on a scale, or for classes without an order all probabilities."""

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
    "warn_of_order",
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


def warn_of_order(measures: Sequence[AgreementMeasure], classes: Sequence[str]) -> None:
    """Say what measures for ordered classes do with classes that are not marked as ordered."""
    if is_ordered(classes) or len(classes) < 3:
        return
    fix = "set the order with --ordered and --classes"
    if not is_command():
        fix = "mark the order with sf.read(path, classes=[...], ordered=True), or with votes.as_ordered()"
    if names := [each.name for each in measures if isinstance(each, WITH_ORDER)]:
        order = f"the order of the classes in the table, {scale_text(classes)}"
        warn(f"{listing(names)} used {order}, which is not marked as a scale; {fix}")
    if names := [each.name for each in measures if isinstance(each, OF_NUMBERS)]:
        what = "added the sums of squares over the classes, because the classes are not marked as a scale"
        warn(f"{listing(names)} {what}; for positions on a scale, {fix}")


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
