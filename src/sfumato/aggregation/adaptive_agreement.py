"""Inter-annotator agreement of any study; of an adaptive one from the posteriors of its items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sfumato.aggregation.adaptive_study import adaptive_counts, is_adaptive
from sfumato.aggregation.posterior_figures import PosteriorFigures, posterior_figures
from sfumato.labeling.agreement import agreement, warn_of_order
from sfumato.labeling.agreement.agreement_table import AgreementTable
from sfumato.labeling.agreement.measure_protocol import AgreementMeasure
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.counts import Counts
from sfumato.tables.errors import listing, warn

RETEST = "retest"


def study_agreement(
    votes: Beliefs | Counts, *, measures: Sequence[AgreementMeasure] = (), level: float = 0.95
) -> AgreementTable:
    """`agreement`, with alpha and pairwise disagreement of an adaptive study from its items' posteriors.

    Its other measures between annotators are means over votes, and a warning names them. Another warning names measures
    that need an order of the classes, if these are not marked as ordered.
    """
    warn_of_order(measures, votes.classes)
    table = agreement(votes, measures=measures, level=level)
    if not is_adaptive(votes) or votes.hard is None or not len(table):
        return table
    found = posterior_figures(adaptive_counts(votes), level=level)
    figures = _by_measure(found)
    biased = [name for name in table.measure if name not in figures and not name.startswith(RETEST)]
    if biased:
        warn(f"in an adaptive study {listing(biased)} is biased: clear items have fewer answers; use alpha-nominal")
    for i, name in enumerate(table.measure):
        if name in figures:
            table = _with_row(table, i, figures[name], found.n_items)
    return table


def _by_measure(found: PosteriorFigures) -> dict[str, tuple[float, float, float, str]]:
    """Value, interval and its method, by the name of the measure."""
    alpha, dissent = found.alpha, found.dissent
    apart = (dissent.value, dissent.interval.low, dissent.interval.high, dissent.interval.kind)
    alike = (1 - apart[0], 1 - apart[2], 1 - apart[1], apart[3])
    return {
        "alpha-nominal": (alpha.value, alpha.interval.low, alpha.interval.high, alpha.interval.kind),
        "total-variation": apart,
        "percent-agreement": alike,
    }


def _with_row(table: AgreementTable, row: int, figure: tuple[float, float, float, str], n_items: int) -> AgreementTable:
    """The table with another value in one row, over items alone."""
    value, low, high, kind = figure
    numbers = {"value": value, "low": low, "high": high, "n_items": n_items}
    parts = ("share_items", "share_annotators", "share_answers")
    halves = ("half_same_annotators", "half_twice_items", "half_twice_annotators")
    numbers |= dict.fromkeys((*parts, *halves), np.nan)
    columns = {}
    for name, number in numbers.items():
        columns[name] = getattr(table, name).copy()
        columns[name][row] = number
    kinds = tuple(kind if i == row else each for i, each in enumerate(table.interval))
    return replace(table, **columns, interval=kinds)
