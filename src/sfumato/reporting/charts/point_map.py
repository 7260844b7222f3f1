"""A map of named points, such as classes, in which only distances have a meaning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
from jaxtyping import Float

from sfumato.reporting.blocks import Data, DataSource, as_columns
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts.encoding_field import HALO, TEXT, Field, drawn_columns, escaped, finished, tooltips
from sfumato.reporting.phrases import short_names

WIDE = 316
"""Fixed, and narrow enough for a telephone: both axes must keep the same scale in every window."""
SIDE_ROOM, ABOVE, TALLEST, PADDING = 48, 22, 340, 8
"""In points: the room for names at the sides and above, the largest height, and the padding."""
LETTER, LINE, POINT = 7, 16, 6
"""In points: the width of a letter, the height of a line, and the radius of a point."""
SIDES: dict[str, tuple[int, int, dict[str, Any]]] = {
    "right": (1, 0, {"align": "left", "baseline": "middle", "dx": 8}),
    "left": (-1, 0, {"align": "right", "baseline": "middle", "dx": -8}),
    "above": (0, 1, {"align": "center", "baseline": "bottom", "dy": -8}),
    "below": (0, -1, {"align": "center", "baseline": "top", "dy": 8}),
}
LONGEST = 18


def point_map(
    name: str,
    *,
    title: str,
    caption: str,
    data: Data,
    x: str,
    y: str,
    of: str,
    source: DataSource | None = None,
) -> Chart:
    """One point per row with its name on the side where it overlaps least. Both axes have the same scale and no
    numbers."""
    columns = drawn_columns(data, x, y, of)
    at = np.array([columns[x], columns[y]], np.float64).T
    names = [str(each) for each in columns[of]]
    middle, reach = (at.max(axis=0) + at.min(axis=0)) / 2, np.maximum(np.ptp(at, axis=0) * 0.5, 1e-9)
    unit = max(float(reach[0]) / (WIDE / 2 - SIDE_ROOM), float(reach[1]) / (TALLEST / 2 - ABOVE))
    tall = round(2 * (float(reach[1]) / unit + ABOVE))
    half = (WIDE / 2 * unit, tall / 2 * unit)
    pixels = (at - middle) / unit + np.array([WIDE, tall]) / 2
    short = short_names(names, LONGEST)
    columns = as_columns({**columns, "side": sides_of(pixels, short, WIDE, tall), "name": short})
    bare: dict[str, Any] = {"labels": False, "ticks": False, "domain": False, "grid": False}
    fields = [
        Field(column, "", domain=(float(center - side), float(center + side)))
        for column, center, side in ((x, middle[0], half[0]), (y, middle[1], half[1]))
    ]
    encoded = {"x": fields[0].x(**bare), "y": fields[1].y(**bare)}
    points = alt.Chart().mark_point(filled=True, size=70, opacity=1, color="var(--accent)")
    layers: list[Any] = [points.encode(**encoded, tooltip=tooltips((of,), ()))]
    for side, (_, _, where) in SIDES.items():
        words = alt.Chart().transform_filter(alt.FieldEqualPredicate(field="side", equal=side))
        text = alt.Text(field=escaped("name"), type=TEXT)
        marks = [words.mark_text(fontSize=12.5, **where, **halo) for halo in (HALO, {})]
        layers += [mark.encode(**encoded, text=text) for mark in marks]
    return Chart(name, title, caption, finished(layers, columns, height=tall, widest=WIDE + PADDING), columns, source)


def sides_of(at: Float[np.ndarray, "points 2"], names: Sequence[str], wide: float, tall: float) -> list[str]:
    """The side of each point on which its name overlaps least with points and earlier names, and stays inside.

    Positions are in points from the lower left corner.
    """
    occupied = [(x - POINT, y - POINT, x + POINT, y + POINT) for x, y in at.tolist()]
    chosen: list[str] = []
    for (x, y), name in zip(at.tolist(), names, strict=True):
        length = LETTER * len(name)
        options = {}
        for side, (right, up, _) in SIDES.items():
            left = x + {1: POINT, -1: -POINT - length, 0: -length / 2}[right]
            low = y + {1: POINT, -1: -POINT - LINE, 0: -LINE / 2}[up]
            options[side] = (left, low, left + length, low + LINE)
        best = min(options, key=lambda side: _covered(options[side], occupied, (0, 0, wide, tall)))
        occupied.append(options[best])
        chosen.append(best)
    return chosen


Box = tuple[float, float, float, float]
"""Left, low, right, high."""


def _covered(box: Box, occupied: Sequence[Box], frame: Box) -> float:
    """The overlap of a box with the occupied ones, plus ten times its area outside the frame."""
    whole = (box[2] - box[0]) * (box[3] - box[1])
    return 10 * (whole - _overlap(box, frame)) + sum(_overlap(box, each) for each in occupied)


def _overlap(one: Box, other: Box) -> float:
    """The area that two boxes share."""
    wide = min(one[2], other[2]) - max(one[0], other[0])
    high = min(one[3], other[3]) - max(one[1], other[1])
    return max(wide, 0.0) * max(high, 0.0)
