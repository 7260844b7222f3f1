"""Bars of the control and of human labels, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sfumato.reporting.chart import Chart
from sfumato.reporting.charts import Field, bars
from sfumato_papers.estimate import Estimate


def pairs_of_bars(
    name: str,
    *,
    title: str,
    caption: str,
    shown: Sequence[tuple[str, str, Mapping[int, float]]],
    value: Field,
) -> Chart:
    """A bar for each of `shown`: the group it stands in, the labels that were learnt, and the figure of every seed.

    Lines are the 95% interval for another training. `value` names the column `value`.
    """
    over = [Estimate.over_seeds(list(values.values())) for _, _, values in shown]
    return bars(
        name,
        title=title,
        caption=f"{caption} Lines: 95% for another training.",
        data={
            "of": [group for group, _, _ in shown],
            "labels": [labels for _, labels, _ in shown],
            "value": [each.value for each in over],
            "low": [each.low for each in over],
            "high": [each.high for each in over],
        },
        of="of",
        value=value,
        low="low",
        high="high",
        series="labels",
    )
