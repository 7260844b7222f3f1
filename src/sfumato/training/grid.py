"""Grid: targets x networks x seeds x folds with one recipe; its run groups, and the table of runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sfumato.tables.errors import BadSetting, show
from sfumato.tables.setting_checks import bad_setting
from sfumato.tables.strategies import described
from sfumato.training.label_set import label_set_of
from sfumato.training.models import is_network
from sfumato.training.models.model import Model
from sfumato.training.target_labels import Target

if TYPE_CHECKING:
    import torch

    from sfumato.training.networks.network import Network
    from sfumato.training.recipe import Recipe
    from sfumato.training.setting_selection import SettingSelection

PRETRAINED = "pretrained"
GROUP = "stack.json"
"""The file with the targets of a run group that is not finished; deleted last."""


def _default_recipe() -> Recipe:
    from sfumato.training.recipe import Recipe

    return Recipe()


@dataclass(frozen=True)
class RunKey:
    """One run of a grid: target, network, seed, fold (None for a pretrained network) and the name of its recipe."""

    target: str
    network: str
    seed: int
    fold: int | None
    recipe: str = ""
    """Empty if the grid has one recipe, and for models that are fitted in one step."""

    @property
    def label(self) -> str:
        """The target as scores and tables name it: with its recipe, `soft+mixup:alpha=0.4`."""
        return f"{self.target}+{self.recipe}" if self.recipe else self.target

    @property
    def name(self) -> str:
        """The name of its folder."""
        parts = [path_name(self.label).rstrip("-"), path_name(self.network).rstrip("-"), f"seed-{self.seed}"]
        return ".".join(parts if self.fold is None else [*parts, f"fold-{self.fold}"])


@dataclass(frozen=True)
class RunGroupKey:
    """Runs of one network, recipe, seed and fold that are trained together; they differ only in their targets."""

    targets: tuple[str, ...]
    network: str
    seed: int
    fold: int | None
    recipe: str = ""

    @property
    def runs(self) -> tuple[RunKey, ...]:
        return tuple(RunKey(target, self.network, self.seed, self.fold, self.recipe) for target in self.targets)


@dataclass(frozen=True)
class Grid:
    """What is compared. The keys of targets and networks are used in the names of runs."""

    targets: Mapping[str, Target]
    networks: Mapping[str, Network | Model]
    """The models: networks, and others that are fitted in one step."""
    seeds: tuple[int, ...] = (0,)
    recipe: Recipe = field(default_factory=_default_recipe)
    """How networks are trained."""
    pretraining: Recipe | None = None
    """How networks are pretrained on hard labels."""
    device: str = "cpu"
    recipes: Mapping[str, Recipe] = field(default_factory=dict)
    """Recipes that are compared, by their names in the runs, in place of `recipe`: several mixings, for example. The
    name of one of them can be empty."""
    selection: SettingSelection | None = None
    """Settings that every run chooses on its validation items."""
    validation: float = 0.0
    """The share of the training items used for validation, for models without a recipe."""

    def __post_init__(self) -> None:
        for what, values in (("targets", self.targets), ("networks", self.networks), ("seeds", self.seeds)):
            if not values:
                raise BadSetting(f"no {what}", "at least one", f"give {what}")
        if len(set(self.seeds)) < len(self.seeds) or min(self.seeds) < 0:
            raise BadSetting(f"the seeds {list(self.seeds)}", "integers from 0, each once", "choose other seeds")
        if not isinstance(self.validation, (int, float)) or not 0 <= self.validation < 1:
            raise bad_setting("validation", self.validation, "a share from 0 to below 1")
        if PRETRAINED in self.targets:
            found = f"a target called {PRETRAINED}"
            raise BadSetting(found, "another name: this one is used for pretrained networks", "rename it")
        groups = self._run_groups((0,), 1)
        names = [run.name for group in groups for run in group.runs]
        if len(set(names)) < len(names):
            found = "targets, networks or mixings whose runs would share a folder"
            raise BadSetting(found, "names that differ in letters and digits", "give each of them another name")
        if not self.has_networks:
            if self.pretraining is not None:
                found = "pretraining without a network"
                raise BadSetting(found, "a network to pretrain", "omit [pretraining], or train a network")
            return
        check_device(self.device)

    @property
    def has_networks(self) -> bool:
        return any(map(is_network, self.networks.values()))

    def run_groups(self, n_folds: int) -> list[RunGroupKey]:
        """All run groups, seed by seed: a grid that is stopped early has complete seeds."""
        return self._run_groups(self.seeds, n_folds)

    def recipes_of(self, network: str) -> Mapping[str, Recipe]:
        """The recipes that a network is trained with, by name; models that are fitted in one step have one, empty."""
        return self.recipes if self.recipes and is_network(self.networks[network]) else {"": self.recipe}

    def recipe_of(self, key: RunKey | RunGroupKey) -> Recipe:
        """The recipe of a run, or of the runs of a group."""
        if key.fold is None:
            assert self.pretraining is not None
            return self.pretraining
        return self.recipes_of(key.network)[key.recipe]

    def held_out(self, key: RunKey | RunGroupKey) -> float:
        """The share of the training items used for validation."""
        recipe = self.recipe_of(key)
        return self.validation if recipe is None else recipe.validation

    def _run_groups(self, seeds: tuple[int, ...], n_folds: int) -> list[RunGroupKey]:
        return [
            RunGroupKey(tuple(self.targets), network, seed, fold, recipe)
            for seed in seeds
            for network in self.networks
            for recipe in self.recipes_of(network)
            for fold in range(n_folds)
        ]

    def pretraining_groups(self) -> list[RunGroupKey]:
        """The networks to pretrain: one per network and seed."""
        if self.pretraining is None:
            return []
        networks = [name for name, model in self.networks.items() if is_network(model)]
        return [RunGroupKey((PRETRAINED,), network, seed, None) for seed in self.seeds for network in networks]

    def label_set_of(self, key: RunKey) -> str:
        """The label set that a run is trained on; empty if its target uses none."""
        return "" if key.fold is None else label_set_of(self.targets[key.target])

    def settings_of(self, key: RunKey) -> dict[str, Any]:
        """Everything except the data that determines a run."""
        is_pretraining = key.target == PRETRAINED and key.fold is None
        what = {
            "target": {"name": PRETRAINED} if is_pretraining else described(self.targets[key.target]),
            "network": described(self.networks[key.network]),
            "seed": key.seed,
            "fold": key.fold,
        }
        if self.selection is not None and not is_pretraining:
            what["select"] = self.selection.described()
        if not is_network(self.networks[key.network]):
            held_out = self.held_out(key)
            return {**what, "validation": held_out} if held_out else what
        return {
            **what,
            "recipe": described(self.recipe_of(key)),
            "pretraining": None if is_pretraining else described(self.pretraining),
            "device": self.device,
        }


@dataclass(frozen=True)
class RunRow:
    """The status of one run, as in the table of runs."""

    run: str
    target: str
    network: str
    seed: int
    fold: int | None
    label_set: str
    """The label set that the target is computed from; empty if it uses none."""
    status: str
    """`done` or `to do`."""
    epochs: int | None = None
    ended: str | None = None
    seconds: float | None = None

    @classmethod
    def of(cls, key: RunKey, label_set: str, status: str, *result: Any) -> RunRow:
        return cls(key.name, key.label, key.network, key.seed, key.fold, label_set, status, *result)


def check_device(name: str) -> torch.device:
    """The device called `name`, or an error if this machine does not have it."""
    import torch

    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        found, fix = f"the device {show(name)} ({str(error).splitlines()[0][:80]})", "omit --device to train on the CPU"
        raise BadSetting(found, "a device of this machine: cpu, cuda, cuda:1, mps ...", fix) from None
    return device


def path_name(name: str) -> str:
    """A name as part of a folder name: letters, digits, dots, dashes and the @ before a label set."""
    return "".join(c if c.isalnum() or c in ".-_@" else "-" for c in name)
