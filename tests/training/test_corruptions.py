"""Corruptions by hand: what each does to a pixel, with the published constants."""

from __future__ import annotations

import colorsys
import io
import math

import numpy as np
import pytest
from PIL import Image

from sfumato.tables.errors import BadTable, MissingExtra
from sfumato.training.corruptions import (
    SEVERITIES,
    Brightness,
    Contrast,
    GaussianBlur,
    GaussianNoise,
    ImpulseNoise,
    Jpeg,
    Pixelate,
    Saturate,
    ShotNoise,
    SpeckleNoise,
)


def luck() -> np.random.Generator:
    return np.random.default_rng(3)


def photo(n: int = 20, size: int = 32) -> np.ndarray:
    rng = np.random.default_rng(1)
    rough = rng.integers(0, 256, (n, size, size, 3))
    return ((rough + np.roll(rough, 1, 1) + np.roll(rough, 1, 2)) // 3).astype(np.uint8)


def even(value: int, n: int = 40) -> np.ndarray:
    return np.full((n, 32, 32, 3), value, np.uint8)


@pytest.mark.parametrize(
    ("corruption", "spread"),
    [
        # Of pixels of 100: the standard deviation of c, of sqrt(x / c), and of c x, each in 255ths.
        (GaussianNoise(), lambda s: 255 * (0.04, 0.06, 0.08, 0.09, 0.10)[s - 1]),
        (ShotNoise(), lambda s: 255 * math.sqrt(100 / 255 / (500, 250, 100, 75, 50)[s - 1])),
        (SpeckleNoise(), lambda s: 100 * (0.06, 0.1, 0.12, 0.16, 0.2)[s - 1]),
    ],
    ids=["gaussian", "shot", "speckle"],
)
def test_noise_is_as_strong_as_published(corruption: object, spread: object) -> None:
    for severity in SEVERITIES:
        out = corruption.apply(even(100), severity, luck()).astype(float)  # type: ignore[attr-defined]
        # Pixels are cut down, by half a step on average; where photons are about a step each, that adds up to 2 %.
        assert out.std() == pytest.approx(spread(severity), rel=0.025)  # type: ignore[operator]
        assert out.mean() == pytest.approx(99.5, abs=0.3)


def test_impulses_are_half_salt_half_pepper_and_leave_the_rest() -> None:
    for severity, share in zip(SEVERITIES, (0.01, 0.02, 0.03, 0.05, 0.07), strict=True):
        out = ImpulseNoise().apply(even(100), severity, luck())
        assert set(np.unique(out)) == {0, 100, 255}
        for end in (0, 255):
            assert (out == end).mean() == pytest.approx(share / 2, rel=0.08)
        # Each colour by itself: most pixels that are hit keep two of three.
        hit = (out != 100).sum(axis=-1)
        assert (hit == 1).sum() > 10 * (hit == 3).sum()


def test_blur_is_a_gaussian_whose_edge_goes_on() -> None:
    dot = np.zeros((1, 15, 15), np.uint8)
    dot[0, 7, 7] = 255
    for severity, width in zip(SEVERITIES, (0.4, 0.6, 0.7, 0.8, 1.0), strict=True):
        reach = int(4 * width + 0.5)
        weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / width) ** 2)
        weights /= weights.sum()
        out = GaussianBlur().apply(dot, severity, luck())[0]
        expected = np.zeros((15, 15))
        expected[7 - reach : 8 + reach, 7 - reach : 8 + reach] = 255 * np.outer(weights, weights)
        assert np.array_equal(out, expected.astype(np.uint8))
        for value in (0, 1, 77, 254, 255):
            assert (GaussianBlur().apply(even(value, 1), severity, luck()) == value).all()


def test_contrast_by_hand() -> None:
    image = np.array([[[0, 100], [200, 60]]], np.uint8)  # mean 90
    assert Contrast().apply(image, 2, luck()).tolist() == [[[45, 95], [145, 75]]]
    assert Contrast().apply(image, 5, luck()).tolist() == [[[76, 91], [106, 85]]]  # 90 - 13.5, + 1.5, + 16.5, - 4.5
    colours = np.stack([image, np.full_like(image, 30), image], axis=-1)
    assert np.array_equal(Contrast().apply(colours, 2, luck())[..., 1], np.full_like(image, 30))


def hsv_changed(image: np.ndarray, change: object) -> np.ndarray:
    """Pixel by pixel through HSV, as floats from 0 to 255."""
    flat = [colorsys.hsv_to_rgb(*change(*colorsys.rgb_to_hsv(*(p / 255)))) for p in image.reshape(-1, 3)]  # type: ignore[operator]
    return 255 * np.array(flat).reshape(image.shape)


def test_brightness_and_saturation_are_those_of_hsv() -> None:
    images = photo(2, 12)
    images[0, 0] = 0
    images[0, 1] = 255
    images[0, 2] = 90  # no colour
    images[0, 3] = (200, 0, 0)
    for severity in SEVERITIES:
        more = (0.05, 0.1, 0.15, 0.2, 0.3)[severity - 1]
        exact = hsv_changed(images, lambda h, s, v, more=more: (h, s, min(v + more, 1)))
        out = Brightness().apply(images, severity, luck())
        np.testing.assert_allclose(out, exact - 0.5, rtol=0, atol=0.5 + 1e-6)
        a, b = ((0.3, 0), (0.1, 0), (1.5, 0), (2, 0.1), (2.5, 0.2))[severity - 1]
        exact = hsv_changed(images, lambda h, s, v, a=a, b=b: (h, min(a * s + b, 1), v))
        out = Saturate().apply(images, severity, luck())
        np.testing.assert_allclose(out, exact - 0.5, rtol=0, atol=0.5 + 1e-6)
    # Grey pixels take the hue of red where something is added: 90, 90 (1 - .2), 90 (1 - .2).
    assert Saturate().apply(images, 5, luck())[0, 2, 0].tolist() == [90, 72, 72]
    assert Brightness().apply(np.array([[[0, 40, 250]]], np.uint8), 5, luck()).tolist() == [[[76, 116, 255]]]


@pytest.mark.parametrize("images", [photo(3)[..., 0], photo(3)[..., :1]], ids=["no axis", "one channel"])
def test_grey_pictures_have_no_saturation(images: np.ndarray) -> None:
    with pytest.raises(BadTable) as caught:
        Saturate().apply(images, 1, luck())
    assert caught.value.code == "no-colour"


@pytest.mark.parametrize("images", [photo(5), photo(5, 28)[..., 0]], ids=["colour", "grey"])
def test_jpeg_and_pixelate_are_pillows_own_picture_by_picture(images: np.ndarray) -> None:
    size = images.shape[1]
    for severity in SEVERITIES:
        encoded = Jpeg().apply(images, severity, luck())
        pixelated = Pixelate().apply(images, severity, luck())
        small = int(size * (0.95, 0.9, 0.85, 0.75, 0.65)[severity - 1])
        for i, image in enumerate(images):
            file = io.BytesIO()
            Image.fromarray(image).save(file, "JPEG", quality=(80, 65, 58, 50, 40)[severity - 1])
            assert np.array_equal(encoded[i], np.asarray(Image.open(file)))
            box = Image.Resampling.BOX
            again = Image.fromarray(image).resize((small, small), box).resize((size, size), box)
            assert np.array_equal(pixelated[i], np.asarray(again))


def test_without_pillow_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "PIL", None)
    for corruption in (Jpeg(), Pixelate()):
        with pytest.raises(MissingExtra, match=r"sfumato\[train\]"):
            corruption.apply(photo(1), 1, luck())


def test_no_pictures_are_no_trouble() -> None:
    none = np.zeros((0, 8, 8, 3), np.uint8)
    for corruption in (GaussianNoise(), ImpulseNoise(), GaussianBlur(), Jpeg(), Pixelate()):
        assert corruption.apply(none, 1, luck()).shape == none.shape
