"""Distributions: how often which values occur.

Parts of wholes: bars that are made of a few parts, one below the other.
"""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
from jaxtyping import Float

from sfumato.reporting.blocks import Columns, Data, DataSource, as_columns
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts.field import (
    HEIGHT,
    TEXT,
    Field,
    check_fields,
    distinct,
    escaped,
    finished,
    named,
    series_colour,
)
from sfumato.tables.settings import at_least

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
    """The density of a column, in bins of equal width; several series as outlines that can be seen through each other.

    The chart's data are the bins: `from`, `to`, `n` and `density`, whose bars have an area of 1 in each series.
    """
    columns = as_columns(data)
    check_fields(columns, value.column, series)
    binned = _binned(columns, value, series, at_least("bins", bins, 1))
    said = [
        *([named("series")] if series else []),
        Field("from", "from", value.format).told(),
        Field("to", "to", value.format).told(),
        Field("n", "how many", ",d").told(),
    ]
    colour: Any = series_colour(binned, "series") if series else alt.value("var(--accent)")
    x = Field("from", value.title, value.format, domain=value.domain).x()
    y = Field("density", "", ".3~g", zero=True).y(labels=False, grid=False)
    drawn = alt.Chart().mark_bar(opacity=0.55 if series else 0.85, stroke="var(--paper)", strokeWidth=0.5)
    layers = [drawn.encode(x=x, x2=alt.X2("to"), y=y.stack(None), y2=alt.Y2Datum(0), color=colour, tooltip=said)]
    return Chart(name, title, caption, finished(layers, binned, height=HEIGHT * 2 // 3), binned, source)


def _binned(columns: Columns, value: Field, series: str | None, bins: int) -> Columns:
    numbers = np.array([np.nan if each is None else each for each in columns[value.column]], np.float64)
    groups = np.array(columns[series] if series else [""] * len(numbers), object)
    inside = numbers[np.isfinite(numbers)]
    low, high = value.domain or ((inside.min(), inside.max()) if len(inside) else (0.0, 1.0))
    edges = np.linspace(low, high if high > low else low + 1, bins + 1)
    parts = [(group, _counted(numbers[groups == group], edges)) for group in dict.fromkeys(groups.tolist())]
    table: dict[str, Any] = {
        "series": [group for group, _ in parts for _ in range(bins)],
        "from": np.tile(edges[:-1], len(parts)),
        "to": np.tile(edges[1:], len(parts)),
        "n": np.concatenate([counts for _, counts in parts]).astype(int),
        "density": np.concatenate([counts / max(counts.sum(), 1) / np.diff(edges) for _, counts in parts]),
    }
    return as_columns(table if series else {name: values for name, values in table.items() if name != "series"})


def _counted(numbers: Float[np.ndarray, "numbers"], edges: Float[np.ndarray, "edges"]) -> Float[np.ndarray, "bins"]:
    return np.histogram(numbers[np.isfinite(numbers)], edges)[0].astype(np.float64)


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
