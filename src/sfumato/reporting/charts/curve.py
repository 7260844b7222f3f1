"""Curves with bands, and reliability diagrams."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import altair as alt

from sfumato.reporting.blocks import Columns, Data, DataSource, n_rows
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts.encoding_field import (
    HALO,
    HEIGHT,
    Field,
    drawn_columns,
    escaped,
    finished,
    has_interval,
    one_row,
    series_color,
    tooltips,
)

NEAR_END = 0.8
FEW = 60
"""The most rows whose points are visible; with more, only the line is drawn."""


@dataclass(frozen=True)
class Marked:
    """A highlighted point and its text."""

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
    tooltip: tuple[Field, ...] = (),
    source: DataSource | None = None,
) -> Chart:
    """Lines of `y` over `x`, one per series, with a band from `low` to `high` if both are given.

    Prefer `dots` to compare values without an order.
    """
    columns = drawn_columns(data, x, y, low, high, series, panel, *tooltip)
    color = series_color(columns, series)
    shown = tooltips((panel, series), (x, y, *y.ends(low, high), *tooltip))
    layers: list[Any] = []
    if low and high and has_interval(columns, low, high):
        band = alt.Chart().mark_area(opacity=0.18, clip=True)
        layers.append(band.encode(x=x.x(), y=y.on(low).y(panel=panel), y2=alt.Y2(field=escaped(high)), color=color))
    layers.append(alt.Chart().mark_line(strokeWidth=2, clip=True).encode(x=x.x(), y=y.y(panel=panel), color=color))
    opacity = 1.0 if n_rows(columns) <= FEW else 0.0
    points = alt.Chart().mark_point(filled=True, size=45, opacity=opacity)
    layers.append(points.encode(x=x.x(), y=y.y(panel=panel), color=color, tooltip=shown))
    if marked:
        layers += _mark(marked, x, y, at_end=_position(columns, x, marked.x) > NEAR_END)
    chart = finished(layers, columns, panel=panel, height=HEIGHT if panel is None else 180, own_y=own_y)
    return Chart(name, title, caption, chart, columns, source)


def _position(columns: Columns, x: Field, value: float) -> float:
    """The position of a value on its axis, from 0 to 1."""
    numbers = [each for each in columns[x.column] if each is not None]
    low, high, at = (math.log(each) if x.log else each for each in (min(numbers), max(numbers), value))
    return (at - low) / (high - low) if high > low else 0.5


def _mark(marked: Marked, x: Field, y: Field, *, at_end: bool) -> list[Any]:
    """A ring around the point, and its text to the right, or to the left at the end of the axis."""
    place = one_row(**{x.column: marked.x, y.column: marked.y, "words": marked.words})
    at = alt.Chart(place).encode(x=x.x(), y=y.y())
    ring = at.mark_point(size=190, strokeWidth=2.5, color="var(--mark)", filled=False, opacity=1)
    side: dict[str, Any] = {"align": "right", "dx": -11} if at_end else {"align": "left", "dx": 11}
    style = {"baseline": "bottom", "dy": -9, "fontSize": 12.5, "fontWeight": 600, **side}
    halo, words = at.mark_text(**style, **HALO), at.mark_text(**style)
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
    """One row per bin: mean confidence, accuracy with its interval, and the number of items, which sets the point size.

    On the diagonal a model is calibrated; below it, overconfident (DeGroot and Fienberg 1983).
    """
    columns = drawn_columns(data, confidence, accuracy, low, high, n, series)
    x = Field(confidence, "mean confidence", ".0%", domain=(0.0, 1.0))
    y = Field(accuracy, "accuracy", ".0%", domain=(0.0, 1.0))
    color = series_color(columns, series)
    exact = Field(accuracy, "accuracy", ".3f")
    counts = [Field(n, "items", ",d")] if n else []
    shown = tooltips((series,), (exact.on(confidence, "confidence"), exact, *exact.ends(low, high), *counts))
    ends = alt.InlineData(values=[{confidence: 0, accuracy: 0}, {confidence: 1, accuracy: 1}])
    perfect = alt.Chart(ends).mark_line(strokeDash=[4, 4], color="var(--strong-line)", strokeWidth=1.5)
    layers: list[Any] = [perfect.encode(x=x.x(grid=True), y=y.y())]
    if low and high and has_interval(columns, low, high):
        rules = alt.Chart().mark_rule(strokeWidth=2, opacity=0.5)
        layers.append(rules.encode(x=x.x(grid=True), y=y.on(low).y(), y2=alt.Y2(field=escaped(high)), color=color))
    layers.append(alt.Chart().mark_line(strokeWidth=1.5, opacity=0.6).encode(x=x.x(grid=True), y=y.y(), color=color))
    size: Any = alt.Size(n, type="quantitative", scale=alt.Scale(range=[25, 260]), legend=None) if n else alt.value(70)
    points = alt.Chart().mark_point(filled=True, opacity=1)
    layers.append(points.encode(x=x.x(grid=True), y=y.y(), color=color, size=size, tooltip=shown))
    return Chart(name, title, caption, finished(layers, columns, height=SIDE, widest=SIDE + ROOM), columns, source)
