"""Chart functions. Each takes a table or columns by name, with a `Field` per drawn column, and returns a `Chart`."""

# ruff: noqa: E402
from sfumato.reporting.chart_renderer import check_report_installed

# Before the modules below import Altair, whose error would not name the extra to install.
check_report_installed()

from sfumato.reporting.chart import Chart
from sfumato.reporting.charts.comparison import bars, dots, intervals
from sfumato.reporting.charts.curve import Marked, curve, reliability
from sfumato.reporting.charts.distribution import histogram, stacked_bars
from sfumato.reporting.charts.encoding_field import Field
from sfumato.reporting.charts.heat_map import confusion, heat_map
from sfumato.reporting.charts.point_map import point_map
from sfumato.reporting.charts.scatter import scatter, shaded_scatter

__all__ = [
    "Chart",
    "Field",
    "Marked",
    "bars",
    "confusion",
    "curve",
    "dots",
    "heat_map",
    "histogram",
    "intervals",
    "point_map",
    "reliability",
    "scatter",
    "shaded_scatter",
    "stacked_bars",
]
