"""Everything -> self-contained pages: words, figures and tables that open from disk and print.

A `Page` has sections, a section has blocks, and a `Chart` is one of them; `charts/` draws the usual ones.
"""

from sfumato.reporting.blocks import Commands, Fact, Facts, Points, Prose
from sfumato.reporting.chart import Chart
from sfumato.reporting.data import DataSource
from sfumato.reporting.listing import Column, ReportTable
from sfumato.reporting.page import Page, Section
from sfumato.reporting.plotting import plot

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
