"""The metrics, one a file; `METRICS` lists them all. Beside them stands what several share: `bins`, `brier_parts`,
`norms`, `selection`, `smoothing`, `votes`."""

from __future__ import annotations

from typing import Any

from sfumato.evaluation.metrics.accuracy import Accuracy
from sfumato.evaluation.metrics.accuracy_original import AccuracyOriginal
from sfumato.evaluation.metrics.aurc import AURC
from sfumato.evaluation.metrics.brier import Brier
from sfumato.evaluation.metrics.brier_calibration import BrierCalibration
from sfumato.evaluation.metrics.brier_refinement import BrierRefinement
from sfumato.evaluation.metrics.confidence_when_right import ConfidenceWhenRight
from sfumato.evaluation.metrics.confidence_when_wrong import ConfidenceWhenWrong
from sfumato.evaluation.metrics.cross_entropy import CrossEntropy
from sfumato.evaluation.metrics.ece import ECE
from sfumato.evaluation.metrics.entropy_difference import EntropyDifference
from sfumato.evaluation.metrics.entropy_pearson import EntropyPearson
from sfumato.evaluation.metrics.entropy_spearman import EntropySpearman
from sfumato.evaluation.metrics.excess_aurc import ExcessAURC
from sfumato.evaluation.metrics.expected_accuracy import ExpectedAccuracy
from sfumato.evaluation.metrics.failure_auroc import FailureAUROC
from sfumato.evaluation.metrics.js_distance import JSDistance
from sfumato.evaluation.metrics.jsd import JSD
from sfumato.evaluation.metrics.kl_divergence import KLDivergence
from sfumato.evaluation.metrics.overconfidence import Overconfidence
from sfumato.evaluation.metrics.rms_calibration import RMSCalibration
from sfumato.evaluation.metrics.second_best_accuracy import SecondBestAccuracy
from sfumato.evaluation.metrics.second_choice_log_odds import SecondChoiceLogOdds
from sfumato.evaluation.metrics.smooth_ece import SmoothECE
from sfumato.evaluation.metrics.total_variation import TotalVariation
from sfumato.evaluation.metrics.wasserstein import Wasserstein

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
