"""Reports as self-contained HTML pages. A `Page` has sections of blocks, such as `Chart`; `charts` draws charts.

Names load when first used: commands that only need a module of this package do not load the library for charts.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.reporting.blocks import Column, Commands, DataSource, Fact, Facts, Points, Prose, ReportTable
    from sfumato.reporting.chart import Chart
    from sfumato.reporting.notebook_plots import plot
    from sfumato.reporting.page import Page, Section

_MODULE_OF = {"Chart": "chart", "Page": "page", "Section": "page", "plot": "notebook_plots"}

__all__ = [
    "Chart",
    "Column",
    "Commands",
    "DataSource",
    "Fact",
    "Facts",
    "Page",
    "Points",
    "Prose",
    "ReportTable",
    "Section",
    "plot",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF.get(name, 'blocks')}"), name)
