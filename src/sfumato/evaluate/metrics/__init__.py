"""The metrics, one a file; `METRICS` lists them all. Beside them stands what several share: `bins`, `brier_parts`,
`norms`, `selection`, `smoothing`, `votes`."""

from __future__ import annotations

from typing import Any

from sfumato.evaluate.metrics.accuracy import Accuracy
from sfumato.evaluate.metrics.accuracy_original import AccuracyOriginal
from sfumato.evaluate.metrics.aurc import AURC
from sfumato.evaluate.metrics.brier import Brier
from sfumato.evaluate.metrics.brier_calibration import BrierCalibration
from sfumato.evaluate.metrics.brier_refinement import BrierRefinement
from sfumato.evaluate.metrics.confidence_when_right import ConfidenceWhenRight
from sfumato.evaluate.metrics.confidence_when_wrong import ConfidenceWhenWrong
from sfumato.evaluate.metrics.cross_entropy import CrossEntropy
from sfumato.evaluate.metrics.ece import ECE
from sfumato.evaluate.metrics.entropy_difference import EntropyDifference
from sfumato.evaluate.metrics.entropy_pearson import EntropyPearson
from sfumato.evaluate.metrics.entropy_spearman import EntropySpearman
from sfumato.evaluate.metrics.excess_aurc import ExcessAURC
from sfumato.evaluate.metrics.expected_accuracy import ExpectedAccuracy
from sfumato.evaluate.metrics.failure_auroc import FailureAUROC
from sfumato.evaluate.metrics.js_distance import JSDistance
from sfumato.evaluate.metrics.jsd import JSD
from sfumato.evaluate.metrics.kl_divergence import KLDivergence
from sfumato.evaluate.metrics.overconfidence import Overconfidence
from sfumato.evaluate.metrics.rms_calibration import RMSCalibration
from sfumato.evaluate.metrics.second_best_accuracy import SecondBestAccuracy
from sfumato.evaluate.metrics.second_choice_log_odds import SecondChoiceLogOdds
from sfumato.evaluate.metrics.smooth_ece import SmoothECE
from sfumato.evaluate.metrics.total_variation import TotalVariation
from sfumato.evaluate.metrics.wasserstein import Wasserstein

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
