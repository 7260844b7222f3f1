"""Curves: how one number follows from another, with the band it lies in.

Reliability diagrams: how often a model is right when it is so and so sure.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import altair as alt

from sfumato.reporting.blocks import Columns, Data, DataSource, as_columns, n_rows
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts.field import (
    HEIGHT,
    Field,
    check_fields,
    escaped,
    finished,
    has_interval,
    named,
    one_row,
    series_colour,
)

NEAR_END = 0.8
FEW = 60
"""Up to so many points are drawn as such; of more there is only the line, and what is said under the pointer."""


@dataclass(frozen=True)
class Marked:
    """A point of a chart that is pointed out, and what is written beside it."""

    x: float
    y: float
    words: str


def curve(
    name: str,
    *,
    title: str,
    caption: str,
    data: Data,
    x: Field,
    y: Field,
    low: str | None = None,
    high: str | None = None,
    series: str | None = None,
    panel: str | None = None,
    own_y: bool = False,
    marked: Marked | None = None,
    told: tuple[Field, ...] = (),
    source: DataSource | None = None,
) -> Chart:
    """Lines of `y` over `x`, one a series, with a band from `low` to `high` where both are given.

    For a number that varies smoothly; prefer `dots` to compare a few things that have no order.
    """
    columns = as_columns(data)
    check_fields(columns, x.column, y.column, low, high, series, panel, *(field.column for field in told))
    colour: Any = series_colour(columns, series) if series else alt.value("var(--accent)")
    spread = [y.on(column, words) for column, words in ((low, "from"), (high, "to")) if column]
    names = [named(column) for column in (panel, series) if column]
    said = [*names, x.told(), y.told(), *(field.told() for field in (*spread, *told))]
    layers: list[Any] = []
    if low and high and has_interval(columns, low, high):
        band = alt.Chart().mark_area(opacity=0.18, clip=True)
        layers.append(band.encode(x=x.x(), y=y.on(low).y(panel=panel), y2=alt.Y2(field=escaped(high)), color=colour))
    layers.append(alt.Chart().mark_line(strokeWidth=2, clip=True).encode(x=x.x(), y=y.y(panel=panel), color=colour))
    seen = 1.0 if n_rows(columns) <= FEW else 0.0
    points = alt.Chart().mark_point(filled=True, size=45, opacity=seen)
    layers.append(points.encode(x=x.x(), y=y.y(panel=panel), color=colour, tooltip=said))
    if marked:
        layers += _mark(marked, x, y, at_end=_place(columns, x, marked.x) > NEAR_END)
    chart = finished(layers, columns, panel=panel, height=HEIGHT if panel is None else 180, own_y=own_y)
    return Chart(name, title, caption, chart, columns, source)


def _place(columns: Columns, x: Field, value: float) -> float:
    """How far along its axis a value stands, from 0 to 1."""
    numbers = [each for each in columns[x.column] if each is not None]
    low, high, at = (math.log(each) if x.log else each for each in (min(numbers), max(numbers), value))
    return (at - low) / (high - low) if high > low else 0.5


def _mark(marked: Marked, x: Field, y: Field, *, at_end: bool) -> list[Any]:
    """A ring about the point, and its words above it: after it, or before it at the end of the axis."""
    place = one_row(**{x.column: marked.x, y.column: marked.y, "words": marked.words})
    at = alt.Chart(place).encode(x=x.x(), y=y.y())
    ring = at.mark_point(size=190, strokeWidth=2.5, color="var(--mark)", filled=False, opacity=1)
    side: dict[str, Any] = {"align": "right", "dx": -11} if at_end else {"align": "left", "dx": 11}
    words = at.mark_text(baseline="bottom", dy=-9, fontSize=12.5, fontWeight=600, **side)
    halo = words.copy(deep=True)
    halo.mark.stroke, halo.mark.strokeWidth, halo.mark.strokeJoin = "var(--paper)", 4, "round"
    return [ring, halo.encode(text="words:N"), words.encode(text="words:N", color=alt.value("var(--mark)"))]


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
