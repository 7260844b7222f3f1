"""A page: sections of text, figures and tables in one self-contained HTML file.

Its content security policy forbids network requests. It supports light and dark mode and prints. The Vega script is
included once if there are charts.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from sfumato.reporting.blocks import Block, Columns, ReportTable, csv_text, rows_of
from sfumato.reporting.chart import ROWS, Chart
from sfumato.reporting.chart_renderer import check_report_installed, script_with
from sfumato.reporting.colors import css, series_of, with_series
from sfumato.tables.errors import BadSetting
from sfumato.tables.files.atomic_write import atomic_write

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


@dataclass(frozen=True)
class Section:
    """A heading with its blocks."""

    title: str
    blocks: tuple[Block, ...]

    @property
    def anchor(self) -> str:
        """The section's id in its page."""
        return re.sub(r"[^a-z0-9]+", "-", self.title.casefold()).strip("-") or "section"


@dataclass(frozen=True)
class Page:
    """A title, a lead of one or two sentences, and sections.

    `kind` is a small line above the title, `opening` are blocks before the first section, `made` is the footer.
    """

    title: str
    lead: str
    sections: tuple[Section, ...]
    kind: str = ""
    opening: tuple[Block, ...] = ()
    made: str = ""

    def __post_init__(self) -> None:
        names = [block.name for block in self.blocks if isinstance(block, Chart | ReportTable)]
        anchors = [section.anchor for section in self.sections]
        for what, own in (("figure or table", names), ("section", anchors)):
            twice = [name for name in own if own.count(name) > 1]
            if twice:
                expected = "unique names, because links use them"
                raise BadSetting(f"{what} {twice[0]!r} twice", expected, "rename one", "bad-page")

    def __repr__(self) -> str:
        titles = ", ".join(section.title for section in self.sections)
        return f"<Page: {self.title!r}, {len(self.sections)} sections: {titles}>"

    @property
    def blocks(self) -> list[Block]:
        """All blocks, in order."""
        return [*self.opening, *(block for section in self.sections for block in section.blocks)]

    @property
    def charts(self) -> list[Chart]:
        return [block for block in self.blocks if isinstance(block, Chart)]

    def html(self) -> str:
        """The page as HTML."""
        check_report_installed()
        style = _static("page.css").replace("/* light */", css(dark=False)).replace("/* dark */", css(dark=True))
        script = _closed(script_with(_static("page.js"))) if self.charts else ""
        return _environment().get_template("page.html").render(
            page=self,
            style=_raw(style),
            script=_raw(script),
            policy=_policy(style, script),
            numbers=_numbers(self.blocks),
            colors=series_of(chart.spec for chart in self.charts),
        )  # fmt: skip

    def write(self, path: str | Path) -> None:
        """Write the page; an existing file is replaced only when the new one is complete."""
        text = self.html()
        with atomic_write(Path(path)) as part:
            part.write_text(text, encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """The content security policy: only the page's own script and style, by hash."""
    allowed = f"script-src '{_hash(script)}'; " if script else ""
    return (
        f"default-src 'none'; {allowed}style-src '{_hash(style)}'; img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _numbers(blocks: Sequence[Block]) -> dict[str, int]:
    """The numbers of figures and of tables, by name."""
    numbers: dict[str, int] = {}
    for kind in (Chart, ReportTable):
        numbers |= {each.name: i + 1 for i, each in enumerate(block for block in blocks if isinstance(block, kind))}
    return numbers


@cache
def _static(name: str) -> str:
    return (files("sfumato.reporting") / "static" / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("sfumato.reporting"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"coded": _coded, "csv_link": _csv_link, "drawn": _drawn, "rows": rows_of}
    return environment


def _coded(text: str) -> Markup:
    """Text with `code` in code tags."""
    from markupsafe import Markup

    parts = re.split(r"`([^`]+)`", text)
    return Markup("").join(Markup("<code>{}</code>").format(p) if i % 2 else p for i, p in enumerate(parts))


def _csv_link(columns: Columns) -> str:
    return f"data:text/csv;charset=utf-8,{quote(csv_text(columns))}"


def _drawn(chart: Chart, colors: dict[str, str]) -> Markup:
    """The JSON of a chart for the script: its specification with colors, and its columns."""
    drawing: dict[str, Any] = {"spec": with_series(chart.spec, colors), ROWS: chart.columns}
    return _raw(_closed(json.dumps(drawing, ensure_ascii=False, allow_nan=False)))


def _closed(script: str) -> str:
    """The script or JSON without text that HTML would read as its end."""
    return re.sub(r"<(?=/script|!--)", r"\\u003c", script, flags=re.IGNORECASE)


def _raw(text: str) -> Markup:
    from markupsafe import Markup

    return Markup(text)
