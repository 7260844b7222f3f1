"""Reliability diagrams: how often a model is right when it is so and so sure."""

from __future__ import annotations

from typing import Any

import altair as alt

from sfumato.reporting.chart import Chart
from sfumato.reporting.charts.field import Field, check_fields, escaped, finished, has_interval, named, series_colour
from sfumato.reporting.data import Data, DataSource, as_columns

SIDE = 340
ROOM = 60


def reliability(
    name: str,
    *,
    title: str,
    caption: str,
    data: Data,
    confidence: str = "confidence",
    accuracy: str = "accuracy",
    low: str | None = None,
    high: str | None = None,
    n: str | None = None,
    series: str | None = None,
    source: DataSource | None = None,
) -> Chart:
    """One row a bin: mean confidence, accuracy, its interval, and how many items are in it, which sizes the point.

    On the diagonal, confidence is as it should be; below it a model is too sure of itself (DeGroot and Fienberg 1983).
    """
    columns = as_columns(data)
    check_fields(columns, confidence, accuracy, low, high, n, series)
    whole = (0.0, 1.0)
    x = Field(confidence, "mean confidence", ".0%", domain=whole)
    y = Field(accuracy, "share that is right", ".0%", domain=whole)
    colour: Any = series_colour(columns, series) if series else alt.value("var(--accent)")
    told = [*([named(series)] if series else []), Field(confidence, "confidence", ".3f").told()]
    told.append(Field(accuracy, "accuracy", ".3f").told())
    told += [Field(c, words, ".3f").told() for c, words in ((low, "from"), (high, "to")) if c]
    told += [Field(n, "items", ",d").told()] if n else []
    ends = alt.InlineData(values=[{confidence: 0, accuracy: 0}, {confidence: 1, accuracy: 1}])
    perfect = alt.Chart(ends).mark_line(strokeDash=[4, 4], color="var(--strong-line)", strokeWidth=1.5)
    layers: list[Any] = [perfect.encode(x=x.x(grid=True), y=y.y())]
    if low and high and has_interval(columns, low, high):
        rules = alt.Chart().mark_rule(strokeWidth=2, opacity=0.5)
        layers.append(rules.encode(x=x.x(grid=True), y=y.on(low).y(), y2=alt.Y2(field=escaped(high)), color=colour))
    layers.append(alt.Chart().mark_line(strokeWidth=1.5, opacity=0.6).encode(x=x.x(grid=True), y=y.y(), color=colour))
    size: Any = alt.Size(n, type="quantitative", scale=alt.Scale(range=[25, 260]), legend=None) if n else alt.value(70)
    points = alt.Chart().mark_point(filled=True, opacity=1)
    layers.append(points.encode(x=x.x(grid=True), y=y.y(), color=colour, size=size, tooltip=told))
    return Chart(name, title, caption, finished(layers, columns, height=SIDE, widest=SIDE + ROOM), columns, source)
