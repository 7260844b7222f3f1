"""Labelers: convert answers (Annotations) into per-annotator distributions (Beliefs). `LABELERS` lists them all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.labeling.class_similarity import ClassSimilarity
from sfumato.labeling.kind_labelers import (
    MixtureLabeler,
    OneHot,
    PlausibleEqual,
    PlausibleWeighted,
    SlidersLabeler,
    TokensLabeler,
    TypicalityLabeler,
    plausible_doubt,
)
from sfumato.labeling.labeler import Labeler
from sfumato.labeling.top_two_labelers import (
    SelectTopTwo,
    TopOneClamp,
    TopOneUniform,
    TopTwoClamp,
    TopTwoSimilar,
    TopTwoUniform,
)
from sfumato.tables.strategies import strategy_from_name

LABELERS: tuple[Any, ...] = (
    OneHot,
    TopTwoClamp,
    TopTwoUniform,
    TopOneClamp,
    TopOneUniform,
    SelectTopTwo,
    TopTwoSimilar,
    PlausibleEqual,
    PlausibleWeighted,
    SlidersLabeler,
    TokensLabeler,
    TypicalityLabeler,
    MixtureLabeler,
)

__all__ = [
    "LABELERS",
    "ClassSimilarity",
    "Labeler",
    "MixtureLabeler",
    "OneHot",
    "PlausibleEqual",
    "PlausibleWeighted",
    "SelectTopTwo",
    "SlidersLabeler",
    "TokensLabeler",
    "TopOneClamp",
    "TopOneUniform",
    "TopTwoClamp",
    "TopTwoSimilar",
    "TopTwoUniform",
    "TypicalityLabeler",
    "labeler_from_name",
    "labelers_of",
    "plausible_doubt",
]


def labeler_from_name(name: str, settings: Mapping[str, Any]) -> Labeler:
    """The labeler called `name` with `settings`; errors suggest labelers if `name` is a question type."""
    kinds = dict.fromkeys(kind for labeler in LABELERS for kind in labeler.kinds)
    also_called = {kind.replace("_", "-"): " or ".join(labelers_of(kind)) for kind in kinds}
    return strategy_from_name("labeler", LABELERS, name, settings, also_called=also_called)  # type: ignore[no-any-return]


def labelers_of(kind: str) -> list[str]:
    """The names of the labelers that convert answers to the question type `kind`, without its version."""
    return [labeler.name for labeler in LABELERS if kind in labeler.kinds]
