"""Parts of wholes: bars that are made of a few parts, one below the other."""

from __future__ import annotations

import altair as alt

from sfumato.reporting.chart import Chart
from sfumato.reporting.charts.field import TEXT, Field, check_fields, distinct, escaped, finished, named, series_colour
from sfumato.reporting.data import Data, DataSource, as_columns

STEP, LEAST = 26, 60
"""Points from one bar to the next, and beside them all for the axis."""
LABEL_WIDTH = 110


def parts(
    name: str,
    *,
    title: str,
    caption: str,
    data: Data,
    of: str,
    value: Field,
    part: str,
    told: tuple[Field, ...] = (),
    source: DataSource | None = None,
) -> Chart:
    """A bar a row of `of`, made of the `value` of each `part`, laid end to end in the order of the rows.

    For amounts that add up to something meaningful; prefer `bars` where parts are to be compared with each other.
    """
    columns = as_columns(data)
    check_fields(columns, of, value.column, part, *(field.column for field in told))
    axis = alt.Axis(labelLimit=LABEL_WIDTH, ticks=False, domain=False, title=None, labelOverlap=True)
    y = alt.Y(field=escaped(of), type=TEXT, sort=distinct(columns, of), axis=axis)
    x = Field(value.column, value.title, value.format, zero=True).x(grid=True, domain=False, ticks=False)
    drawn = alt.Chart().mark_bar(height={"band": 0.62}, stroke="var(--paper)", strokeWidth=1)
    said = [named(of), named(part), value.told(), *(field.told() for field in told)]
    colour = series_colour(columns, part)
    if len(distinct(columns, part)) > 1:
        # One below the other: beside long names there is no room for two.
        colour = colour.legend(alt.Legend(title=None, symbolType="circle", columns=1))
    layer = drawn.encode(x=x.stack("zero"), y=y, color=colour, tooltip=said)
    height = STEP * len(distinct(columns, of)) + LEAST // 3
    return Chart(name, title, caption, finished([layer], columns, height=height), columns, source)
