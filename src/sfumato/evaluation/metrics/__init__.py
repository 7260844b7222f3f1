"""The metrics, one file per family; `METRICS` lists them all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfumato.evaluation.matched_labels import MatchedLabels
from sfumato.evaluation.metric import Metric, missing_input
from sfumato.evaluation.metrics.accuracy import (
    Accuracy,
    AccuracyOriginal,
    ConfidenceWhenRight,
    ConfidenceWhenWrong,
    ExpectedAccuracy,
    Overconfidence,
    SecondBestAccuracy,
    SecondChoiceLogOdds,
)
from sfumato.evaluation.metrics.brier import Brier, BrierCalibration, BrierRefinement
from sfumato.evaluation.metrics.calibration_error import ECE, RMSCalibration
from sfumato.evaluation.metrics.dissent import DissentDifference, DissentPearson
from sfumato.evaluation.metrics.divergence import (
    JSD,
    CrossEntropy,
    JSDistance,
    KLDivergence,
    TotalVariation,
    Wasserstein,
)
from sfumato.evaluation.metrics.entropy import EntropyDifference, EntropyPearson, EntropySpearman
from sfumato.evaluation.metrics.selective import AURC, ExcessAURC, FailureAUROC
from sfumato.evaluation.metrics.smooth_ece import SmoothECE
from sfumato.tables.errors import BadSetting

METRICS: tuple[Any, ...] = (
    Accuracy,
    AccuracyOriginal,
    ExpectedAccuracy,
    SecondBestAccuracy,
    SecondChoiceLogOdds,
    CrossEntropy,
    KLDivergence,
    Brier,
    BrierCalibration,
    BrierRefinement,
    JSD,
    JSDistance,
    TotalVariation,
    Wasserstein,
    DissentPearson,
    DissentDifference,
    EntropyPearson,
    EntropySpearman,
    EntropyDifference,
    Overconfidence,
    ECE,
    RMSCalibration,
    SmoothECE,
    ConfidenceWhenRight,
    ConfidenceWhenWrong,
    AURC,
    ExcessAURC,
    FailureAUROC,
)

__all__ = [
    "AURC",
    "ECE",
    "JSD",
    "METRICS",
    "Accuracy",
    "AccuracyOriginal",
    "Brier",
    "BrierCalibration",
    "BrierRefinement",
    "ConfidenceWhenRight",
    "ConfidenceWhenWrong",
    "CrossEntropy",
    "DissentDifference",
    "DissentPearson",
    "EntropyDifference",
    "EntropyPearson",
    "EntropySpearman",
    "ExcessAURC",
    "ExpectedAccuracy",
    "FailureAUROC",
    "JSDistance",
    "KLDivergence",
    "Overconfidence",
    "RMSCalibration",
    "SecondBestAccuracy",
    "SecondChoiceLogOdds",
    "SmoothECE",
    "TotalVariation",
    "Wasserstein",
]


def chosen_metrics(matched: MatchedLabels, metrics: Sequence[Metric]) -> list[Metric]:
    """The requested metrics; without any, all whose inputs are there."""
    names = [each.name for each in metrics]
    doubled = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if doubled:
        expected = "each metric once: rows of Scores are identified by the metric's name"
        raise BadSetting(f"{doubled[0]} twice", expected, "score the other settings in another call")
    return list(metrics) or [each for each in (member() for member in METRICS) if not missing_input(each, matched)]
