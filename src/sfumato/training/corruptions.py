"""Image corruptions with the constants and formulas of CIFAR-10-C (Hendrycks & Dietterich 2019), in five severities.

A corruption is a frozen dataclass with a `name`, `needs_color` and `apply(images, severity, rng) -> images`.
`CORRUPTIONS` lists them all. The constants are meant for images of 32 x 32 pixels; pixel values are truncated, not
rounded, as there.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Float
from scipy.ndimage import gaussian_filter1d

from sfumato.tables.errors import BadTable, missing_extra, unknown
from sfumato.tables.model_inputs import Images
from sfumato.tables.setting_checks import is_whole
from sfumato.tables.strategies import strategy_from_name

SEVERITIES = (1, 2, 3, 4, 5)
AT_ONCE = 128
"""Images processed at a time: few enough to fit into the processor's cache."""
RESIZED_AT_ONCE = 512

Pixels = Float[np.ndarray, "items height width channels"]
"""Images as numbers from 0 to 1; gray images have one channel."""


@runtime_checkable
class Corruption(Protocol):
    """A corruption. `severity` is 1 to 5; random numbers come from `rng`, image by image."""

    name: ClassVar[str]
    needs_color: ClassVar[bool]

    def apply(self, images: Images, severity: int, rng: np.random.Generator) -> Images: ...


T = TypeVar("T")


def at_severity(constants: tuple[T, ...], severity: int) -> T:
    """The constant of a severity."""
    return constants[check_severity(severity) - 1]


def check_severity(severity: int) -> int:
    """`severity`, or an error if it is not 1 to 5."""
    if not is_whole(severity) or severity not in SEVERITIES:
        raise unknown("severity", str(severity), [str(each) for each in SEVERITIES], fix="choose 1 (least) to 5 (most)")
    return severity


def check_images(images: np.ndarray) -> None:
    """Raise an error if these are not images with pixels from 0 to 255."""
    fits = images.ndim == 3 or (images.ndim == 4 and images.shape[3] in (1, 3))
    if images.dtype != np.uint8 or not fits:
        found = f"images of type {images.dtype} and shape {images.shape}"
        expected = "uint8 from 0 to 255, items x height x width [x 3]"
        raise BadTable(found, expected, "scale the pixels to 0..255, with channels last", "bad-images")


def changed(images: Images, change: Callable[[Pixels], Pixels]) -> Images:
    """The images after `change`, a few at a time; values are clipped to 0..1."""
    check_images(images)
    out = np.empty_like(images)
    for start in range(0, len(images), AT_ONCE):
        few = images[start : start + AT_ONCE]
        pixels = change(few.reshape(*few.shape[:3], -1) / 255.0)
        out[start : start + AT_ONCE] = whole_pixels(pixels).reshape(few.shape)
    return out


def whole_pixels(pixels: Pixels) -> Images:
    """Numbers from 0 to 1 as pixels from 0 to 255, truncated."""
    # A rounding error just below a whole number must not lose a gray level.
    return np.asarray(np.clip(pixels, 0, 1) * 255 + 1e-9).astype(np.uint8)


@dataclass(frozen=True)
class GaussianNoise:
    """`x + N(0, c)`: sensor noise in poor light. c = 0.04, 0.06, 0.08, 0.09, 0.10."""

    name: ClassVar[str] = "gaussian-noise"
    needs_color: ClassVar[bool] = False
    scales: ClassVar[tuple[float, ...]] = (0.04, 0.06, 0.08, 0.09, 0.10)

    def apply(self, images: Images, severity: int, rng: np.random.Generator) -> Images:
        scale = at_severity(self.scales, severity)
        return changed(images, lambda x: x + scale * rng.standard_normal(x.shape))


@dataclass(frozen=True)
class ShotNoise:
    """`Poisson(c x) / c`: photon noise, with c photons for white. c = 500, 250, 100, 75, 50."""

    name: ClassVar[str] = "shot-noise"
    needs_color: ClassVar[bool] = False
    photons: ClassVar[tuple[int, ...]] = (500, 250, 100, 75, 50)

    def apply(self, images: Images, severity: int, rng: np.random.Generator) -> Images:
        photons = at_severity(self.photons, severity)
        return changed(images, lambda x: rng.poisson(x * photons) / photons)


@dataclass(frozen=True)
class ImpulseNoise:
    """Salt and pepper: a share c of the pixels becomes 0 or 255, equally often. c = 0.01, 0.02, 0.03, 0.05, 0.07."""

    name: ClassVar[str] = "impulse-noise"
    needs_color: ClassVar[bool] = False
    shares: ClassVar[tuple[float, ...]] = (0.01, 0.02, 0.03, 0.05, 0.07)

    def apply(self, images: Images, severity: int, rng: np.random.Generator) -> Images:
        share = at_severity(self.shares, severity)
        check_images(images)
        chance = rng.random(images.shape, dtype=np.float32)
        out = images.copy()
        out[chance < share] = 255
        out[chance < share / 2] = 0
        return out


@dataclass(frozen=True)
class SpeckleNoise:
    """`x + x N(0, c)`: noise proportional to brightness. c = 0.06, 0.1, 0.12, 0.16, 0.2."""

    name: ClassVar[str] = "speckle-noise"
    needs_color: ClassVar[bool] = False
    scales: ClassVar[tuple[float, ...]] = (0.06, 0.1, 0.12, 0.16, 0.2)

    def apply(self, images: Images, severity: int, rng: np.random.Generator) -> Images:
        scale = at_severity(self.scales, severity)
        return changed(images, lambda x: x + x * scale * rng.standard_normal(x.shape))


@dataclass(frozen=True)
class GaussianBlur:
    """A Gaussian filter with a standard deviation of c pixels, truncated at 4 c; edge pixels are repeated outside.

    c = 0.4, 0.6, 0.7, 0.8, 1. Not random.
    """

    name: ClassVar[str] = "gaussian-blur"
    needs_color: ClassVar[bool] = False
    widths: ClassVar[tuple[float, ...]] = (0.4, 0.6, 0.7, 0.8, 1.0)

    def apply(self, images: Images, severity: int, rng: np.random.Generator) -> Images:  # noqa: ARG002
        width = at_severity(self.widths, severity)

        def blurred(x: Pixels) -> Pixels:
            down = gaussian_filter1d(x, width, axis=1, mode="nearest", truncate=4.0)
            return np.asarray(gaussian_filter1d(down, width, axis=2, mode="nearest", truncate=4.0))

        return changed(images, blurred)


@dataclass(frozen=True)
class Contrast:
    """`m + c (x - m)`, m the mean of the image's channel. c = 0.75, 0.5, 0.4, 0.3, 0.15."""

    name: ClassVar[str] = "contrast"
    needs_color: ClassVar[bool] = False
    factors: ClassVar[tuple[float, ...]] = (0.75, 0.5, 0.4, 0.3, 0.15)

    def apply(self, images: Images, severity: int, rng: np.random.Generator) -> Images:  # noqa: ARG002
        factor = at_severity(self.factors, severity)

        def flattened(x: Pixels) -> Pixels:
            mean = x.mean(axis=(1, 2), keepdims=True)
            return np.asarray((x - mean) * factor + mean)

        return changed(images, flattened)


@dataclass(frozen=True)
class Brightness:
    """HSV value increased by c, with the same hue and saturation: `x (v + c) / v`, v the largest channel of a pixel.

    A black pixel gets the gray level c. c = 0.05, 0.1, 0.15, 0.2, 0.3.
    """

    name: ClassVar[str] = "brightness"
    needs_color: ClassVar[bool] = False
    added: ClassVar[tuple[float, ...]] = (0.05, 0.1, 0.15, 0.2, 0.3)

    def apply(self, images: Images, severity: int, rng: np.random.Generator) -> Images:  # noqa: ARG002
        added = at_severity(self.added, severity)

        def brighter(x: Pixels) -> Pixels:
            value = x.max(axis=3, keepdims=True)
            raised = np.minimum(value + added, 1)
            return np.asarray(np.where(value > 0, x * (raised / np.where(value > 0, value, 1)), raised))

        return changed(images, brighter)


@dataclass(frozen=True)
class Saturate:
    """HSV saturation s becomes `a s + b`, with the same hue and value: `v - (v - x) s' / s`.

    (a, b) = (0.3, 0), (0.1, 0), (1.5, 0), (2, 0.1), (2.5, 0.2): first less, then more saturated. A gray pixel has the
    hue of red, which becomes visible if b is not 0, as in the published data. Not for gray images.
    """

    name: ClassVar[str] = "saturate"
    needs_color: ClassVar[bool] = True
    changes: ClassVar[tuple[tuple[float, float], ...]] = ((0.3, 0), (0.1, 0), (1.5, 0), (2, 0.1), (2.5, 0.2))

    def apply(self, images: Images, severity: int, rng: np.random.Generator) -> Images:  # noqa: ARG002
        factor, added = at_severity(self.changes, severity)
        if images.ndim != 4 or images.shape[3] != 3:
            found = f"gray images of shape {images.shape}"
            raise BadTable(found, "color images, for saturate", "omit saturate for gray images", "no-colour")

        def saturated(x: Pixels) -> Pixels:
            value = x.max(axis=3, keepdims=True)
            away = value - x
            most = away.max(axis=3, keepdims=True)
            is_gray = most == 0
            away = np.where(is_gray, value * np.array([0.0, 1.0, 1.0]), away)
            most = np.where(is_gray, value, most)
            before = np.where(is_gray, 0.0, most / np.where(value > 0, value, 1))
            after = np.clip(before * factor + added, 0, 1)
            # The largest difference becomes `value * after`; the others keep their proportion to it.
            return np.asarray(value - away * (value * after / np.where(most > 0, most, 1)))

        return changed(images, saturated)


@dataclass(frozen=True)
class Jpeg:
    """JPEG of quality c, as Pillow writes it: color at half the resolution. c = 80, 65, 58, 50, 40."""

    name: ClassVar[str] = "jpeg"
    needs_color: ClassVar[bool] = False
    qualities: ClassVar[tuple[int, ...]] = (80, 65, 58, 50, 40)

    def apply(self, images: Images, severity: int, rng: np.random.Generator) -> Images:  # noqa: ARG002
        quality = at_severity(self.qualities, severity)
        pillow = _pillow()
        check_images(images)
        out = np.empty_like(images)
        for i, image in enumerate(images):
            file = io.BytesIO()
            pillow.fromarray(_for_pillow(image)).save(file, "JPEG", quality=quality)
            out[i] = np.asarray(pillow.open(file)).reshape(image.shape)
        return out


@dataclass(frozen=True)
class Pixelate:
    """Resized to a share c of each side and back, by averaging over the area of a pixel.

    c = 0.95, 0.9, 0.85, 0.75, 0.65.
    """

    name: ClassVar[str] = "pixelate"
    needs_color: ClassVar[bool] = False
    shares: ClassVar[tuple[float, ...]] = (0.95, 0.9, 0.85, 0.75, 0.65)

    def apply(self, images: Images, severity: int, rng: np.random.Generator) -> Images:  # noqa: ARG002
        share = at_severity(self.shares, severity)
        check_images(images)
        height, width = images.shape[1:3]
        small = max(int(height * share), 1), max(int(width * share), 1)
        out = np.empty_like(images)
        for start in range(0, len(images), RESIZED_AT_ONCE):
            few = images[start : start + RESIZED_AT_ONCE]
            for rows, columns in (small, (height, width)):
                few = _resized(_resized(few, columns).swapaxes(1, 2), rows).swapaxes(1, 2)
            out[start : start + RESIZED_AT_ONCE] = few
        return out


def _resized(images: Images, width: int) -> Images:
    """The images resized to `width`; stacked vertically into one image, because rows are resized independently."""
    n_images, height, _, *channels = images.shape
    pillow = _pillow()
    tall = pillow.fromarray(_for_pillow(images.reshape(n_images * height, *images.shape[2:])))
    return np.asarray(tall.resize((width, n_images * height), pillow.Resampling.BOX)).reshape(
        n_images, height, width, *channels
    )


def _for_pillow(image: np.ndarray) -> np.ndarray:
    """An array for Pillow: gray images have no third axis."""
    return np.ascontiguousarray(image[..., 0] if image.shape[2:] == (1,) else image)


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        raise missing_extra(
            "Pillow", "to write JPEG and resize images", "train", ", or omit jpeg and pixelate"
        ) from error
    return Image


CORRUPTIONS: tuple[Any, ...] = (
    GaussianNoise, ShotNoise, ImpulseNoise, SpeckleNoise, GaussianBlur, Contrast, Brightness, Saturate, Jpeg, Pixelate,
)  # fmt: skip


def corruption_named(name: str) -> Corruption:
    """The corruption called `name`."""
    return strategy_from_name("corruption", CORRUPTIONS, name, {})  # type: ignore[no-any-return]
