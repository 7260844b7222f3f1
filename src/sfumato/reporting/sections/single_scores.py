"""Scores of one table of predictions, where there are no runs: what `sfumato evaluate --predicted` wrote."""

from __future__ import annotations

from sfumato.reporting.blocks import Prose
from sfumato.reporting.listing import Column, ReportTable
from sfumato.reporting.page import Section
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.reporting.wording import between, worded
from sfumato.tables.scores import ALL, Scores

SINGLE_TITLE = "How near predictions come to people"


def single_scores(evidence: ReportInputs) -> Section | None:
    """A table for every table of scores that is about one set of predictions; None where there is none."""
    tables = {name: each for name, each in evidence.scores.items() if isinstance(each, Scores) and len(each)}
    if not tables:
        return None
    said = (
        "Scores of predictions against how people judge. Intervals are about other items, not about another training; "
        "the floor is the best that any predictions could score on these items.",
    )
    return Section(SINGLE_TITLE, (Prose(said), *(_listed(evidence, name, table) for name, table in tables.items())))


def _listed(evidence: ReportInputs, name: str, scores: Scores) -> ReportTable:
    rows = [row for row in scores.rows() if row.value == row.value]
    return ReportTable(
        f"scores-of-{''.join(c if c.isalnum() else '-' for c in name)}",
        evidence.title_of(name),
        "One row a metric and condition.",
        (
            Column("metric", tuple(worded(row.metric) for row in rows)),
            Column("items", tuple("all" if row.condition == ALL else row.condition for row in rows)),
            Column("value", tuple(row.value for row in rows), 3),
            Column("interval", tuple(between(row.low, row.high) for row in rows)),
            Column("floor", tuple(None if row.floor != row.floor else row.floor for row in rows), 3),
            Column("how many", tuple(row.n_items for row in rows), 0),
        ),
        evidence.source("scores" if name == "scores" else f"scores/{name}"),
    )
