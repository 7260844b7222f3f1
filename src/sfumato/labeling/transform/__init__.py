"""Distributions -> distributions: what can be done to labels that exist. One transform a file; `TRANSFORMS` lists them.

Each takes Beliefs or SoftLabels and gives back the same, item by item; people's counts stay as they were.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.labeling.transform.class_means import ClassMeans
from sfumato.labeling.transform.infill import Infill
from sfumato.labeling.transform.rows import Transform
from sfumato.labeling.transform.smooth import Smooth
from sfumato.labeling.transform.sparsify import Sparsify
from sfumato.labeling.transform.temper import Temper
from sfumato.tables.strategies import strategy_from_name

TRANSFORMS: tuple[Any, ...] = (Smooth, ClassMeans, Sparsify, Temper, Infill)

__all__ = [
    "TRANSFORMS",
    "ClassMeans",
    "Infill",
    "Smooth",
    "Sparsify",
    "Temper",
    "Transform",
    "transform_named",
]


def transform_named(name: str, settings: Mapping[str, Any]) -> Transform:
    """The transform called `name` with `settings`."""
    return strategy_from_name("transform", TRANSFORMS, name, settings)  # type: ignore[no-any-return]
