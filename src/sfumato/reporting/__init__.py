"""Reports as self-contained HTML pages. A `Page` has sections of blocks, such as `Chart`; `charts` draws charts."""

from sfumato.reporting.blocks import Column, Commands, DataSource, Fact, Facts, Points, Prose, ReportTable
from sfumato.reporting.chart import Chart
from sfumato.reporting.notebook_plots import plot
from sfumato.reporting.page import Page, Section

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
