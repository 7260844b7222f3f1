"""Image corruptions with the constants of CIFAR-10-C, each in five severities. `CORRUPTIONS` lists them all.

A corruption is a frozen dataclass with a `name` and `apply(images, severity, rng) -> images`.
"""

from __future__ import annotations

from typing import Any

from sfumato.tables.strategies import strategy_from_name
from sfumato.training.corruptions.color import Brightness, Contrast, Saturate
from sfumato.training.corruptions.corruption import SEVERITIES, Corruption, check_severity
from sfumato.training.corruptions.noise import GaussianBlur, GaussianNoise, ImpulseNoise, ShotNoise, SpeckleNoise
from sfumato.training.corruptions.resolution import Jpeg, Pixelate

CORRUPTIONS: tuple[Any, ...] = (
    GaussianNoise, ShotNoise, ImpulseNoise, SpeckleNoise, GaussianBlur, Contrast, Brightness, Saturate, Jpeg, Pixelate,
)  # fmt: skip

__all__ = [
    "CORRUPTIONS",
    "SEVERITIES",
    "Brightness",
    "Contrast",
    "Corruption",
    "GaussianBlur",
    "GaussianNoise",
    "ImpulseNoise",
    "Jpeg",
    "Pixelate",
    "Saturate",
    "ShotNoise",
    "SpeckleNoise",
    "check_severity",
    "corruption_named",
]


def corruption_named(name: str) -> Corruption:
    """The corruption called `name`."""
    return strategy_from_name("corruption", CORRUPTIONS, name, {})  # type: ignore[no-any-return]
