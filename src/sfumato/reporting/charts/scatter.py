"""Scatter plots, with colors for names or for amounts."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
from jaxtyping import Int

from sfumato.reporting.blocks import Data, DataSource, as_columns, n_rows
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts.encoding_field import Field, drawn_columns, finished, series_color, tooltips
from sfumato.reporting.charts.heat_map import steps_of


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
    columns = drawn_columns(data, x, y, of, series, panel, *tooltip)
    shown = tooltips((of, panel, series), (x, y, *tooltip))
    at = {"x": x.x(grid=True), "y": y.y(panel=panel), "color": series_color(columns, series)}
    opacity = 0.75 if n_rows(columns) < 200 else 0.45
    points = alt.Chart().mark_point(filled=True, size=42, opacity=opacity)
    layers: list[Any] = [points.encode(**at, tooltip=shown)]
    if regression:
        method: Any = "linear" if not (x.log or y.log) else "pow" if x.log and y.log else "log" if x.log else "exp"
        groups: list[Any] = [column for column in (series, panel) if column]
        line = alt.Chart().transform_regression(x.column, y.column, method=method, groupby=groups or alt.Undefined)
        layers.append(line.mark_line(strokeWidth=2, clip=True).encode(**at))
    return Chart(name, title, caption, finished(layers, columns, panel=panel), columns, source)


def sample_of(n: int, most: int) -> Int[np.ndarray, "rows"]:
    """The rows to draw: all, or `most` of them at random, always the same."""
    return np.arange(n) if n <= most else np.sort(np.random.default_rng(0).choice(n, most, replace=False))


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
    """One point per row, colored by `value` in steps; missing values are drawn first, high values last, on top.

    For a data map colored by people's uncertainty. Prefer `scatter` if colors represent names.
    """
    columns = drawn_columns(data, x, y, value, of, panel, *tooltip)
    values = columns[value.column]
    order = sorted(range(len(values)), key=lambda i: (values[i] is not None, values[i] or 0.0))
    columns = {name: tuple(column[i] for i in order) for name, column in columns.items()}
    color = steps_of(columns, value).color(value)
    shown = tooltips((of, panel), (x, y, value, *tooltip))
    points = alt.Chart().mark_point(filled=True, size=26, opacity=0.85, stroke="var(--strong-line)", strokeWidth=0.3)
    layers: list[Any] = [points.encode(x=x.x(grid=True), y=y.y(panel=panel), color=color, tooltip=shown)]
    return Chart(name, title, caption, finished(layers, columns, panel=panel, height=HEIGHT), columns, source)
