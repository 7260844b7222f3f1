"""Heat maps and confusion matrices, in at most ten steps of color."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
from jaxtyping import Float, Int

from sfumato.reporting.blocks import Columns, Data, DataSource, as_columns
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts.encoding_field import (
    NUMBER,
    Field,
    distinct,
    drawn_columns,
    escaped,
    finished,
    named,
    one_row,
    titled,
    tooltips,
)
from sfumato.reporting.colors import DARK_STEPS, poles, ramp

MAX_STEPS, MAX_SIDE = 10, 4
SAME = 1e-9
"""Values with a smaller relative difference are equal."""
CELL, CELL_WIDTH = 34, 56
TALLEST, ROOM = 480, 90
"""The largest height of a map, and the width of its labels."""


def heat_map(
    name: str,
    *,
    title: str,
    caption: str,
    data: Data,
    x: Field,
    y: Field,
    value: Field,
    panel: str | None = None,
    about: float | None = None,
    marked: tuple[Any, Any] | None = None,
    written: bool = False,
    tooltip: tuple[Field, ...] = (),
    source: DataSource | None = None,
) -> Chart:
    """One cell per `x` and `y`, darker for a larger `value`, in steps of color that can be read from the legend.

    With `about` (usually 0), colors diverge from that number. `marked` is the `x` and `y` of a highlighted cell.
    `written` writes the numbers into the cells.
    """
    columns = drawn_columns(data, x, y, value, panel, *tooltip)
    found = steps_of(columns, value, about)
    places = {"x": _ordered(columns, x, alt.X), "y": _ordered(columns, y, alt.Y, descending=True, **titled(panel))}
    shown = [*tooltips((panel,), ()), _tooltip(columns, x), _tooltip(columns, y), *tooltips((), (value, *tooltip))]
    cells = alt.Chart().mark_rect(stroke="var(--paper)", strokeWidth=1)
    layers: list[Any] = [cells.encode(**places, color=found.color(value), tooltip=shown)]
    if written:
        text = alt.Text(field=escaped(value.column), type=NUMBER, format=value.format)
        layers.append(alt.Chart().mark_text(fontSize=11).encode(**places, text=text, color=found.ink(value.column)))
    if marked:
        here = alt.Chart(one_row(**{x.column: marked[0], y.column: marked[1]}))
        ring = here.mark_rect(filled=False, stroke="var(--mark)", strokeWidth=3, fillOpacity=0)
        layers.append(ring.encode(**places))
    height = min(CELL * len(distinct(columns, y.column)), TALLEST)
    widest = CELL_WIDTH * len(distinct(columns, x.column)) + ROOM
    chart = finished(layers, columns, panel=panel, height=height, widest=widest, square=True)
    return Chart(name, title, caption, chart, columns, source)


def confusion(
    name: str,
    *,
    title: str,
    caption: str,
    classes: Sequence[str],
    matrix: Float[np.ndarray, "true named"] | Int[np.ndarray, "true named"],
    source: DataSource | None = None,
) -> Chart:
    """A confusion matrix: rows are true classes, columns the classes named, values the shares of each row."""
    matrix = np.asarray(matrix)
    columns = as_columns({
        "true": np.repeat(np.asarray(classes, object), len(classes)),
        "named": np.tile(np.asarray(classes, object), len(classes)),
        "share": (matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1e-12)).ravel(),
    })  # fmt: skip
    found = steps(0, 1)
    legend = alt.Legend(title="share of the row", format=".0%", gradientLength=180, gradientThickness=10)
    above = alt.Axis(orient="top", labelAngle=-40, labelOverlap=False)
    places = {
        "x": alt.X("named:N", sort=list(classes), title="named", axis=above),
        "y": alt.Y("true:N", sort=list(classes), title=None),
    }
    shown = tooltips(("true", "named"), (Field("share", "share of the row", ".1%"),))
    cells = alt.Chart().mark_rect(stroke="var(--paper)", strokeWidth=1)
    written = alt.Chart().mark_text(fontSize=11).transform_filter("datum.share >= 0.005")
    layers = [
        cells.encode(**places, color=alt.Color("share:Q", scale=found.scale, legend=legend), tooltip=shown),
        written.encode(**places, text=alt.Text("share:Q", format=".0%"), color=found.ink("share")),
    ]
    chart = finished(layers, columns, height=CELL * len(classes), widest=CELL_WIDTH * len(classes) + ROOM)
    return Chart(name, title, caption, chart, columns, source)


@dataclass(frozen=True)
class ColorSteps:
    """Colors, and the round numbers at which they change."""

    edges: list[float]
    colors: list[str]

    @property
    def scale(self) -> alt.Scale:
        return alt.Scale(type="threshold", domain=self.edges, range=self.colors)

    def color(self, value: Field) -> alt.Color:
        """The color of each row by its value, with a legend of the steps."""
        legend = alt.Legend(
            title=value.title, format=value.format, gradientLength=180, gradientThickness=10, tickCount=4
        )
        return alt.Color(field=escaped(value.column), type=NUMBER, scale=self.scale, legend=legend)

    def ink(self, column: str) -> Any:
        """The color of the text in a cell: that of the paper if the cell is dark."""
        value = f"datum[{json.dumps(column)}]"
        above = ["true", *(f"{value} >= {edge!r}" for edge in self.edges)]
        below = [*(f"{value} < {edge!r}" for edge in self.edges), "true"]
        dark = [f"({above[i]} && {below[i]})" for i, color in enumerate(self.colors) if color in DARK_STEPS]
        return alt.condition(" || ".join(dark), alt.value("var(--paper)"), alt.value("var(--ink)"))


def steps_of(columns: Columns, value: Field, about: float | None = None) -> ColorSteps:
    """The steps that span the domain of `value`, else its values."""
    numbers = [each for each in columns[value.column] if each is not None] or [0.0, 1.0]
    low, high = value.domain or (min(numbers), max(numbers))
    return steps(low, high, about)


def steps(low: float, high: float, about: float | None = None) -> ColorSteps:
    """At most ten steps that span the values; with `about` at most nine, centered on that number."""
    if about is not None:
        reach = max(abs(low - about), abs(high - about))
        size = _round_up(reach / (MAX_SIDE + 0.5))
        n_side = min(max(math.ceil(reach / size - 0.5 - 1e-9), 1), MAX_SIDE)
        edges = [about + (i + 0.5) * size for i in range(-n_side, n_side)]
        return ColorSteps([_tidy(each) for each in edges], poles(n_side))
    is_one = high - low <= SAME * max(abs(low), abs(high))
    size = 1.0 if is_one else _round_up((high - low) / MAX_STEPS)
    if _n_steps(low, high, size) > MAX_STEPS:
        size = _round_up(1.01 * size)
    first, n_steps = math.floor(low / size + 1e-9), max(_n_steps(low, high, size), 2)
    return ColorSteps([_tidy((first + i) * size) for i in range(1, n_steps)], ramp(n_steps))


def _tidy(number: float) -> float:
    """Without floating-point residue: 0.3 and not 0.30000000000000004."""
    return float(f"{number:.12g}")


def _n_steps(low: float, high: float, size: float) -> int:
    return math.ceil(high / size - 1e-9) - math.floor(low / size + 1e-9)


def _round_up(size: float) -> float:
    """The next number of the form 1, 2, 2.5 or 5 times a power of ten."""
    if size < sys.float_info.min:
        return 1.0
    power = 10.0 ** math.floor(math.log10(size))
    return next(each * power for each in (1, 2, 2.5, 5, 10) if each * power >= size * (1 - 1e-9))


def _ordered(columns: Columns, field: Field, channel: Any, *, descending: bool = False, **title: Any) -> Any:
    """An axis with equal spacing; numbers increase to the right and upward, names keep their order."""
    names = _are_names(columns, field)
    values = distinct(columns, field.column) if names else sorted(distinct(columns, field.column), reverse=descending)
    form = alt.Undefined if names else field.format
    axis = alt.Axis(format=form, labelAngle=0, domain=False, ticks=False, labelOverlap="parity", **title)
    return channel(field=escaped(field.column), type="ordinal", sort=values, title=field.title, axis=axis)


def _tooltip(columns: Columns, field: Field) -> alt.Tooltip:
    return named(field.column, field.title) if _are_names(columns, field) else field.tooltip()


def _are_names(columns: Columns, field: Field) -> bool:
    return any(isinstance(value, str) for value in columns[field.column])
