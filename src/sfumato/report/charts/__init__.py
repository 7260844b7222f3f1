"""The usual charts, as functions of data: one file a theme, each returns a `Chart`.

Data is one of our tables, or columns by name; a `Field` says which column is drawn, and what it is called.
"""

# ruff: noqa: E402
from sfumato.report.vega import check_report_installed

# Before the modules below ask for Altair in words that name no remedy.
check_report_installed()

from sfumato.report.charts.comparison import bars, dots
from sfumato.report.charts.curve import Marked, curve
from sfumato.report.charts.distribution import histogram
from sfumato.report.charts.field import Field
from sfumato.report.charts.heat_map import confusion, heat_map
from sfumato.report.charts.intervals import intervals
from sfumato.report.charts.parts import parts
from sfumato.report.charts.places import places
from sfumato.report.charts.reliability import reliability
from sfumato.report.charts.scatter import scatter
from sfumato.report.charts.shaded import shaded

__all__ = [
    "Field",
    "Marked",
    "bars",
    "confusion",
    "curve",
    "dots",
    "heat_map",
    "histogram",
    "intervals",
    "parts",
    "places",
    "reliability",
    "scatter",
    "shaded",
]
