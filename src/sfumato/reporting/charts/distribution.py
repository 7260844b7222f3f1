"""Histograms and stacked bars."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from sfumato.reporting.blocks import Columns, Data, DataSource, as_columns
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts.encoding_field import (
    HEIGHT,
    TEXT,
    Field,
    distinct,
    drawn_columns,
    escaped,
    finished,
    series_color,
    tooltips,
)
from sfumato.tables.setting_checks import at_least

BINS = 30


def histogram(
    name: str,
    *,
    title: str,
    caption: str,
    data: Data,
    value: Field,
    series: str | None = None,
    bins: int = BINS,
    source: DataSource | None = None,
) -> Chart:
    """The density of a column in bins of equal width; several series are transparent.

    The data of the chart are the bins: `from`, `to`, `n` and `density`; the bars of each series have an area of 1.
    """
    columns = drawn_columns(data, value, series)
    binned = _binned(columns, value, series, at_least("bins", bins, 1))
    by = "series" if series else None
    shown = tooltips((by,), (*value.ends("from", "to"), Field("n", "number", ",d")))
    color = series_color(binned, by)
    x = Field("from", value.title, value.format, domain=value.domain).x()
    y = Field("density", "", ".3~g", zero=True).y(labels=False, grid=False)
    marks = alt.Chart().mark_bar(opacity=0.55 if series else 0.85, stroke="var(--paper)", strokeWidth=0.5)
    layers = [marks.encode(x=x, x2=alt.X2("to"), y=y.stack(None), y2=alt.Y2Datum(0), color=color, tooltip=shown)]
    return Chart(name, title, caption, finished(layers, binned, height=HEIGHT * 2 // 3), binned, source)


def _binned(columns: Columns, value: Field, series: str | None, bins: int) -> Columns:
    numbers = np.array([np.nan if each is None else each for each in columns[value.column]], np.float64)
    groups = np.array(columns[series] if series else [""] * len(numbers), object)
    inside = numbers[np.isfinite(numbers)]
    low, high = value.domain or ((inside.min(), inside.max()) if len(inside) else (0.0, 1.0))
    # Values that differ only by rounding are one value.
    edges = np.linspace(low, high if high - low > 1e-9 * max(abs(high), 1.0) else low + 1, bins + 1)
    kinds = list(dict.fromkeys(groups.tolist()))
    counts = [np.histogram(numbers[(groups == kind) & np.isfinite(numbers)], edges)[0] for kind in kinds]
    table: dict[str, Any] = {
        "series": [kind for kind in kinds for _ in range(bins)],
        "from": np.tile(edges[:-1], len(kinds)),
        "to": np.tile(edges[1:], len(kinds)),
        "n": np.concatenate(counts),
        "density": np.concatenate([each / max(each.sum(), 1) / np.diff(edges) for each in counts]),
    }
    return as_columns(table if series else {name: values for name, values in table.items() if name != "series"})


STEP, LEAST = 26, 60
"""The height of a bar in points, and of the axis."""
LABEL_WIDTH = 110


def stacked_bars(
    name: str,
    *,
    title: str,
    caption: str,
    data: Data,
    of: str,
    value: Field,
    part: str,
    tooltip: tuple[Field, ...] = (),
    source: DataSource | None = None,
) -> Chart:
    """One bar per value of `of`, stacked from the `value` of each `part`.

    For amounts whose sum has a meaning; prefer `bars` to compare the parts.
    """
    columns = drawn_columns(data, of, value, part, *tooltip)
    axis = alt.Axis(labelLimit=LABEL_WIDTH, ticks=False, domain=False, title=None, labelOverlap=True)
    y = alt.Y(field=escaped(of), type=TEXT, sort=distinct(columns, of), axis=axis)
    x = Field(value.column, value.title, value.format, zero=True).x(grid=True, domain=False, ticks=False)
    marks = alt.Chart().mark_bar(height={"band": 0.62}, stroke="var(--paper)", strokeWidth=1)
    color = series_color(columns, part)
    if len(distinct(columns, part)) > 1:
        # One column, because long names leave no room for two.
        color = color.legend(alt.Legend(title=None, symbolType="circle", columns=1))
    layer = marks.encode(x=x.stack("zero"), y=y, color=color, tooltip=tooltips((of, part), (value, *tooltip)))
    height = STEP * len(distinct(columns, of)) + LEAST // 3
    return Chart(name, title, caption, finished([layer], columns, height=height), columns, source)
