"""Comparisons: a few things side by side, each with its interval.

Intervals side by side: the same few things by several numbers, each number with an axis of its own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import altair as alt

from sfumato.reporting.blocks import Data, DataSource, as_columns
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts.field import (
    NUMBER,
    TEXT,
    Field,
    check_fields,
    distinct,
    escaped,
    finished,
    has_interval,
    named,
    one_row,
    series_colour,
)

STEP = 46
"""Points from one row to the next: a line of words, and the mark below it."""


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
    emphasised: str | None = None,
    told: tuple[Field, ...] = (),
    source: DataSource | None = None,
) -> Chart:
    """A dot a row with its interval, the name written above it, so that long names cost no width.

    `of` is the column of names, in the order of the rows; the one that is `emphasised` stands out. Prefer this
    to `bars` wherever zero is not the thing to compare with.
    """
    columns = as_columns(data)
    check_fields(columns, of, value.column, low, high, series, *(field.column for field in told))
    y = alt.Y(field=escaped(of), type=TEXT, sort=distinct(columns, of), axis=None)
    spread = [value.on(column, words) for column, words in ((low, "from"), (high, "to")) if column]
    said = [named(of), *([named(series)] if series else []), value.told(), *(f.told() for f in (*spread, *told))]
    colour: Any = series_colour(columns, series) if series else _standing_out(of, emphasised)
    layers: list[Any] = []
    if low and high and has_interval(columns, low, high):
        rules = alt.Chart().mark_rule(strokeWidth=2.5, strokeCap="round", opacity=0.55)
        x = value.on(low).x(grid=True, domain=False, ticks=False)
        layers.append(rules.encode(x=x, x2=alt.X2(field=escaped(high)), y=y, color=colour))
    points = alt.Chart().mark_point(filled=True, size=110, opacity=1)
    layers.append(points.encode(x=value.x(grid=True, domain=False, ticks=False), y=y, color=colour, tooltip=said))
    layers += [_written(of, y, stroke="var(--paper)", strokeWidth=4, strokeJoin="round"), _written(of, y)]
    return Chart(
        name, title, caption, finished(layers, columns, height=STEP * len(distinct(columns, of))), columns, source
    )


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
    """Bars from zero, grouped by `of` and coloured by `series`, with their intervals.

    For amounts and shares, of which zero is the beginning; prefer `dots` for all else.
    """
    columns = as_columns(data)
    check_fields(columns, of, value.column, low, high, series)
    apart = alt.Scale(paddingInner=0.45, paddingOuter=0.25)
    x = alt.X(
        field=escaped(of), type=TEXT, sort=distinct(columns, of), title=None, axis=alt.Axis(labelAngle=0), scale=apart
    )
    beside = (
        {"xOffset": alt.XOffset(field=escaped(series), type=TEXT, sort=distinct(columns, series))} if series else {}
    )
    colour: Any = series_colour(columns, series) if series else alt.value("var(--accent)")
    spread = [value.on(column, words) for column, words in ((low, "from"), (high, "to")) if column]
    said = [named(of), *([named(series)] if series else []), value.told(), *(field.told() for field in spread)]
    from_zero = replace(value, zero=True)
    drawn = alt.Chart().mark_bar(cornerRadiusEnd=2).encode(x=x, y=from_zero.y(), color=colour, tooltip=said, **beside)
    layers: list[Any] = [drawn]
    if low and high and has_interval(columns, low, high):
        rules = alt.Chart().mark_rule(strokeWidth=2, color="var(--ink)")
        layers.append(rules.encode(x=x, y=from_zero.on(low).y(), y2=alt.Y2(field=escaped(high)), **beside))
    return Chart(name, title, caption, finished(layers, columns), columns, source)


def _written(of: str, y: alt.Y, **halo: Any) -> Any:
    """Every row's name above it, cut where the chart ends."""
    words = alt.Chart().mark_text(
        align="left", baseline="bottom", dy=-9, fontSize=12.5, limit=alt.expr("width"), **halo
    )
    return words.encode(x=alt.value(0), y=y, text=alt.Text(field=escaped(of), type=TEXT))


def _standing_out(of: str, emphasised: str | None) -> Any:
    """The accent for the row that is emphasised and grey for the others; the accent for all, where none is."""
    if emphasised is None:
        return alt.value("var(--accent)")
    is_it = alt.FieldEqualPredicate(field=escaped(of), equal=emphasised)
    return alt.condition(is_it, alt.value("var(--accent)"), alt.value("var(--muted)"))


ROW_STEP = 42
"""Points from one row to the next: a line of words, and the mark below it."""
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
    inner_low: str | None = None,
    inner_high: str | None = None,
    zero_line: bool = False,
    told: tuple[Field, ...] = (),
    source: DataSource | None = None,
) -> Chart:
    """A panel a number and a row a thing, coloured by its name: a dot, a thin line from `low` to `high`, a thick one
    from `inner_low` to `inner_high`.

    Panels have horizontal axes of their own, for their numbers have different units. With `zero_line`, a line at 0:
    for differences. Prefer `dots` for one number of things whose names are long.
    """
    columns = as_columns(data)
    ends = (low, high, inner_low, inner_high)
    check_fields(columns, of, value.column, panel, *ends, *(field.column for field in told))
    colour = series_colour(columns, of, legend=False)
    y = alt.Y(field=escaped(of), type=TEXT, sort=distinct(columns, of), axis=None)
    axis = alt.Axis(format=value.format, grid=True, domain=False, ticks=False, title=None, tickCount=3)
    spread = [value.on(column, words) for column, words in ((low, "from"), (high, "to")) if column]
    said = [named(of), named(panel), value.told(), *(field.told() for field in (*spread, *told))]

    def x(column: str) -> alt.X:
        return alt.X(field=escaped(column), type=NUMBER, axis=axis, scale=alt.Scale(zero=value.zero, nice=True))

    layers: list[Any] = []
    if zero_line:
        nothing = alt.Chart(one_row(nothing=0)).mark_rule(color="var(--strong-line)", strokeDash=[4, 4])
        layers.append(nothing.encode(x=x("nothing")))
    for start, end, width, opacity in ((low, high, 1.5, 0.9), (inner_low, inner_high, 5.0, 0.45)):
        if start and end and has_interval(columns, start, end):
            rules = alt.Chart().mark_rule(strokeWidth=width, opacity=opacity, strokeCap="round")
            layers.append(rules.encode(x=x(start), x2=alt.X2(field=escaped(end)), y=y, color=colour))
    points = alt.Chart().mark_point(filled=True, size=80, opacity=1)
    layers.append(points.encode(x=x(value.column), y=y, color=colour, tooltip=said))
    halo = {"stroke": "var(--paper)", "strokeWidth": 4, "strokeJoin": "round"}
    layers += [_interval_text(of, y, **halo), _interval_text(of, y)]
    chart = finished(layers, columns, panel=panel, height=ROW_STEP * len(distinct(columns, of)) + 8)
    return Chart(name, title, caption, chart.resolve_scale(x="independent"), columns, source)


def _interval_text(of: str, y: alt.Y, **halo: Any) -> Any:
    words = alt.Chart().mark_text(align="left", baseline="bottom", dy=-7, fontSize=12, limit=NAME_LIMIT, **halo)
    return words.encode(x=alt.value(0), y=y, text=alt.Text(field=escaped(of), type=TEXT))
