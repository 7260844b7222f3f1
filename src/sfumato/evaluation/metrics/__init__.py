"""The metrics, one file per family; `METRICS` lists them all."""

from __future__ import annotations

from typing import Any

from sfumato.evaluation.metrics.accuracy import (
    Accuracy,
    AccuracyOriginal,
    ExpectedAccuracy,
    SecondBestAccuracy,
    SecondChoiceLogOdds,
)
from sfumato.evaluation.metrics.brier import Brier, BrierCalibration, BrierRefinement
from sfumato.evaluation.metrics.calibration_error import ECE, RMSCalibration
from sfumato.evaluation.metrics.confidence import ConfidenceWhenRight, ConfidenceWhenWrong, Overconfidence
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
