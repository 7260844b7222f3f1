"""Every family of charts: drawn by Vega itself, and what is drawn are the data."""

from __future__ import annotations

import re
import struct
import xml.etree.ElementTree as ET
from collections.abc import Callable

import altair as alt
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import ValidationError

from sfumato.reporting import Chart, chart_renderer
from sfumato.reporting.charts import Field, curve, heat_map, histogram
from sfumato.reporting.charts.heat_map import steps
from sfumato.reporting.charts.scatter import correlation
from sfumato.tables.errors import BadSetting, MissingExtra, UnknownName

NAMES = (
    "curve", "curves", "dots", "bars", "map", "gains", "confusion", "scatter", "histogram", "reliability",
)  # fmt: skip
Charts = dict[str, Chart]


def marks(svg: str, kind: str) -> list[str]:
    """What the marks of a kind are said to show, in order of drawing."""
    found = [each for each in ET.fromstring(svg).iter() if each.get("aria-roledescription") == kind]
    return [each.get("aria-label") or "" for each in found]


def test_every_family_is_here(charts: Charts) -> None:
    assert tuple(charts) == NAMES


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_chart_is_drawn(name: str, dark: bool, charts: Charts) -> None:
    svg = charts[name].svg(dark=dark)
    assert ET.fromstring(svg).tag.endswith("svg")
    assert not re.search(r'(fill|stroke)="(var|series)', svg)
    assert not re.search(r"NaN|undefined|Infinity", svg)


@pytest.mark.parametrize("name", NAMES)
def test_every_specification_is_valid(name: str, charts: Charts) -> None:
    alt.Chart.from_dict(charts[name].spec)
    with pytest.raises(ValidationError, match="hight"):
        alt.Chart.from_dict({**charts[name].spec, "hight": 3})


def test_points_of_a_curve_are_its_data(charts: Charts) -> None:
    found = marks(charts["curve"].svg(), "point")
    said = [re.search(r"answers an item: (\d+); error: ([\d.]+)", each) for each in found]
    points = [(int(each[1]), float(each[2])) for each in said if each]
    assert points[:8] == [(m, pytest.approx(1 / m, rel=1e-3)) for m in range(1, 9)]
    assert points[8:] in ([], [(4, 0.25)])
    assert "the plan" in charts["curve"].svg()


def test_cells_of_a_map_are_its_data(charts: Charts) -> None:
    found = [each for each in marks(charts["map"].svg(), "rect mark") if "rho" in each]
    assert len(found) == 12
    assert sum("kind: soft" in each for each in found) == 6
    assert any("items: 22" in each and "classes: 13" in each and "rho: 1.00" in each for each in found)


def test_a_map_may_have_names_along_its_sides() -> None:
    data = {"metric": ["ece", "ece", "accuracy", "accuracy"], "target": ["soft", "hard"] * 2, "v": [1.0, 2.0, 3.0, 4.0]}
    x, y, value = Field("metric", "metric"), Field("target", "target"), Field("v", "v")
    svg = heat_map("m", title="t", caption="c", data=data, x=x, y=y, value=value).svg()
    found = marks(svg, "rect mark")
    assert found == [f"metric: {a}; target: {b}; v: {c:g}" for a, b, c in zip(*data.values(), strict=True)]
    texts = [each.text for each in ET.fromstring(svg).iter() if each.tag.endswith("text")]
    assert [text for text in texts if text in data["metric"]] == ["ece", "accuracy"]


def test_a_confusion_matrix_shows_shares_of_rows(charts: Charts) -> None:
    chart = charts["confusion"]
    assert chart.columns["share"] == (0.9, 0.1, 0.75, 0.25)
    texts = [each.text for each in ET.fromstring(chart.svg()).iter() if each.tag.endswith("text")]
    assert {"90%", "10%", "75%", "25%", "cat", "dog"} <= set(texts)


def test_a_row_without_an_interval_has_none_drawn(charts: Charts) -> None:
    chart = charts["dots"]
    assert len(marks(chart.svg(), "rule mark")) == 1
    assert len(marks(chart.svg(), "point")) == 2


def test_the_emphasised_row_has_the_accent(charts: Charts) -> None:
    points = [e for e in ET.fromstring(charts["dots"].svg()).iter() if e.get("aria-roledescription") == "point"]
    assert [point.get("fill") for point in points] == ["#1f4e79", "#625d55"]


def test_bars_begin_at_zero(charts: Charts) -> None:
    spec = charts["bars"].spec
    assert spec["layer"][0]["encoding"]["y"]["scale"]["zero"] is True


def test_a_histogram_counts_what_numpy_counts(charts: Charts) -> None:
    found = charts["histogram"].columns
    is_choice = np.array(found["series"]) == "choice"
    density, n = np.array(found["density"]), np.array(found["n"])
    width = np.array(found["to"]) - np.array(found["from"])
    assert n[is_choice].sum() == 100
    assert n[~is_choice].sum() == 60
    assert (density * width)[is_choice].sum() == pytest.approx(1)
    assert (density * width)[~is_choice].sum() == pytest.approx(1)


def test_a_histogram_of_one_value_and_of_none() -> None:
    words = {"title": "t", "caption": "c", "value": Field("x", "x"), "bins": 4}
    assert histogram("one", **words, data={"x": [2.0, 2.0, None]}).columns["n"] == (2, 0, 0, 0)
    assert "svg" in histogram("none", **words, data={"x": [None]}).svg()


def test_the_regression_is_that_of_least_squares(charts: Charts) -> None:
    # All points lie on 2x + 1, so the line's ends must lie among them.
    svg = charts["scatter"].svg()
    root = ET.fromstring(svg)
    line = next(e for e in root.iter() if e.get("aria-roledescription") == "line mark")
    ends = [float(each) for each in re.findall(r"[-\d.]+", line.get("d") or "")]
    points = [e.get("transform") or "" for e in root.iter() if e.get("aria-roledescription") == "point"]
    places = np.array([[float(n) for n in re.findall(r"[-\d.]+", each)] for each in points])
    left, right = places[places[:, 0].argmin()], places[places[:, 0].argmax()]
    assert ends[:2] == pytest.approx(left, abs=0.1)
    assert ends[-2:] == pytest.approx(right, abs=0.1)


def test_correlation_is_numpys_and_knows_what_is_missing() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 20))
    assert correlation({"x": x, "y": y}, "x", "y") == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert correlation({"x": [1, 2, 3, None], "y": [2, 4, 6, 100]}, "x", "y") == pytest.approx(1)
    assert np.isnan(correlation({"x": [1, 2], "y": [1, 2]}, "x", "y"))


def test_steps_pass_at_round_numbers() -> None:
    assert steps(0, 1).edges == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    assert steps(3, 28).edges == [5, 10, 15, 20, 25]
    assert steps(-0.5, 0.3, 0).edges == [-0.3, -0.1, 0.1, 0.3]


@given(st.floats(-1e6, 1e6), st.floats(0, 1e6), st.booleans())
def test_steps_span_all_values(low: float, span: float, both_ways: bool) -> None:
    found = steps(low, low + span, 0.0 if both_ways else None)
    assert len(found.colors) == len(found.edges) + 1 <= 10
    assert found.edges == sorted(set(found.edges))
    assert "datum" in str(found.ink("x"))
    if both_ways:
        assert found.edges == pytest.approx([-each for each in reversed(found.edges)])


def test_a_column_that_is_not_there_is_named() -> None:
    with pytest.raises(UnknownName, match="did you mean 'error'"):
        curve("c", title="t", caption="c", data={"m": [1], "error": [1]}, x=Field("m", "m"), y=Field("eror", "e"))


def test_a_name_must_be_fit_for_links() -> None:
    with pytest.raises(BadSetting, match="becomes an id"):
        Chart("a name", "t", "c", {"mark": "point"}, {"x": [1]})


def test_an_altair_chart_of_ones_own() -> None:
    own = alt.Chart(alt.NamedData(name="rows")).mark_point().encode(x="x:Q")
    chart = Chart("own", "Own", "A point.", own, {"x": [1, 2, 3]})
    assert len(marks(chart.svg(), "point")) == 3
    assert chart.text_alternative == "Own. A point."


def test_static_pictures(charts: Charts) -> None:
    png = charts["dots"].png(width=500, scale=2)
    width, _ = struct.unpack(">II", png[16:24])
    assert png.startswith(b"\x89PNG")
    assert width == pytest.approx(1000, abs=80)
    assert charts["dots"]._repr_svg_() == charts["dots"].svg()
    assert charts["dots"].svg() != charts["dots"].svg(dark=True)


@pytest.mark.parametrize("draw", [lambda c: c.svg(), lambda c: c.png(), lambda c: chart_renderer.script_with("fresh")])
def test_without_the_extra_the_remedy_is_named(
    draw: Callable[[Chart], object], charts: Charts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chart_renderer, "find_spec", lambda name: None if name == "vl_convert" else object())
    with pytest.raises(MissingExtra, match=r'vl-convert-python.*pip install "sfumato\[report\]"'):
        draw(charts["dots"])
