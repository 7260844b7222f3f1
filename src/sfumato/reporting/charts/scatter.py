"""Scatter plots: one number against another, thing by thing."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from sfumato.reporting.chart import Chart
from sfumato.reporting.charts.field import Field, check_fields, finished, named, series_colour
from sfumato.reporting.data import Data, DataSource, as_columns, n_rows


def scatter(
    name: str,
    *,
    title: str,
    caption: str,
    data: Data,
    x: Field,
    y: Field,
    of: str | None = None,
    series: str | None = None,
    panel: str | None = None,
    regression: bool = False,
    told: tuple[Field, ...] = (),
    source: DataSource | None = None,
) -> Chart:
    """A point a row; `of` is the column that names it under the pointer.

    With `regression`, the least-squares line of `y` on `x` of each series; on logarithms where an axis is logarithmic.
    """
    columns = as_columns(data)
    check_fields(columns, x.column, y.column, of, series, panel, *(field.column for field in told))
    colour: Any = series_colour(columns, series) if series else alt.value("var(--accent)")
    names = [named(column) for column in (of, panel, series) if column]
    said = [*names, x.told(), y.told(), *(field.told() for field in told)]
    opacity = 0.75 if n_rows(columns) < 200 else 0.45
    points = alt.Chart().mark_point(filled=True, size=42, opacity=opacity)
    layers: list[Any] = [points.encode(x=x.x(grid=True), y=y.y(panel=panel), color=colour, tooltip=said)]
    if regression:
        method: Any = "linear" if not (x.log or y.log) else "pow" if x.log and y.log else "log" if x.log else "exp"
        groups: list[Any] = [column for column in (series, panel) if column]
        line = alt.Chart().transform_regression(x.column, y.column, method=method, groupby=groups or alt.Undefined)
        layers.append(
            line.mark_line(strokeWidth=2, clip=True).encode(x=x.x(grid=True), y=y.y(panel=panel), color=colour)
        )
    return Chart(name, title, caption, finished(layers, columns, panel=panel), columns, source)


def correlation(columns: Data, x: str, y: str) -> float:
    """Pearson's correlation of two columns over the rows that have both; NaN with fewer than three."""
    plain = as_columns(columns)
    pairs = [(a, b) for a, b in zip(plain[x], plain[y], strict=True) if a is not None and b is not None]
    if len(pairs) < 3:
        return float("nan")
    return float(np.asarray(np.corrcoef(np.array(pairs, np.float64).T))[0, 1])
