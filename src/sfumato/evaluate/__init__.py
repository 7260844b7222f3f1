"""SoftLabels predicted and people's -> Scores: how near, how sure, and does the model doubt what people doubt?

NumPy only. Evaluation compares tables of distributions, whoever made them. What is named here is scoring and comparing;
data maps, duplicates, geometry and paper tables stand in modules of their own.
"""

from __future__ import annotations

from sfumato.evaluate.compared import Compared, compare
from sfumato.evaluate.comparing import compare_runs, scores_over_seeds
from sfumato.evaluate.cross_label import cross_label, kinds_of_labels, measure_against
from sfumato.evaluate.measuring import Measured, measure_runs
from sfumato.evaluate.metric import Better, Estimate, Metric, mean_over_items
from sfumato.evaluate.metrics import METRICS
from sfumato.evaluate.mode_shift import mode_shift
from sfumato.evaluate.run_folders import Trained, read_runs
from sfumato.evaluate.scoring import metric_named, score
from sfumato.evaluate.strata import STRATA, Given, Stratification, Stratum, stratification_named

__all__ = [
    "METRICS",
    "STRATA",
    "Better",
    "Compared",
    "Estimate",
    "Given",
    "Measured",
    "Metric",
    "Stratification",
    "Stratum",
    "Trained",
    "compare",
    "compare_runs",
    "cross_label",
    "kinds_of_labels",
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
