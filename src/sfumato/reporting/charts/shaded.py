"""Shaded points: one number against another, and a third as steps of colour."""

from __future__ import annotations

from typing import Any

import altair as alt

from sfumato.reporting.chart import Chart
from sfumato.reporting.charts.field import NUMBER, Field, check_fields, escaped, finished, named
from sfumato.reporting.charts.heat_map import steps
from sfumato.reporting.data import Columns, Data, DataSource, as_columns

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
