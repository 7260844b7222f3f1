"""Draws pictures for studies: blurred heads between cat and dog."""

from __future__ import annotations

from pathlib import Path

from PIL import Image, ImageDraw, ImageFilter

SIDE = 160
LARGE = 4
"""Drawing scale; the picture is then reduced, for smooth edges."""
Point = tuple[float, float]


def draw_animal(path: Path, dogness: float, blur: float = 2.0) -> None:
    """Write a picture of a head: a cat if `dogness` is 0, a dog if it is 1, a mixture between."""
    path.parent.mkdir(parents=True, exist_ok=True)
    picture = Image.new("RGB", (SIDE * LARGE, SIDE * LARGE), "#d9d4c7")
    _Head(ImageDraw.Draw(picture), dogness).draw()
    small = picture.resize((SIDE, SIDE), Image.Resampling.LANCZOS)
    small.filter(ImageFilter.GaussianBlur(blur)).save(path)


class _Head:
    """A head on a canvas of size 1 x 1."""

    def __init__(self, draw: ImageDraw.ImageDraw, dogness: float) -> None:
        self._on, self._dog = draw, dogness
        self._fur = _mixed((118, 112, 108), (150, 104, 62), dogness)
        self._dark = _mixed((82, 78, 76), (92, 58, 32), dogness)
        self._pale = _mixed((186, 180, 174), (216, 184, 146), dogness)

    def draw(self) -> None:
        for side in (-1, 1):
            # A cat's ears are upright and pointed, a dog's hang down.
            self._ear(side)
        self._oval((0.5, 0.55), self._between(0.31, 0.26), self._between(0.27, 0.32), self._fur)
        for side in (-1, 1):
            self._ear(side, within=True)
            eye = (0.5 + side * self._between(0.13, 0.1), self._between(0.5, 0.47))
            self._oval(
                eye,
                self._between(0.05, 0.036),
                self._between(0.045, 0.036),
                _mixed((168, 178, 92), (58, 38, 24), self._dog),
            )
            self._oval(eye, self._between(0.014, 0.02), self._between(0.042, 0.022), (24, 20, 18))
        # A dog has a larger muzzle and nose.
        self._oval((0.5, self._between(0.66, 0.7)), self._between(0.11, 0.14), self._between(0.075, 0.14), self._pale)
        self._oval(
            (0.5, self._between(0.625, 0.63)),
            self._between(0.026, 0.058),
            self._between(0.018, 0.042),
            _mixed((178, 112, 108), (34, 28, 26), self._dog),
        )
        self._mouth()
        self._whiskers()

    def _ear(self, side: int, *, within: bool = False) -> None:
        size = 0.62 if within else 1.0
        cat: tuple[Point, ...] = ((0.07, 0.32), (0.27, 0.09), (0.31, 0.47))
        dog: tuple[Point, ...] = ((0.13, 0.27), (0.4, 0.42), (0.26, 0.72))
        if within and self._dog > 0.5:
            return
        corners = [(self._between(a[0], b[0]), self._between(a[1], b[1])) for a, b in zip(cat, dog, strict=True)]
        middle = (sum(x for x, _ in corners) / 3, sum(y for _, y in corners) / 3)
        shape = [(middle[0] + size * (x - middle[0]), middle[1] + size * (y - middle[1])) for x, y in corners]
        points = [self._at((0.5 + side * x, y)) for x, y in shape]
        color = _mixed((178, 132, 126), self._fur, self._dog * 2) if within else self._dark
        self._on.polygon(points, fill=color)
        # Rounder corners for a dog.
        width = int(SIDE * LARGE * self._between(0.02, 0.11)) if not within else 4
        self._on.line([*points, points[0], points[1]], fill=color, width=width, joint="curve")

    def _mouth(self) -> None:
        bottom = self._between(0.69, 0.76)
        for side in (-1, 1):
            near, far = sorted((0.5, 0.5 + side * self._between(0.07, 0.1)))
            box = [*self._at((near, bottom - 0.04)), *self._at((far, bottom + 0.02))]
            self._on.arc(box, 10, 170, fill=(70, 52, 46), width=6)

    def _whiskers(self) -> None:
        if self._dog > 0.7:
            return
        pale = _mixed((240, 236, 230), self._fur, self._dog)
        for side in (-1, 1):
            for up in (-0.05, 0.0, 0.05):
                self._on.line(
                    [self._at((0.5 + side * 0.12, 0.67)), self._at((0.5 + side * 0.4, 0.66 + up * 1.6))],
                    fill=pale,
                    width=5,
                )

    def _oval(self, middle: Point, across: float, down: float, color: tuple[int, int, int]) -> None:
        (x, y) = middle
        self._on.ellipse([*self._at((x - across, y - down)), *self._at((x + across, y + down))], fill=color)

    def _at(self, point: Point) -> Point:
        return point[0] * SIDE * LARGE, point[1] * SIDE * LARGE

    def _between(self, cat: float, dog: float) -> float:
        return cat + (dog - cat) * self._dog


def _mixed(one: tuple[int, int, int], other: tuple[int, int, int], share: float) -> tuple[int, int, int]:
    part = min(max(share, 0.0), 1.0)
    red, green, blue = (round(a + (b - a) * part) for a, b in zip(one, other, strict=True))
    return red, green, blue
