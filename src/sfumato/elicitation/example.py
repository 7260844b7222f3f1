"""A small study that works at once: shapes between a circle and a square, from clear to undecidable."""

from __future__ import annotations

from pathlib import Path

CLASSES = ("circle", "square")
TITLE = "Circle or square?"
N_PICTURES = 12
SIDE = 160
EXAMPLE_INSTRUCTIONS = """\
You will see shapes, one after the other. Some are **circles**, some are **squares**, and many lie between.
Say how likely each is. Doubt is a good answer where there is doubt."""
PRACTICE = """\
[[practice]]
item = "circle/shape-01"
feedback = "A clear circle: here one can be sure."

[[practice]]
item = "square/shape-12"
feedback = "A clear square: here one can be sure, too."

"""

FEW = {"pairs": 12, "triplets": 12}
"""Settings of the kinds that draw several items together: few, as there are few pictures."""


def draw_shapes(folder: Path) -> None:
    """Write the pictures into `folder`, one folder a class: the corners of a square, from wholly round to sharp."""
    from PIL import Image, ImageDraw

    for number in range(N_PICTURES):
        squareness = number / (N_PICTURES - 1)
        place = folder / CLASSES[squareness > 0.5]
        place.mkdir(parents=True, exist_ok=True)
        # Drawn four times as large and made smaller, for smooth edges.
        image = Image.new("RGB", (4 * SIDE, 4 * SIDE), "#f4f1ea")
        edges = (0.6 * SIDE, 0.6 * SIDE, 3.4 * SIDE, 3.4 * SIDE)
        ImageDraw.Draw(image).rounded_rectangle(edges, 1.4 * SIDE * (1 - squareness), fill="#37506b")
        image.resize((SIDE, SIDE), Image.Resampling.LANCZOS).save(place / f"shape-{number + 1:02}.png")
