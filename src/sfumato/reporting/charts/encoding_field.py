"""`Field`, which describes a drawn column, and the parts that all charts share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import altair as alt

from sfumato.reporting.blocks import Columns, Data, as_columns
from sfumato.reporting.chart import ROWS
from sfumato.reporting.colors import SERIES
from sfumato.tables.errors import unknown

HEIGHT = 300
PANEL_SIZE = 200
LEGEND_WIDTH = 640
"""The width of a legend in pixels."""
LETTER, SYMBOL = 7, 40
"""The width of a letter, and of the symbol before a name with its spacing."""
TEXT: Literal["nominal"] = "nominal"
NUMBER: Literal["quantitative"] = "quantitative"
ACCENT = alt.value("var(--accent)")
HALO: dict[str, Any] = {"stroke": "var(--paper)", "strokeWidth": 4, "strokeJoin": "round"}
"""The style of a text's outline in the color of the paper, drawn below the text."""


@dataclass(frozen=True)
class Field:
    """A drawn column. `format` is a d3 format; `domain` the range of its axis, else that of the data."""

    column: str
    title: str
    format: str = ",.4~r"
    log: bool = False
    zero: bool = False
    domain: tuple[float, float] | None = None

    def x(self, **axis: Any) -> alt.X:
        return alt.X(**self._drawn(), axis=alt.Axis(format=self.format, **axis))

    def y(self, *, panel: str | None = None, **axis: Any) -> alt.Y:
        return alt.Y(**self._drawn(), axis=alt.Axis(format=self.format, **titled(panel), **axis))

    def on(self, column: str, title: str | None = None) -> Field:
        """The same for another column, such as an end of an interval."""
        return replace(self, column=column, title=title or self.title)

    def ends(self, low: str | None, high: str | None) -> list[Field]:
        """The ends of its interval, as far as there are columns for them."""
        return [self.on(column, words) for column, words in ((low, "from"), (high, "to")) if column]

    def tooltip(self) -> alt.Tooltip:
        return alt.Tooltip(field=escaped(self.column), type=NUMBER, title=self.title, format=self.format)

    def _drawn(self) -> dict[str, Any]:
        settings: dict[str, Any] = {"type": "log"} if self.log else {"zero": self.zero}
        if self.domain:
            settings["domain"] = list(self.domain)
        scale = alt.Scale(**settings, nice=not (self.domain or self.log))
        return {"field": escaped(self.column), "type": NUMBER, "title": self.title, "scale": scale}


def titled(panel: str | None) -> dict[str, Any]:
    """The position of a vertical axis title: horizontal above the axis; in panels, along it."""
    above = {"titleAngle": 0, "titleAlign": "left", "titleAnchor": "end", "titleX": 0, "titleY": -12}
    return above if panel is None else {}


def tooltips(names: Iterable[str | None], fields: Iterable[Field]) -> list[alt.Tooltip]:
    """The tooltips of some columns: names, then numbers."""
    return [*(named(column) for column in names if column), *(field.tooltip() for field in fields)]


def named(column: str, title: str | None = None) -> alt.Tooltip:
    """The tooltip of a text column."""
    return alt.Tooltip(field=escaped(column), type=TEXT, title=title or column)


def escaped(column: str) -> str:
    """A column name for Vega, which reads unescaped dots and brackets as nested fields."""
    return "".join(f"\\{c}" if c in ".[]\\" else c for c in column)


def one_row(**values: Any) -> alt.InlineData:
    """Data of a single mark."""
    return alt.InlineData(values=[values])


def distinct(columns: Columns, column: str) -> list[Any]:
    """The values of a column in order of appearance."""
    return list(dict.fromkeys(columns[column]))


def drawn_columns(data: Data, *fields: Field | str | None) -> Columns:
    """The columns of a chart; raises if one that it draws is missing."""
    columns = as_columns(data)
    for field in fields:
        name = field.column if isinstance(field, Field) else field
        if name is not None and name not in columns:
            raise unknown("column", name, list(columns))
    return columns


def has_interval(columns: Columns, low: str, high: str) -> bool:
    """Whether any row has both ends of an interval."""
    return any(a is not None and b is not None for a, b in zip(columns[low], columns[high], strict=True))


def series_color(columns: Columns, column: str | None, *, legend: bool = True) -> Any:
    """The color of a series by name, the same in all charts of a page; the accent color if there are no series."""
    if column is None:
        return ACCENT
    names = distinct(columns, column)
    scale = alt.Scale(domain=names, range=[f"{SERIES}{name}" for name in names])
    shown = None
    if legend and len(names) > 1:
        shown = alt.Legend(title=None, symbolType="circle", labelLimit=LEGEND_WIDTH, columns=_columns_of_legend(names))
    return alt.Color(field=escaped(column), type=TEXT, scale=scale, legend=shown)


def _columns_of_legend(names: Sequence[str]) -> int:
    """The number of legend columns: all names in one row, or as many as fit the width."""
    widths = [LETTER * len(str(name)) + SYMBOL for name in names]
    return len(names) if sum(widths) <= LEGEND_WIDTH else max(1, int(LEGEND_WIDTH // max(widths)))


def finished(
    layers: Sequence[Any],
    columns: Columns,
    *,
    panel: str | None = None,
    height: int = HEIGHT,
    widest: int | None = None,
    square: bool = False,
    own_y: bool = False,
) -> Any:
    """The layers as one chart of at most `widest`; with `panel`, one panel per value of that column.

    Panels share their axes; with `own_y`, each has its own vertical axis.
    """
    layered = alt.layer(*layers, data=alt.NamedData(name=ROWS))
    if panel is None:
        whole = layered.properties(width="container", height=height)
        return whole.properties(usermeta={"widest": widest}) if widest else whole
    names = distinct(columns, panel)
    facet = alt.Facet(field=escaped(panel), type=TEXT, sort=names, header=alt.Header(title=None))
    side = {"width": PANEL_SIZE, "height": PANEL_SIZE if square else height}
    chart = layered.properties(**side).facet(facet=facet, columns=min(len(names), 3))
    chart = chart.resolve_scale(y="independent") if own_y else chart
    return chart.properties(usermeta={"panels": len(names), "square": square, "ownAxis": own_y})
