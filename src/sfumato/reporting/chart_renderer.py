"""Vega: the script for pages, static images, and the style that all charts share."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any

from sfumato.tables.errors import missing_extra

VEGA_LITE = "6.4"
WIDTH = 640
FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif'

CONFIG: dict[str, Any] = {
    "font": FONT,
    "background": "transparent",
    "padding": 4,
    "view": {"stroke": None},
    "axis": {
        "labelColor": "var(--muted)",
        "titleColor": "var(--muted)",
        "labelFontSize": 11.5,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 10,
        "labelPadding": 6,
        "domainColor": "var(--strong-line)",
        "tickColor": "var(--strong-line)",
        "gridColor": "var(--line)",
        "tickSize": 4,
        "labelFlush": False,
    },
    "axisX": {"grid": False, "labelOverlap": "greedy", "labelSeparation": 6},
    "axisY": {"domain": False, "ticks": False, "tickCount": 5},
    "axisQuantitative": {"tickCount": 6},
    "legend": {
        "orient": "top",
        "labelColor": "var(--ink)",
        "titleColor": "var(--muted)",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titleLimit": 480,
        "symbolSize": 90,
        "symbolStrokeWidth": 2,
        "symbolOpacity": 1,
        "offset": 30,
        "columnPadding": 28,
    },
    "header": {
        "labelColor": "var(--ink)",
        "labelFontSize": 12.5,
        "labelFontWeight": 600,
        "labelAnchor": "start",
        "labelPadding": 8,
        "title": None,
    },
    "text": {"color": "var(--ink)", "fontSize": 11.5},
    "facet": {"spacing": 26},
}
"""The style of charts. Pages draw them as SVG, so that colors can be CSS variables."""


def check_report_installed() -> None:
    """Raise if a package needed for pages and charts is missing."""
    for package, module in (("altair", "altair"), ("vl-convert-python", "vl_convert"), ("jinja2", "jinja2")):
        if find_spec(module) is None:
            raise missing_extra(package, "to draw reports", "report")


@cache
def script_with(snippet: str) -> str:
    """`snippet` bundled with Vega as one script without imports."""
    check_report_installed()
    import vl_convert

    return str(vl_convert.javascript_bundle(snippet=snippet, vl_version=VEGA_LITE))


def svg_of(spec: dict[str, Any]) -> str:
    """Render a specification as SVG."""
    check_report_installed()
    import vl_convert

    return str(vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE, allowed_base_urls=[]))


def png_of(spec: dict[str, Any], scale: float) -> bytes:
    """Render a specification as PNG."""
    check_report_installed()
    import vl_convert

    return bytes(vl_convert.vegalite_to_png(spec, vl_version=VEGA_LITE, scale=scale, allowed_base_urls=[]))
