"""Charts that compare values: dots, bars, and panels of intervals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import altair as alt

from sfumato.reporting.blocks import Data, DataSource
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts.encoding_field import (
    ACCENT,
    HALO,
    NUMBER,
    TEXT,
    Field,
    distinct,
    drawn_columns,
    escaped,
    finished,
    has_interval,
    one_row,
    series_color,
    tooltips,
)

STEP = 46
"""The height of a row in points: its name, and the mark below it."""


def dots(
    name: str,
    *,
    title: str,
    caption: str,
    data: Data,
    of: str,
    value: Field,
    low: str | None = None,
    high: str | None = None,
    series: str | None = None,
    emphasized: str | None = None,
    tooltip: tuple[Field, ...] = (),
    source: DataSource | None = None,
) -> Chart:
    """One dot per row with its interval and its name above it, which leaves room for long names.

    `of` is the column of names; the `emphasized` name is highlighted. Prefer this to `bars` unless values are compared
    with zero.
    """
    columns = drawn_columns(data, of, value, low, high, series, *tooltip)
    y = alt.Y(field=escaped(of), type=TEXT, sort=distinct(columns, of), axis=None)
    shown = tooltips((of, series), (value, *value.ends(low, high), *tooltip))
    color = series_color(columns, series) if series else _emphasis(of, emphasized)
    layers: list[Any] = []
    if low and high and has_interval(columns, low, high):
        rules = alt.Chart().mark_rule(strokeWidth=2.5, strokeCap="round", opacity=0.55)
        x = value.on(low).x(grid=True, domain=False, ticks=False)
        layers.append(rules.encode(x=x, x2=alt.X2(field=escaped(high)), y=y, color=color))
    points = alt.Chart().mark_point(filled=True, size=110, opacity=1)
    layers.append(points.encode(x=value.x(grid=True, domain=False, ticks=False), y=y, color=color, tooltip=shown))
    layers += _row_names(of, y, dy=-9, fontSize=12.5, limit=alt.expr("width"))
    chart = finished(layers, columns, height=STEP * len(distinct(columns, of)))
    return Chart(name, title, caption, chart, columns, source)


def bars(
    name: str,
    *,
    title: str,
    caption: str,
    data: Data,
    of: str,
    value: Field,
    low: str | None = None,
    high: str | None = None,
    series: str | None = None,
    source: DataSource | None = None,
) -> Chart:
    """Bars from zero, grouped by `of` and colored by `series`, with intervals.

    For amounts and shares; prefer `dots` for everything else.
    """
    columns = drawn_columns(data, of, value, low, high, series)
    axis, scale = alt.Axis(labelAngle=0), alt.Scale(paddingInner=0.45, paddingOuter=0.25)
    x = alt.X(field=escaped(of), type=TEXT, sort=distinct(columns, of), title=None, axis=axis, scale=scale)
    offset = {}
    if series:
        offset["xOffset"] = alt.XOffset(field=escaped(series), type=TEXT, sort=distinct(columns, series))
    shown = tooltips((of, series), (value, *value.ends(low, high)))
    from_zero = replace(value, zero=True)
    marks = alt.Chart().mark_bar(cornerRadiusEnd=2)
    color = series_color(columns, series)
    layers: list[Any] = [marks.encode(x=x, y=from_zero.y(), color=color, tooltip=shown, **offset)]
    if low and high and has_interval(columns, low, high):
        rules = alt.Chart().mark_rule(strokeWidth=2, color="var(--ink)")
        layers.append(rules.encode(x=x, y=from_zero.on(low).y(), y2=alt.Y2(field=escaped(high)), **offset))
    return Chart(name, title, caption, finished(layers, columns), columns, source)


def _row_names(of: str, y: alt.Y, **style: Any) -> list[Any]:
    """The name of every row above it, with a halo in the color of the paper."""
    marks = [alt.Chart().mark_text(align="left", baseline="bottom", **each) for each in ({**style, **HALO}, style)]
    return [mark.encode(x=alt.value(0), y=y, text=alt.Text(field=escaped(of), type=TEXT)) for mark in marks]


def _emphasis(of: str, emphasized: str | None) -> Any:
    """The accent color for the emphasized row and gray for the others; the accent color for all if there is none."""
    if emphasized is None:
        return ACCENT
    return alt.condition(
        alt.FieldEqualPredicate(field=escaped(of), equal=emphasized), ACCENT, alt.value("var(--muted)")
    )


PANEL_STEP = 42
"""The height of a row in a panel, in points."""
NAME_LIMIT = 170


def intervals(
    name: str,
    *,
    title: str,
    caption: str,
    data: Data,
    of: str,
    value: Field,
    panel: str,
    low: str | None = None,
    high: str | None = None,
    zero_line: bool = False,
    tooltip: tuple[Field, ...] = (),
    source: DataSource | None = None,
) -> Chart:
    """One panel per metric, one row per name: a dot, and a line from `low` to `high`.

    Every panel has its own horizontal axis, because metrics have different units. `zero_line` adds a line at 0, for
    differences. Prefer `dots` for one metric and long names.
    """
    columns = drawn_columns(data, of, value, panel, low, high, *tooltip)
    color = series_color(columns, of, legend=False)
    y = alt.Y(field=escaped(of), type=TEXT, sort=distinct(columns, of), axis=None)
    axis = alt.Axis(format=value.format, grid=True, domain=False, ticks=False, title=None, tickCount=3)
    shown = tooltips((of, panel), (value, *value.ends(low, high), *tooltip))

    def x(column: str) -> alt.X:
        return alt.X(field=escaped(column), type=NUMBER, axis=axis, scale=alt.Scale(zero=value.zero, nice=True))

    layers: list[Any] = []
    if zero_line:
        zero = alt.Chart(one_row(zero=0)).mark_rule(color="var(--strong-line)", strokeDash=[4, 4])
        layers.append(zero.encode(x=x("zero")))
    if low and high and has_interval(columns, low, high):
        rules = alt.Chart().mark_rule(strokeWidth=2.5, opacity=0.7, strokeCap="round")
        layers.append(rules.encode(x=x(low), x2=alt.X2(field=escaped(high)), y=y, color=color))
    points = alt.Chart().mark_point(filled=True, size=80, opacity=1)
    layers.append(points.encode(x=x(value.column), y=y, color=color, tooltip=shown))
    layers += _row_names(of, y, dy=-7, fontSize=12, limit=NAME_LIMIT)
    chart = finished(layers, columns, panel=panel, height=PANEL_STEP * len(distinct(columns, of)) + 8)
    return Chart(name, title, caption, chart.resolve_scale(x="independent"), columns, source)
