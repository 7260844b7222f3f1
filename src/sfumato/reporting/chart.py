"""A chart: a Vega-Lite specification with its data, title, caption and source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, final

from sfumato.reporting.blocks import Column, Columns, Data, DataSource, as_columns, n_rows
from sfumato.reporting.chart_renderer import CONFIG, WIDTH, png_of, svg_of
from sfumato.reporting.colors import themed
from sfumato.tables.setting_checks import bad_setting

ROWS = "rows"
"""The name of the data in a chart's specification."""

TABLE_ROWS = 60
"""The most rows of a chart's data shown on a page; its CSV has all."""


@final
@dataclass(frozen=True, eq=False)
class Chart:
    """A figure. `spec` is a Vega-Lite specification, or an Altair chart, with the named data set `rows`.

    Colors are tokens, such as `var(--muted)` and `series:soft`, that a page resolves for light mode, dark mode and
    print, with the same color per series in all charts. `description` is the text for screen readers; if empty, title
    and caption.
    """

    name: str
    title: str
    caption: str
    spec: Any
    data: Data
    source: DataSource | None = None
    description: str = ""
    template: ClassVar[str] = "chart.html"

    def __post_init__(self) -> None:
        if not self.name.replace("-", "").replace("_", "").isalnum():
            raise bad_setting("name", self.name, "letters, digits, - and _ (it becomes an id and a file name)")
        spec = self.spec if isinstance(self.spec, Mapping) else self.spec.to_dict()
        object.__setattr__(self, "spec", {**spec, "config": {**spec.get("config", {}), **CONFIG}})
        object.__setattr__(self, "data", as_columns(self.data))

    @property
    def columns(self) -> Columns:
        """The data as plain columns."""
        assert isinstance(self.data, dict)
        return self.data

    @property
    def text_alternative(self) -> str:
        return self.description or f"{self.title}. {self.caption}"

    def listed(self) -> tuple[Column, ...]:
        """The first rows of the data, for the page."""
        return tuple(Column(name.replace("_", " "), values[:TABLE_ROWS]) for name, values in self.columns.items())

    @property
    def n_rows(self) -> int:
        return n_rows(self.columns)

    def whole_spec(self, *, width: int = WIDTH) -> dict[str, Any]:
        """The specification with its data, for static images and other tools."""
        rows = [dict(zip(self.columns, row, strict=True)) for row in zip(*self.columns.values(), strict=True)]
        widest = self.spec.get("usermeta", {}).get("widest", width)
        wide = {"width": min(width, widest)} if self.spec.get("width") == "container" else {}
        return {**self.spec, **wide, "datasets": {**self.spec.get("datasets", {}), ROWS: rows}}

    def svg(self, *, dark: bool = False, width: int = WIDTH) -> str:
        """The chart as SVG, for documents and notebooks."""
        return svg_of(themed(self.whole_spec(width=width), dark=dark))

    def png(self, *, dark: bool = False, width: int = WIDTH, scale: float = 2.0) -> bytes:
        """The chart as PNG, with `scale` pixels per point."""
        return png_of(themed(self.whole_spec(width=width), dark=dark), scale)

    def _repr_svg_(self) -> str:
        return self.svg()
