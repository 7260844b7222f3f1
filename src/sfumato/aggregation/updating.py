"""New answers for an aggregation that exists."""

from __future__ import annotations

import numpy as np

from sfumato.aggregation.aggregation import Aggregation, PreviousAggregation
from sfumato.aggregation.answer_matrix import AggregationInputs, AnswerMatrix, warn_of_repeats
from sfumato.tables.beliefs import Beliefs


def update(aggregation: Aggregation, more: Beliefs, beside: AggregationInputs | None = None) -> Aggregation:
    """The aggregation of what it held and `more` together, without beginning again.

    `mean`, `log-pool` and `majority` look only at the items with new answers, and are exactly what they would have
    been from the start; `reliability-pool`, `wawa`, `zero-based-skill` and `spectral` are exact too, but weigh
    everybody anew. Methods that climb go on from where they were, and arrive within their tolerance of the same place
    in fewer iterations; `bayes`, whose prior has many optima, perhaps at a neighbouring one. New items and annotators
    come after those known. `beside` holds weights, gold labels and how to take repeats for the new answers; the engine
    stays as it was. A calibration is not carried over: calibrate again.
    """
    old = aggregation.answers
    new = AnswerMatrix.of(more, beside or AggregationInputs(engine=old.engine, progress=old.progress))
    answers = old.joined(new)
    if answers.n_repeats > old.n_repeats + new.n_repeats:
        warn_of_repeats(answers.n_repeats - old.n_repeats - new.n_repeats)
    touched = np.diff(answers.starts) > 0
    touched[: old.n_items] = np.diff(answers.starts)[: old.n_items] > np.diff(old.starts)
    return aggregation.by.fit(answers, PreviousAggregation(aggregation.model, aggregation.labels.probs, touched))
