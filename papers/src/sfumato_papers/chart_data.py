"""Columns of charts, made of rows; called by the parts of every paper."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sfumato.reporting.chart import Chart
from sfumato.reporting.charts import Field
from sfumato_papers.finding import Estimate


def chart_columns(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> dict[str, list[Any]]:
    """The values of `rows` by column. An estimate fills three columns: its own, `low` and `high`."""
    columns: dict[str, list[Any]] = {}
    for row in rows:
        for name, value in zip(names, row, strict=True):
            if isinstance(value, Estimate):
                columns.setdefault(name, []).append(value.value)
                columns.setdefault("low", []).append(value.low)
                columns.setdefault("high", []).append(value.high)
            else:
                columns.setdefault(name, []).append(value)
    return columns


def interval_chart(
    draw: Callable[..., Chart],
    name: str,
    title: str,
    caption: str,
    rows: Iterable[tuple[str, str, Estimate]],
    columns: tuple[str, str],
    value: Field,
) -> Chart:
    """`bars` or `dots` with intervals: each row has a name, a series and an estimate; `columns` names the first two."""
    of, series = columns
    data = chart_columns((of, series, value.column), rows)
    return draw(
        name, title=title, caption=caption, data=data, of=of, value=value, low="low", high="high", series=series
    )
