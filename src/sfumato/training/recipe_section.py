"""The recipes of an experiment file: one, or one per mixing, with the default augmentation of natural images."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sfumato.tables.errors import BadSetting, ErrorLocation, show
from sfumato.tables.strategies import StrategyText, settings_for, strategy_from_name
from sfumato.training.training_set import TrainingSet

if TYPE_CHECKING:
    from sfumato.training.mixing import Mixing
    from sfumato.training.recipe import Recipe

FAMILIES = ("optimiser", "schedule", "mixing", "augmentation")
"""Parts of a recipe; each has its own section."""
DEFAULTS = {"optimiser": "adam", "schedule": "constant", "mixing": "plain", "augmentation": "crop-and-flip"}
"""The strategy of a section that has settings and no name."""
NO_AUGMENTATION = "none"
NATURAL_CHANNELS, NATURAL_SIDE = 3, 24
"""Images in color with sides of at least this many pixels are taken to be natural images."""
AUGMENTED = (
    "color images are cropped and mirrored at random in training: omit it with --augment none; "
    "for digits and letters use --augment crop-and-flip:flip=false"
)


def are_natural(data: TrainingSet) -> bool:
    """Whether crops and mirrored images are used by default: on CIFAR-10H they raise the accuracy of every target."""
    shape = data.images.shape
    return data.kind == "images" and shape[3:] == (NATURAL_CHANNELS,) and min(shape[1:3]) >= NATURAL_SIDE


def recipe_of(
    sections: Mapping[str, Any],
    own: Any,
    above: tuple[str, ...],
    where: Callable[..., ErrorLocation],
    *,
    natural: bool,
) -> Recipe:
    """The recipe with the settings `own` and the parts in `sections`; `natural` images are augmented by default."""
    from sfumato.training.optimizers import OPTIMIZERS, SCHEDULES
    from sfumato.training.recipe import CropAndFlip, Recipe

    members = {"optimiser": OPTIMIZERS, "schedule": SCHEDULES, "augmentation": (CropAndFlip,)}
    parts: dict[str, Any] = {"augmentation": CropAndFlip()} if natural else {}
    for family, known in members.items():
        if family in sections:
            value = sections[family]
            is_none = family == "augmentation" and value == NO_AUGMENTATION
            parts[family] = None if is_none else _part(family, value, known, where(*above, family))
    if "mixing" in sections and not isinstance(sections["mixing"], list):
        parts["mixing"] = _mixing(sections["mixing"], where(*above, "mixing"))
    place = where(*(above or ("recipe",)))
    if not isinstance(own, Mapping):
        found, fix = f"recipe = {show(own)}", "change recipe; examples/grid.toml shows every key"
        raise BadSetting(found, "a section [recipe]", fix, where=where("recipe"))
    return Recipe(**settings_for(Recipe, own, leave_out=FAMILIES, where=place), **parts)


def recipes_by_mixing(recipe: Recipe, mixings: Sequence[Any], where: ErrorLocation | None = None) -> dict[str, Recipe]:
    """The recipe once per mixing, by the names of the mixings; `plain` has an empty name, as without other mixings."""
    found: dict[str, Recipe] = {}
    for value in mixings:
        made = value if hasattr(value, "mixed") else _mixing(value, where)
        text = made.name if made is value else StrategyText.of(value, where).text
        name = "" if made.name == DEFAULTS["mixing"] else text
        if name in found:
            raise BadSetting(f"the mixing {text} twice", "each mixing once", "leave one out", where=where)
        found[name] = replace(recipe, mixing=made)
    if not found:
        raise BadSetting("no mixing", "at least one", "write plain for no mixing", where=where)
    return found


def _mixing(value: Any, where: ErrorLocation | None) -> Mixing:
    from sfumato.training.mixing import MIXINGS

    return _part("mixing", value, MIXINGS, where)  # type: ignore[no-any-return]


def _part(family: str, value: Any, known: tuple[Any, ...], where: ErrorLocation | None) -> Any:
    value = {"name": DEFAULTS[family], **value} if isinstance(value, Mapping) else value
    choice = StrategyText.of(value, where)
    return strategy_from_name(family, known, choice.name, choice.typed(known, where))
