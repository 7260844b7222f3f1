"""Scatter plots: one number against another, thing by thing.

Shaded points: one number against another, and a third as steps of colour.
"""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from sfumato.reporting.blocks import Columns, Data, DataSource, as_columns, n_rows
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts.field import NUMBER, Field, check_fields, escaped, finished, named, series_colour
from sfumato.reporting.charts.heat_map import steps


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


HEIGHT = 240


def shaded(
    name: str,
    *,
    title: str,
    caption: str,
    data: Data,
    x: Field,
    y: Field,
    value: Field,
    of: str | None = None,
    panel: str | None = None,
    told: tuple[Field, ...] = (),
    source: DataSource | None = None,
) -> Chart:
    """A point a row, in steps of colour from little to much of `value`; the much are drawn last, above the little.

    For a data map coloured by people's doubt (Swayamdipta et al. 2020 colour theirs by correctness). Prefer `scatter`
    where colours say names and not amounts.
    """
    columns = as_columns(data)
    check_fields(columns, x.column, y.column, value.column, of, panel, *(field.column for field in told))
    columns = _sorted(columns, value.column)
    found = steps(*(value.domain or _span(columns, value.column)))
    legend = alt.Legend(title=value.title, format=value.format, gradientLength=180, gradientThickness=10, tickCount=4)
    colour = alt.Color(field=escaped(value.column), type=NUMBER, scale=found.scale, legend=legend)
    names = [named(column) for column in (of, panel) if column]
    said = [*names, x.told(), y.told(), value.told(), *(field.told() for field in told)]
    points = alt.Chart().mark_point(filled=True, size=26, opacity=0.85, stroke="var(--strong-line)", strokeWidth=0.3)
    layers: list[Any] = [points.encode(x=x.x(grid=True), y=y.y(panel=panel), color=colour, tooltip=said)]
    return Chart(name, title, caption, finished(layers, columns, panel=panel, height=HEIGHT), columns, source)


def _sorted(columns: Columns, by: str) -> Columns:
    """The rows from little to much; those without the number first."""
    order = sorted(range(len(columns[by])), key=lambda i: (columns[by][i] is not None, columns[by][i] or 0.0))
    return {name: tuple(values[i] for i in order) for name, values in columns.items()}


def _span(columns: Columns, column: str) -> tuple[float, float]:
    numbers = [each for each in columns[column] if each is not None] or [0.0, 1.0]
    return min(numbers), max(numbers)
