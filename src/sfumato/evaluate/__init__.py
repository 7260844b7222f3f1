"""SoftLabels predicted and people's -> Scores: how near, how sure, and does the model doubt what people doubt?

NumPy only. Evaluation compares tables of distributions, whoever made them.
"""

from __future__ import annotations

from sfumato.evaluate.compared import Compared, compare
from sfumato.evaluate.comparing import Difference, Differences, compare_runs, scores_over_seeds
from sfumato.evaluate.cross_label import CrossLabel, cross_label, kinds_of_labels, measure_against
from sfumato.evaluate.measuring import Measured, measure_runs
from sfumato.evaluate.metric import Better, Estimate, Metric
from sfumato.evaluate.metrics import METRICS
from sfumato.evaluate.mode_shift import ModeShift, mode_shift
from sfumato.evaluate.run_folders import Trained, read_runs
from sfumato.evaluate.scoring import metric_named, score, scores_of
from sfumato.evaluate.strata import STRATA, Given, Stratification, Stratum, stratification_named

__all__ = [
    "METRICS",
    "STRATA",
    "Better",
    "Compared",
    "CrossLabel",
    "Difference",
    "Differences",
    "Estimate",
    "Given",
    "Measured",
    "Metric",
    "ModeShift",
    "Stratification",
    "Stratum",
    "Trained",
    "compare",
    "compare_runs",
    "cross_label",
    "kinds_of_labels",
    "measure_against",
    "measure_runs",
    "metric_named",
    "mode_shift",
    "read_runs",
    "score",
    "scores_of",
    "scores_over_seeds",
    "stratification_named",
]
