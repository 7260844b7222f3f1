"""SoftLabels predicted and people's -> Scores: how near, how sure, and does the model doubt what people doubt?

NumPy only. Evaluation compares tables of distributions, whoever made them.
"""

from __future__ import annotations

from sfumato.evaluate.compared import Compared, compare
from sfumato.evaluate.metric import Better, Estimate, Metric
from sfumato.evaluate.metrics import METRICS
from sfumato.evaluate.scoring import metric_named, score, scores_of

__all__ = ["METRICS", "Better", "Compared", "Estimate", "Metric", "compare", "metric_named", "score", "scores_of"]
