"""SoftLabels predicted and people's -> Scores: how near, how sure, and does the model doubt what people doubt?

NumPy only. Evaluation compares tables of distributions, whoever made them. What is named here is scoring and comparing;
data maps, duplicates, geometry and paper tables stand in modules of their own.
"""

from __future__ import annotations

from sfumato.evaluation.comparison import compare_runs, scores_over_seeds
from sfumato.evaluation.cross_label import cross_label, kinds_of_labels, measure_against
from sfumato.evaluation.matched_labels import MatchedLabels, match_labels
from sfumato.evaluation.metric import Better, Estimate, Metric, mean_over_items
from sfumato.evaluation.metric_scores import metric_named, score
from sfumato.evaluation.metrics import METRICS
from sfumato.evaluation.mode_shift import mode_shift
from sfumato.evaluation.run_predictions import RunPredictions, read_runs
from sfumato.evaluation.run_scores import RunMeasurements, measure_runs
from sfumato.evaluation.strata import STRATA, GivenStrata, Stratification, Stratum, stratification_named

__all__ = [
    "METRICS",
    "STRATA",
    "Better",
    "Estimate",
    "GivenStrata",
    "MatchedLabels",
    "Metric",
    "RunMeasurements",
    "RunPredictions",
    "Stratification",
    "Stratum",
    "compare_runs",
    "cross_label",
    "kinds_of_labels",
    "match_labels",
    "mean_over_items",
    "measure_against",
    "measure_runs",
    "metric_named",
    "mode_shift",
    "read_runs",
    "score",
    "scores_over_seeds",
    "stratification_named",
]
