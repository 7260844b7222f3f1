"""The usual charts, as functions of data: one file a theme, each returns a `Chart`.

Data is one of our tables, or columns by name; a `Field` says which column is drawn, and what it is called.
"""

# ruff: noqa: E402
from sfumato.reporting.vega import check_report_installed

# Before the modules below ask for Altair in words that name no remedy.
check_report_installed()

from sfumato.reporting.charts.comparison import bars, dots, intervals
from sfumato.reporting.charts.curve import Marked, curve, reliability
from sfumato.reporting.charts.distribution import histogram, parts
from sfumato.reporting.charts.field import Field
from sfumato.reporting.charts.heat_map import confusion, heat_map
from sfumato.reporting.charts.point_map import places
from sfumato.reporting.charts.scatter import scatter, shaded

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
