"""Annotations -> Beliefs: what an answer means. One labeler a file; `LABELERS` lists them all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from sfumato.errors import BadSetting, listing, unknown
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


def strategy_named(family: str, members: tuple[Any, ...], name: str, settings: Mapping[str, Any]) -> Any:
    """The member of `members` called `name`, made with `settings`; errors list the names and the settings there are."""
    member = next((each for each in members if each.name == name), None)
    if member is None:
        raise unknown(family, name, [each.name for each in members])
    known = {field.name: field for field in fields(member)}
    for setting in settings:
        if setting not in known:
            raise BadSetting(
                f"found the setting {setting.replace('_', '-')} for {name}",
                expected=f"settings of {name}: {listing([n.replace('_', '-') for n in known]) or 'it has none'}",
                fix=f"leave out --{setting.replace('_', '-')}, or choose another {family}",
                code="bad-setting",
            )
    for setting, field in known.items():
        if field.default is MISSING and field.default_factory is MISSING and setting not in settings:
            raise BadSetting(
                f"found no {setting} for {name}", expected=f"the setting {setting}", fix=f"give --{setting.replace('_', '-')}",
                code="bad-setting",
            )  # fmt: skip
    return member(**settings)
