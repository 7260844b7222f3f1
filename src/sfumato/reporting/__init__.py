"""Everything -> self-contained pages: words, figures and tables that open from disk and print.

A `Page` has sections, a section has blocks, and a `Chart` is one of them; `charts/` draws the usual ones.
"""

from sfumato.reporting.blocks import Column, Commands, DataSource, Fact, Facts, Points, Prose, ReportTable
from sfumato.reporting.chart import Chart
from sfumato.reporting.label_plots import plot
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
