"""Scatter plots, with colors for names or for amounts."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from sfumato.reporting.blocks import Columns, Data, DataSource, as_columns, n_rows
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts.field import NUMBER, Field, check_fields, escaped, finished, named, series_color
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
    tooltip: tuple[Field, ...] = (),
    source: DataSource | None = None,
) -> Chart:
    """One point per row; `of` is the column with its name for the tooltip.

    `regression` adds the least-squares line of each series, on logarithms if an axis is logarithmic.
    """
    columns = as_columns(data)
    check_fields(columns, x.column, y.column, of, series, panel, *(field.column for field in tooltip))
    color: Any = series_color(columns, series) if series else alt.value("var(--accent)")
    names = [named(column) for column in (of, panel, series) if column]
    tooltips = [*names, x.tooltip(), y.tooltip(), *(field.tooltip() for field in tooltip)]
    opacity = 0.75 if n_rows(columns) < 200 else 0.45
    points = alt.Chart().mark_point(filled=True, size=42, opacity=opacity)
    layers: list[Any] = [points.encode(x=x.x(grid=True), y=y.y(panel=panel), color=color, tooltip=tooltips)]
    if regression:
        method: Any = "linear" if not (x.log or y.log) else "pow" if x.log and y.log else "log" if x.log else "exp"
        groups: list[Any] = [column for column in (series, panel) if column]
        line = alt.Chart().transform_regression(x.column, y.column, method=method, groupby=groups or alt.Undefined)
        layers.append(
            line.mark_line(strokeWidth=2, clip=True).encode(x=x.x(grid=True), y=y.y(panel=panel), color=color)
        )
    return Chart(name, title, caption, finished(layers, columns, panel=panel), columns, source)


def correlation(columns: Data, x: str, y: str) -> float:
    """The Pearson correlation of two columns over rows that have both; NaN with fewer than three."""
    plain = as_columns(columns)
    pairs = [(a, b) for a, b in zip(plain[x], plain[y], strict=True) if a is not None and b is not None]
    if len(pairs) < 3:
        return float("nan")
    return float(np.asarray(np.corrcoef(np.array(pairs, np.float64).T))[0, 1])


HEIGHT = 240


def shaded_scatter(
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
    tooltip: tuple[Field, ...] = (),
    source: DataSource | None = None,
) -> Chart:
    """One point per row, colored by `value` in steps; high values are drawn last, on top.

    For a data map colored by people's uncertainty. Prefer `scatter` if colors represent names.
    """
    columns = as_columns(data)
    check_fields(columns, x.column, y.column, value.column, of, panel, *(field.column for field in tooltip))
    columns = _sorted(columns, value.column)
    found = steps(*(value.domain or _span(columns, value.column)))
    legend = alt.Legend(title=value.title, format=value.format, gradientLength=180, gradientThickness=10, tickCount=4)
    color = alt.Color(field=escaped(value.column), type=NUMBER, scale=found.scale, legend=legend)
    names = [named(column) for column in (of, panel) if column]
    tooltips = [*names, x.tooltip(), y.tooltip(), value.tooltip(), *(field.tooltip() for field in tooltip)]
    points = alt.Chart().mark_point(filled=True, size=26, opacity=0.85, stroke="var(--strong-line)", strokeWidth=0.3)
    layers: list[Any] = [points.encode(x=x.x(grid=True), y=y.y(panel=panel), color=color, tooltip=tooltips)]
    return Chart(name, title, caption, finished(layers, columns, panel=panel, height=HEIGHT), columns, source)


def _sorted(columns: Columns, by: str) -> Columns:
    """The rows by increasing value; rows without a value first."""
    order = sorted(range(len(columns[by])), key=lambda i: (columns[by][i] is not None, columns[by][i] or 0.0))
    return {name: tuple(values[i] for i in order) for name, values in columns.items()}


def _span(columns: Columns, column: str) -> tuple[float, float]:
    numbers = [each for each in columns[column] if each is not None] or [0.0, 1.0]
    return min(numbers), max(numbers)
