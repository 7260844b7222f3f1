"""What every corruption must do. One is tested by standing in `CORRUPTIONS`; each contract rejects a wrong one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from sfumato.tables.errors import BadTable, UnknownName
from sfumato.training.corruptions import CORRUPTIONS, SEVERITIES, Corruption, GaussianNoise, corruption_named


def pictures(*shape: int) -> np.ndarray:
    """Smooth in the large, rough in the small, as pictures are; some of it black, white and grey."""
    rng = np.random.default_rng(5)
    n, height, width, *channels = shape
    down, across = np.mgrid[:height, :width]
    waves = [
        np.sin(down / 5 + i) + np.cos(across / 4 - k) for i in range(n) for k in range(channels[0] if channels else 1)
    ]
    smooth = np.moveaxis(np.reshape(waves, (n, -1, height, width)), 1, 3).reshape(shape)
    images = np.clip(128 + 60 * smooth + rng.normal(0, 12, shape), 0, 255).astype(np.uint8)
    images[0, :4], images[0, 4:8], images[0, 8:10] = 0, 255, 100
    return images


def sorts(corruption: Corruption) -> list[np.ndarray]:
    """Colour of 32 px, and where it may be, grey of 28 px, with and without an axis for it; one is not square."""
    grey = [] if corruption.needs_color else [pictures(6, 28, 28), pictures(6, 28, 28, 1), pictures(3, 20, 28)]
    return [pictures(6, 32, 32, 3), *grey]


def luck(seed: int = 7) -> np.random.Generator:
    return np.random.default_rng(seed)


# The contracts.


def keeps_shape_and_type(corruption: Corruption) -> None:
    for images in sorts(corruption):
        for severity in SEVERITIES:
            out = corruption.apply(images, severity, luck())
            assert out.shape == images.shape
            assert out.dtype == np.uint8


def leaves_its_argument_alone(corruption: Corruption) -> None:
    for images in sorts(corruption):
        kept = images.copy()
        out = corruption.apply(images, 4, luck())
        assert np.array_equal(images, kept)
        assert not np.shares_memory(out, images)
        images.flags.writeable = False
        assert np.array_equal(corruption.apply(images, 4, luck()), out)


def draws_from_the_generator_alone(corruption: Corruption) -> None:
    for images in sorts(corruption):
        results = []
        for world in (1, 2):
            np.random.seed(world)
            results.append(corruption.apply(images, 3, luck()))
        assert np.array_equal(*results)


def grows_with_severity(corruption: Corruption) -> None:
    for images in sorts(corruption):
        away = [
            np.abs(corruption.apply(images, severity, luck()).astype(float) - images).mean() for severity in SEVERITIES
        ]
        assert 0 < away[0] < away[-1]


def treats_each_picture_by_itself(corruption: Corruption) -> None:
    """Luck is drawn picture after picture: those that follow change nothing, however many there are."""
    for images in sorts(corruption):
        many = np.concatenate([images] * 100)
        out = corruption.apply(many, 2, luck())
        assert np.array_equal(out[: len(images)], corruption.apply(images, 2, luck()))


def refuses_other_severities(corruption: Corruption) -> None:
    for severity in (0, 6, -1, 2.5, True):
        with pytest.raises(UnknownName) as caught:
            corruption.apply(pictures(1, 32, 32, 3), severity, luck())  # type: ignore[arg-type]
        assert caught.value.code == "unknown-severity"


def refuses_what_are_no_pictures(corruption: Corruption) -> None:
    for images in (pictures(2, 32, 32, 3) / 255, np.zeros((4, 4), np.uint8), np.zeros((1, 4, 4, 2), np.uint8)):
        with pytest.raises(BadTable):
            corruption.apply(images, 1, luck())


CONTRACTS = (
    keeps_shape_and_type,
    leaves_its_argument_alone,
    draws_from_the_generator_alone,
    grows_with_severity,
    treats_each_picture_by_itself,
    refuses_other_severities,
    refuses_what_are_no_pictures,
)


@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract.__name__)
@pytest.mark.parametrize("corruption", CORRUPTIONS, ids=lambda each: each.name)
def test_contract(corruption: Any, contract: Callable[[Corruption], None]) -> None:
    contract(corruption())


def test_names_are_distinct_and_found() -> None:
    names = [each.name for each in CORRUPTIONS]
    assert names == [
        "gaussian-noise", "shot-noise", "impulse-noise", "speckle-noise", "gaussian-blur", "contrast", "brightness",
        "saturate", "jpeg", "pixelate",
    ]  # fmt: skip
    for each in CORRUPTIONS:
        assert corruption_named(each.name) == each()
        assert isinstance(each(), Corruption)
    with pytest.raises(UnknownName, match="did you mean 'gaussian-blur'"):
        corruption_named("gausian-blur")


# A wrong corruption for each contract: noise, with one thing not as it should be.


@dataclass(frozen=True)
class _Wrong:
    name: ClassVar[str] = "wrong"
    needs_color: ClassVar[bool] = False

    def apply(self, images: np.ndarray, severity: int, rng: np.random.Generator) -> np.ndarray:
        return GaussianNoise().apply(images, severity, rng)


class GivesFloats(_Wrong):
    def apply(self, images: np.ndarray, severity: int, rng: np.random.Generator) -> np.ndarray:
        return super().apply(images, severity, rng) / 255


class AddsAnAxis(_Wrong):
    def apply(self, images: np.ndarray, severity: int, rng: np.random.Generator) -> np.ndarray:
        return super().apply(images, severity, rng)[..., None]


class WorksInPlace(_Wrong):
    def apply(self, images: np.ndarray, severity: int, rng: np.random.Generator) -> np.ndarray:
        images[:] = super().apply(images, severity, rng)
        return images.copy()


class DrawsFromTheWorld(_Wrong):
    def apply(self, images: np.ndarray, severity: int, rng: np.random.Generator) -> np.ndarray:
        return super().apply(images, severity, np.random.default_rng(np.random.randint(99)))


class IsAlwaysAlike(_Wrong):
    def apply(self, images: np.ndarray, severity: int, rng: np.random.Generator) -> np.ndarray:
        return super().apply(images, severity and 3 if severity in SEVERITIES else severity, rng)


class CountsBackwards(_Wrong):
    def apply(self, images: np.ndarray, severity: int, rng: np.random.Generator) -> np.ndarray:
        return super().apply(images, 6 - severity, rng)


class LooksAtAll(_Wrong):
    def apply(self, images: np.ndarray, severity: int, rng: np.random.Generator) -> np.ndarray:
        return super().apply(images + np.uint8(len(images) > 10), severity, rng)


class TakesAnySeverity(_Wrong):
    def apply(self, images: np.ndarray, severity: int, rng: np.random.Generator) -> np.ndarray:
        return super().apply(images, min(max(int(severity), 1), 5), rng)


class TakesAnything(_Wrong):
    def apply(self, images: np.ndarray, severity: int, rng: np.random.Generator) -> np.ndarray:
        return super().apply(np.zeros((1, 4, 4), np.uint8), severity, rng)


@pytest.mark.parametrize(
    ("contract", "wrong"),
    [
        (keeps_shape_and_type, GivesFloats()),
        (keeps_shape_and_type, AddsAnAxis()),
        (leaves_its_argument_alone, WorksInPlace()),
        (draws_from_the_generator_alone, DrawsFromTheWorld()),
        (grows_with_severity, IsAlwaysAlike()),
        (grows_with_severity, CountsBackwards()),
        (treats_each_picture_by_itself, LooksAtAll()),
        (refuses_other_severities, TakesAnySeverity()),
        (refuses_what_are_no_pictures, TakesAnything()),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_contract_rejects_a_wrong_corruption(contract: Callable[[Any], None], wrong: Any) -> None:
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        contract(wrong)


@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract.__name__)
def test_the_sound_part_of_the_wrong_ones_passes(contract: Callable[[Any], None]) -> None:
    contract(_Wrong())
