"""Scores of predictions against people's labels, and comparisons between training runs.

Needs only tables of distributions and NumPy. Data maps, duplicates, representations and publication tables are
imported from their own modules.
"""

from __future__ import annotations

from sfumato.evaluation.comparison import compare_runs, scores_over_seeds
from sfumato.evaluation.cross_label import cross_label, kinds_of_labels, measure_against
from sfumato.evaluation.gain_decomposition import mode_shift
from sfumato.evaluation.matched_labels import MatchedLabels, match_labels
from sfumato.evaluation.metric import Better, Estimate, Metric, mean_over_items
from sfumato.evaluation.metric_scores import metric_from_name, score
from sfumato.evaluation.metrics import METRICS
from sfumato.evaluation.run_metric_values import RunMeasurements
from sfumato.evaluation.run_predictions import RunPredictions, read_runs
from sfumato.evaluation.run_scores import measure_runs
from sfumato.evaluation.strata import STRATA, GivenStrata, Stratification, Stratum, stratification_from_name

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
    "metric_from_name",
    "mode_shift",
    "read_runs",
    "score",
    "scores_over_seeds",
    "stratification_from_name",
]
