"""SettingSelection: settings that every run chooses on its validation items, and the grid of trials that this needs.

`rate=0.01,0.1` is a setting of the recipe or optimizer; `smoothing.share=0.1,0.2` a setting of a target, model, mixing,
schedule or augmentation by its name. A run tries all combinations of the settings that apply to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from typing import TYPE_CHECKING, Any

from sfumato.tables.errors import BadSetting, ErrorLocation, UnknownName, listing, nearest, show
from sfumato.tables.strategies import StrategyText, settings_for, split_choices
from sfumato.training.models import is_network
from sfumato.training.models.imported_estimator import ImportedEstimator
from sfumato.training.training_set import PEOPLE
from sfumato.training.validation_scores import REFERENCES

if TYPE_CHECKING:
    from sfumato.training.grid import Grid
    from sfumato.training.recipe import Recipe

Settings = Mapping[str, Any]
PARTS = ("optimiser", "schedule", "mixing", "augmentation")
"""The parts of a recipe that have a name and settings."""
NOT_SELECTED = ("validation", "dynamics", "predictions_each_epoch", "stacked", *PARTS)
"""Settings of a recipe that are not chosen."""
EXAMPLE = "rate=0.01,0.1 or smoothing.share=0.1,0.2"


@dataclass(frozen=True)
class SettingSelection:
    """The values to try for each setting. Of its trials, every run keeps the one with the lowest cross-entropy on the
    validation items `by` people's labels, or by the original ones."""

    settings: Mapping[str, tuple[Any, ...]]
    by: str = PEOPLE

    def __post_init__(self) -> None:
        if self.by not in REFERENCES:
            found, expected = f"a selection by {show(self.by)}", f"one of {listing(REFERENCES)}"
            raise BadSetting(found, expected, f"write --select-by {PEOPLE}")
        for name, values in self.settings.items():
            if not values or len({str(value) for value in values}) < len(values):
                found, fix = f"{name} = {listing([str(value) for value in values])}", f"write for example {EXAMPLE}"
                raise BadSetting(found, "the values to choose from, each once", fix)

    @classmethod
    def of(cls, given: Mapping[str, Any], by: str = PEOPLE, where: ErrorLocation | None = None) -> SettingSelection:
        """From values by setting; the settings of one target or model can be a table inside."""
        found: dict[str, tuple[Any, ...]] = {}
        for name, values in given.items():
            inner = {f"{name}.{key}": each for key, each in values.items()} if isinstance(values, Mapping) else {}
            for full, each in (inner or {name: values}).items():
                if isinstance(each, (str, Mapping)) or not isinstance(each, Sequence):
                    found_text, fix = f"{full} = {show(each)}", f"write a list: {full} = [0.01, 0.1]"
                    raise BadSetting(found_text, "a list of the values to choose from", fix, where=where)
                found[_spelled(full)] = tuple(each)
        return cls(found, by)

    def described(self) -> dict[str, Any]:
        """As JSON values, for `run.json`."""
        return {"by": self.by, **{name: list(values) for name, values in self.settings.items()}}


def values_of_options(options: Sequence[str]) -> dict[str, list[Any]]:
    """The values by setting, from texts such as `rate=0.01,0.1`."""
    found: dict[str, list[Any]] = {}
    for option in options:
        name, equals, values = option.partition("=")
        if not name.strip() or not equals or not values.strip():
            raise BadSetting(f"--select {show(option)}", "a setting and its values", f"write for example {EXAMPLE}")
        if _spelled(name) in found:
            raise BadSetting(f"--select {name.strip()} twice", "each setting once", "write all values in one option")
        texts = [StrategyText.of(f"setting:value={each}") for each in split_choices(values)]
        found[_spelled(name)] = [text.settings["value"] for text in texts]
    return found


def _spelled(name: str) -> str:
    """A setting as it is written on the command line: `weight-decay`."""
    return name.strip().replace("_", "-")


@dataclass(frozen=True)
class SettingTrial:
    """One combination of settings, with the names of its target, model and recipe in the grid of trials."""

    target: str
    network: str
    recipe: str
    settings: Settings


@dataclass(frozen=True)
class _Variant:
    """A target, model or recipe with some settings replaced."""

    name: str
    strategy: Any
    settings: Settings


@dataclass(frozen=True)
class TrialGrid:
    """All trials of a grid with a selection, and which of them belong to a target, model and recipe of that grid."""

    grid: Grid
    trials: Mapping[tuple[str, str, str], tuple[SettingTrial, ...]]

    @classmethod
    def of(cls, grid: Grid) -> TrialGrid:
        """The trials; an error for a setting that nothing in the grid has."""
        assert grid.selection is not None
        values, used = grid.selection.settings, set[str]()
        targets = {name: _strategy_variants(name, each, values, used) for name, each in grid.targets.items()}
        models = {name: _strategy_variants(name, each, values, used) for name, each in grid.networks.items()}
        recipes: dict[str, list[_Variant]] = {}
        for name, model in grid.networks.items():
            if is_network(model):
                found = {key: _recipe_variants(key, each, values, used) for key, each in grid.recipes_of(name).items()}
                recipes |= found
        unused = [name for name in values if name not in used]
        if unused:
            raise _unknown(unused[0], grid)
        if grid.pretraining is not None and any(len(each) > 1 for each in models.values()):
            found_text = "a selection of settings of a network that is pretrained"
            raise BadSetting(found_text, "settings of targets or of the recipe", "select others, or do not pretrain")
        trials: dict[tuple[str, str, str], tuple[SettingTrial, ...]] = {}
        for target, network in product(targets, models):
            for recipe in grid.recipes_of(network):
                own = recipes[recipe] if is_network(grid.networks[network]) else [_Variant("", None, {})]
                trials[target, network, recipe] = tuple(
                    SettingTrial(a.name, b.name, c.name, {**a.settings, **b.settings, **c.settings})
                    for a, b, c in product(targets[target], models[network], own)
                )
        tried = replace(
            grid,
            targets={each.name: each.strategy for own in targets.values() for each in own},
            networks={each.name: each.strategy for own in models.values() for each in own},
            recipes={each.name: each.strategy for own in recipes.values() for each in own},
            selection=None,
        )
        return cls(tried, trials)


def _strategy_variants(name: str, strategy: Any, values: Mapping[str, Sequence[Any]], used: set[str]) -> list[_Variant]:
    """A target or model with every combination of its selected settings."""
    own = {full: full.partition(".")[2] for full in values if _is_of(full, name, strategy)}
    used |= set(own)
    written = StrategyText.of(name).settings if own and ":" in name else {}
    for full, setting in own.items():
        if setting.replace("-", "_") in written:
            found = f"{name}, and a selection of {full}"
            raise BadSetting(found, "one of them", f"leave {setting} out of the name, or do not select it")
    return [
        _Variant(
            ":".join([name, *(f"{own[full]}={_shown(value)}" for full, value in chosen.items())]),
            _replaced(strategy, {own[full]: value for full, value in chosen.items()}),
            chosen,
        )
        for chosen in _combinations(own, values)
    ]


def _recipe_variants(name: str, recipe: Recipe, values: Mapping[str, Sequence[Any]], used: set[str]) -> list[_Variant]:
    """A recipe with every combination of the selected settings of it and its parts."""
    places: dict[str, tuple[str, str]] = {}
    for full in values:
        first, _, rest = full.partition(".")
        if rest:
            found = [part for part in PARTS if first in (part, getattr(getattr(recipe, part), "name", None))]
            if found:
                places[full] = (found[0], rest)
        elif first.replace("-", "_") in _names(recipe, NOT_SELECTED):
            places[full] = ("", first)
        elif first.replace("-", "_") in _names(recipe.optimiser):
            places[full] = ("optimiser", first)
    used |= set(places)
    variants = []
    for chosen in _combinations(places, values):
        made = recipe
        for full, value in chosen.items():
            part, setting = places[full]
            changed = _replaced(getattr(made, part) if part else made, {setting: value})
            made = replace(made, **{part: changed}) if part else changed
        texts = [name, *(f"{full}={_shown(value)}" for full, value in chosen.items())]
        variants.append(_Variant(",".join(filter(None, texts)), made, chosen))
    return variants


def _combinations(own: Mapping[str, Any], values: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(own, each, strict=True)) for each in product(*(values[full] for full in own))]


def _is_of(full: str, name: str, strategy: Any) -> bool:
    """Whether a setting is one of this strategy, which it names as runs do or by its family."""
    first, dot, _ = full.rpartition(".")
    return bool(dot) and first in (name.partition(":")[0], getattr(strategy, "name", None))


def _replaced(strategy: Any, settings: Settings) -> Any:
    """The strategy with other settings."""
    named = {setting.replace("-", "_"): value for setting, value in settings.items()}
    if isinstance(strategy, ImportedEstimator):
        return replace(strategy, settings=tuple({**dict(strategy.settings), **named}.items()))
    written = {setting: str(value) for setting, value in named.items()}
    return replace(strategy, **settings_for(type(strategy), named, written=written)) if named else strategy


def _names(strategy: Any, leave_out: Sequence[str] = ()) -> list[str]:
    return [each.name for each in fields(strategy) if each.name not in leave_out]


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _unknown(full: str, grid: Grid) -> UnknownName:
    """The error for a setting that nothing in the grid has."""
    recipe = grid.recipe if grid.has_networks else None
    known = [] if recipe is None else [*_names(recipe, NOT_SELECTED), *_names(recipe.optimiser)]
    strategies = [*grid.targets.items(), *grid.networks.items()]
    if recipe is not None:
        parts = [getattr(each, part) for each in (grid.recipes or {"": recipe}).values() for part in PARTS]
        strategies += [(part.name, part) for part in parts if part is not None]
    for name, strategy in strategies:
        if hasattr(strategy, "__dataclass_fields__"):
            known += [f"{name.partition(':')[0]}.{setting}" for setting in _names(strategy)]
    options = list(dict.fromkeys(map(_spelled, known)))
    found = f"a selection of {full}, which no target, model or recipe of this experiment has"
    same = next((name for name in options if name.rpartition(".")[2] == full.rpartition(".")[2]), None)
    guess = f"did you mean {same!r}? " if same else nearest(full, options)
    fix = f"{guess}leave it out, or add what it belongs to"
    return UnknownName(found, f"one of {listing(options)}", fix, "unknown-setting")
