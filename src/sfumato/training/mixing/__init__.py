"""Mixings: how a batch is mixed before networks see it, and the loss. `MIXINGS` lists them all.

`HumanMixtures` is not a mixing of batches: these images were mixed once, judged by people, and added to the items.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.tables.strategies import strategy_from_name
from sfumato.training.mixing.class_pair import ClassPair, CurveFit, Curves, PairCurve, ShareCurve
from sfumato.training.mixing.human_mixtures import HumanMixtures, MixtureSmoothing
from sfumato.training.mixing.mixture_judgments import Blend, Judgments, blends_of
from sfumato.training.mixing.mixup import EntropyWeighted, MixedBatch, Mixing, MixMaxEnt, Mixup, Plain

MIXINGS: tuple[Any, ...] = (Plain, Mixup, MixMaxEnt, EntropyWeighted, ClassPair)

__all__ = [
    "MIXINGS",
    "Blend",
    "ClassPair",
    "CurveFit",
    "Curves",
    "EntropyWeighted",
    "HumanMixtures",
    "Judgments",
    "MixMaxEnt",
    "MixedBatch",
    "Mixing",
    "MixtureSmoothing",
    "Mixup",
    "PairCurve",
    "Plain",
    "ShareCurve",
    "blends_of",
    "mixing_named",
]


def mixing_named(name: str, settings: Mapping[str, Any]) -> Mixing:
    """The mixing called `name` with `settings`."""
    return strategy_from_name("mixing", MIXINGS, name, settings)  # type: ignore[no-any-return]
