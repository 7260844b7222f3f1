"""Annotations -> Beliefs: what an answer means. One labeler a file; `LABELERS` lists them all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.label.answers import Labeler
from sfumato.label.mixture import Mixture
from sfumato.label.one_hot import OneHot
from sfumato.label.plausible import PlausibleEqual, PlausibleWeighted, plausible_doubt
from sfumato.label.select_top_two import SelectTopTwo
from sfumato.label.similarity import ClassSimilarity
from sfumato.label.sliders import Sliders
from sfumato.label.tokens import Tokens
from sfumato.label.top_one_clamp import TopOneClamp
from sfumato.label.top_one_uniform import TopOneUniform
from sfumato.label.top_two_clamp import TopTwoClamp
from sfumato.label.top_two_similar import TopTwoSimilar
from sfumato.label.top_two_uniform import TopTwoUniform
from sfumato.label.typicality import Typicality
from sfumato.tables.strategies import strategy_named

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
    Sliders,
    Tokens,
    Typicality,
    Mixture,
)

__all__ = [
    "LABELERS",
    "ClassSimilarity",
    "Labeler",
    "Mixture",
    "OneHot",
    "PlausibleEqual",
    "PlausibleWeighted",
    "SelectTopTwo",
    "Sliders",
    "Tokens",
    "TopOneClamp",
    "TopOneUniform",
    "TopTwoClamp",
    "TopTwoSimilar",
    "TopTwoUniform",
    "Typicality",
    "labeler_named",
    "plausible_doubt",
]


def labeler_named(name: str, settings: Mapping[str, Any]) -> Labeler:
    """The labeler called `name` with `settings`; the one place where a name becomes an object."""
    return strategy_named("labeler", LABELERS, name, settings)  # type: ignore[no-any-return]
