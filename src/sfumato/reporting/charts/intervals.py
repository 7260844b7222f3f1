"""Intervals side by side: the same few things by several numbers, each number with an axis of its own."""

from __future__ import annotations

from typing import Any

import altair as alt

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
from sfumato.reporting.data import Data, DataSource, as_columns

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
