"""A page: sections of words, figures and tables in one HTML file that needs nothing else.

It opens from disk, asks no network for anything (its own policy forbids that), follows the reader's light or dark, and
prints. The script that draws, Vega, is in it once, however many charts there are; a page without charts has none.
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
from sfumato.reporting.colors import css, series_of, with_series
from sfumato.reporting.vega import check_report_installed, script_with
from sfumato.tables.errors import BadSetting
from sfumato.tables.files.atomic_write import atomic_write

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it."""

    title: str
    blocks: tuple[Block, ...]

    @property
    def anchor(self) -> str:
        """The section's id in its page."""
        return re.sub(r"[^a-z0-9]+", "-", self.title.casefold()).strip("-") or "section"


@dataclass(frozen=True)
class Page:
    """A title, a lead that says the whole in a sentence or two, and sections.

    `kind` stands above the title in small letters, `opening` are blocks before the first section, and `made` says at
    the end how the page came about.
    """

    title: str
    lead: str
    sections: tuple[Section, ...]
    kind: str = ""
    opening: tuple[Block, ...] = ()
    made: str = ""

    def __post_init__(self) -> None:
        named = [block.name for block in self.blocks if isinstance(block, Chart | ReportTable)]
        anchors = [section.anchor for section in self.sections]
        for what, names in (("figure or table", named), ("section", anchors)):
            twice = [name for name in names if names.count(name) > 1]
            if twice:
                raise BadSetting(
                    f"found two of the {what} {twice[0]!r}",
                    expected="a name of its own for each: links lead there",
                    fix="rename one",
                    code="bad-page",
                )

    @property
    def blocks(self) -> list[Block]:
        """All blocks, in order."""
        return [*self.opening, *(block for section in self.sections for block in section.blocks)]

    @property
    def charts(self) -> list[Chart]:
        return [block for block in self.blocks if isinstance(block, Chart)]

    def html(self) -> str:
        """The page, whole."""
        check_report_installed()
        style = _static("page.css").replace("/* light */", css(dark=False)).replace("/* dark */", css(dark=True))
        script = _closed(script_with(_static("page.js"))) if self.charts else ""
        return _environment().get_template("page.html").render(
            page=self,
            style=_raw(style),
            script=_raw(script),
            policy=_policy(style, script),
            numbers=_numbers(self.blocks),
            colours=series_of(chart.spec for chart in self.charts),
        )  # fmt: skip

    def write(self, path: str | Path) -> None:
        """Write the page; a file that stood there is replaced only once the new one is whole."""
        text = self.html()
        with atomic_write(Path(path)) as part:
            part.write_text(text, encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """What the page may do: run its own script and style, known by their hashes, and nothing else."""
    allowed = f"script-src '{_hash(script)}'; " if script else ""
    return (
        f"default-src 'none'; {allowed}style-src '{_hash(style)}'; img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _numbers(blocks: Sequence[Block]) -> dict[str, int]:
    """The number of every figure and of every table, by name; each kind counts for itself."""
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
    """Text with its `code` set as code."""
    from markupsafe import Markup

    parts = re.split(r"`([^`]+)`", text)
    return Markup("").join(Markup("<code>{}</code>").format(p) if i % 2 else p for i, p in enumerate(parts))


def _csv_link(columns: Columns) -> str:
    return f"data:text/csv;charset=utf-8,{quote(csv_text(columns))}"


def _drawn(chart: Chart, colours: dict[str, str]) -> Markup:
    """What the script needs for a chart: its specification, coloured, and its columns."""
    drawing: dict[str, Any] = {"spec": with_series(chart.spec, colours), ROWS: chart.columns}
    return _raw(_closed(json.dumps(drawing, ensure_ascii=False, allow_nan=False)))


def _closed(script: str) -> str:
    """A script or JSON that HTML cannot take for ended, whatever texts are in it."""
    return re.sub(r"<(?=/script|!--)", r"\\u003c", script, flags=re.IGNORECASE)


def _raw(text: str) -> Markup:
    from markupsafe import Markup

    return Markup(text)
