"""Everything -> self-contained pages: words, figures and tables that open from disk and print.

A `Page` has sections, a section has blocks, and a `Chart` is one of them; `charts/` draws the usual ones.
"""

from sfumato.report.blocks import Commands, Fact, Facts, Points, Prose
from sfumato.report.chart import Chart
from sfumato.report.data import Source
from sfumato.report.listing import Column, Listing
from sfumato.report.page import Page, Section
from sfumato.report.plotting import plot

__all__ = [
    "Chart",
    "Column",
    "Commands",
    "Fact",
    "Facts",
    "Listing",
    "Page",
    "Points",
    "Prose",
    "Section",
    "Source",
    "plot",
]
