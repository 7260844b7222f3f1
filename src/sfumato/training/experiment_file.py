"""A whole grid as a TOML file: what is learnt from, what is compared, and how. The command line says the same.

Data is read and checked before torch is loaded, which takes longer than most mistakes are worth.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.study.text_file import read_text
from sfumato.study.toml_mistakes import lines_of
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.errors import BadFile, BadSetting, ErrorLocation, show, unknown
from sfumato.tables.inputs import Inputs
from sfumato.tables.soft_labels import SoftLabels
from sfumato.tables.strategies import StrategyText, described, settings_for, strategy_from_name
from sfumato.training.item_join import JoinedItems, join_items, read_original
from sfumato.training.splits import SPLITS, Fold, GivenFiles, NamedSplit, NoSplit, RandomSplit

if TYPE_CHECKING:
    from sfumato.training.experiment import Experiment
    from sfumato.training.grid import Grid
    from sfumato.training.recipe import Recipe

MAX_BYTES = 1_000_000
FAMILIES = ("optimiser", "schedule", "mixing", "augmentation")
"""What a recipe is made of; each is a section of its own."""
SECTIONS = ("data", "grid", "split", "recipe", *FAMILIES, "pretraining")
DATA = ("inputs", "labels", "original", "beliefs", "teachers")
GRID = ("targets", "networks", "seeds", "device")
USUAL = {"optimiser": "adam", "schedule": "constant", "mixing": "plain", "augmentation": "crop-and-flip"}
"""What is meant where a section gives settings and no name."""


@dataclass(frozen=True)
class DataPaths:
    """Where the data stands."""

    inputs: Path
    labels: Path | None = None
    original: Path | None = None
    beliefs: Path | None = None
    teachers: tuple[Path, ...] = ()


@dataclass(frozen=True, eq=False)
class LoadedData:
    """The data of a grid, read and parted."""

    data: JoinedItems
    folds: tuple[Fold, ...]
    before: JoinedItems | None
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class ExperimentFile:
    """A grid as it is asked for. `load` reads the data, `grid` makes the objects: each says what is wrong with it."""

    document: Mapping[str, Any]
    place: Callable[..., ErrorLocation]
    base: Path
    """The folder that paths are relative to."""

    @classmethod
    def read(cls, path: str | Path) -> ExperimentFile:
        """The grid of a TOML file; paths in it are relative to the file."""
        path = Path(path)
        text = read_text(path, limit=MAX_BYTES, what="a grid as TOML")
        try:
            document = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise BadFile(
                f"found text that is no TOML ({error})",
                expected="TOML, as in examples/grid.toml",
                fix="mend the line",
                code="bad-toml",
                where=ErrorLocation(str(path)),
            ) from error
        lines = lines_of(text)

        def place(*keys: str) -> ErrorLocation:
            found = next((lines[keys[:n]] for n in range(len(keys), 0, -1) if keys[:n] in lines), None)
            return ErrorLocation(str(path), line=found, column=".".join(keys) or None)

        return cls(document, place, path.parent)

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> ExperimentFile:
        """The grid of a document in memory; paths are relative to where the program runs."""
        return cls(document, lambda *_: ErrorLocation(), Path())

    def __post_init__(self) -> None:
        self._check_keys((), self.document, SECTIONS)
        for name in ("data", "grid", "pretraining"):
            section = self.document.get(name, {})
            if not isinstance(section, Mapping):
                raise self._bad((name,), section, f"a section [{name}]")
        self._check_keys(("data",), self.document.get("data", {}), DATA)
        self._check_keys(("grid",), self.document.get("grid", {}), GRID)

    # --- the data, without torch ---

    def load(self) -> LoadedData:
        """Read the data, bring it together and part it."""
        files = self._files("data", self.document.get("data", {}))
        split = self._split()
        inputs = Inputs.read(files.inputs)
        data = _read(files, inputs)
        parted = split.given(inputs) if isinstance(split, GivenFiles) else split
        folds = tuple(parted.folds(data.lesson))
        notes = [*data.notes]
        if isinstance(parted, NamedSplit) and (unlabelled := len(parted.train) - len(folds[0].train)):
            notes.append(f"left out {unlabelled:,} of {len(parted.train):,} items to learn from: they have no label")
        if isinstance(parted, NoSplit):
            notes.append("all items are learnt from and predicted: how well says nothing about others")
        return LoadedData(data, folds, self._before(data), tuple(notes))

    def _before(self, data: JoinedItems) -> JoinedItems | None:
        if "pretraining" not in self.document:
            return None
        section = {key: value for key, value in self.document["pretraining"].items() if key in DATA}
        files = self._files("pretraining", section)
        hard = read_original(files.original) if files.original else None
        if hard is None and files.labels is not None:
            labels = SoftLabels.read(files.labels)
            first = labels.probs.argmax(axis=1)
            hard = {item: labels.classes[k] for item, k in zip(labels.items.to_pylist(), first.tolist(), strict=True)}
        return join_items(Inputs.read(files.inputs), original=hard, classes=data.lesson.classes)

    def _files(self, name: str, section: Mapping[str, Any]) -> DataPaths:
        if "inputs" not in section:
            raise BadSetting(
                f"found no inputs in [{name}]" if self.place("x").file else "found no inputs",
                expected="an npz with what the networks see",
                fix="give --inputs X.npz, or inputs in the grid file",
                code="missing-source",
                where=self.place(name),
            )
        paths = {key: self._path((name, key), section[key]) for key in DATA[:-1] if key in section}
        listed = section.get("teachers", [])
        if not isinstance(listed, list):
            listed = [listed]
        return DataPaths(**paths, teachers=tuple(self._path((name, "teachers"), each) for each in listed))

    def _split(self) -> Any:
        if "split" not in self.document:
            return RandomSplit()
        choice = StrategyText.of(self.document["split"], self.place("split"))
        if choice.name != NamedSplit.name:
            member = next((each for each in SPLITS if each.name == choice.name), RandomSplit)
            settings = settings_for(member, choice.settings, where=self.place("split"))
            return strategy_from_name("split", SPLITS, choice.name, settings)
        self._check_keys(("split",), choice.settings, ("train", "test"))
        for part in ("train", "test"):
            if part not in choice.settings:
                raise self._bad(("split", part), None, f"a file with the items of {part}")
        paths = {part: self._path(("split", part), value) for part, value in choice.settings.items()}
        return GivenFiles(**paths)

    # --- the grid, with torch ---

    def grid(self) -> Grid:
        """What is compared, and how."""
        from sfumato.training.crowd_layers import CROWDS
        from sfumato.training.grid import Grid
        from sfumato.training.networks import NETWORKS, network_named
        from sfumato.training.targets import TARGETS

        # What learns a network and its annotators at once is a target, too.
        targets = (*TARGETS, *CROWDS)
        section = self.document.get("grid", {})
        before = self.document.get("pretraining")
        device = section.get("device", "cpu")
        if not isinstance(device, str):
            raise self._bad(("grid", "device"), device, "the name of a device")
        return Grid(
            self._chosen(
                "targets",
                section.get("targets", ["hard", "soft"]),
                targets,
                partial(strategy_from_name, "target", targets),
            ),
            self._chosen("networks", section.get("networks", ["lenet"]), NETWORKS, network_named),
            self._seeds(section.get("seeds", 1)),
            self._recipe((), self.document, self.document.get("recipe", {})),
            None
            if before is None
            else self._recipe(
                ("pretraining",), before, {key: v for key, v in before.items() if key not in (*DATA, *FAMILIES)}
            ),
            device,
        )

    def experiment(self, folder: Path, loaded: LoadedData, *, allow_drift: bool = False) -> Experiment:
        """The grid with its data, and where its runs go."""
        from sfumato.training.experiment import Experiment

        return Experiment(self.grid(), loaded.data, loaded.folds, folder, loaded.before, allow_drift)

    def _chosen(self, key: str, given: Any, members: tuple[Any, ...], named: Callable[..., Any]) -> dict[str, Any]:
        if not isinstance(given, list) or not given:
            raise self._bad(("grid", key), given, f"a list of {key}")
        found: dict[str, Any] = {}
        for each in given:
            choice = StrategyText.of(each, self.place("grid", key))
            member = next((each for each in members if each.name == choice.name), None)
            where = self.place("grid", key)
            settings = settings_for(member, choice.settings, where=where) if member else choice.settings
            if choice.text in found:
                raise self._bad(("grid", key), choice.text, f"each of the {key} once")
            found[choice.text] = named(choice.name, settings)
        return found

    def _seeds(self, given: Any) -> tuple[int, ...]:
        whole = isinstance(given, int) and not isinstance(given, bool)
        if whole and given >= 1:
            return tuple(range(given))
        if isinstance(given, list) and given and all(type(seed) is int for seed in given):
            return tuple(given)
        raise self._bad(("grid", "seeds"), given, "how many seeds, at least 1, or a list of them")

    def _recipe(self, above: tuple[str, ...], sections: Mapping[str, Any], own: Any) -> Recipe:
        from sfumato.training.mixing import MIXINGS
        from sfumato.training.optimizers import OPTIMISERS, SCHEDULES
        from sfumato.training.recipe import CropAndFlip, Recipe

        members = {
            "optimiser": OPTIMISERS, "schedule": SCHEDULES, "mixing": MIXINGS, "augmentation": (CropAndFlip,)
        }  # fmt: skip
        parts = {}
        for family in FAMILIES:
            if family in sections:
                where = self.place(*above, family)
                value = sections[family]
                value = {"name": USUAL[family], **value} if isinstance(value, Mapping) else value
                choice = StrategyText.of(value, where)
                member = next((each for each in members[family] if each.name == choice.name), None)
                settings = settings_for(member, choice.settings, where=where) if member else choice.settings
                parts[family] = strategy_from_name(family, members[family], choice.name, settings)
        where = self.place(*(above or ("recipe",)))
        if not isinstance(own, Mapping):
            raise self._bad(("recipe",), own, "a section [recipe]")
        return Recipe(**settings_for(Recipe, own, leave_out=FAMILIES, where=where), **parts)

    # --- what is wrong ---

    def _check_keys(self, above: tuple[str, ...], section: Mapping[str, Any], known: tuple[str, ...]) -> None:
        for key in section:
            if key not in known:
                raise unknown("key", key, list(known), where=self.place(*above, key))

    def _path(self, keys: tuple[str, ...], value: Any) -> Path:
        if not isinstance(value, (str, Path)) or not str(value):
            raise self._bad(keys, value, "the name of a file")
        return self.base / value

    def _bad(self, keys: tuple[str, ...], value: Any, expected: str) -> BadSetting:
        return BadSetting(
            f"found {keys[-1]} = {show(described(value))}",
            expected=expected,
            fix=f"give another {keys[-1]}; examples/grid.toml has them all",
            code="bad-setting",
            where=self.place(*keys),
        )


def _read(files: DataPaths, inputs: Inputs) -> JoinedItems:
    return join_items(
        inputs,
        people=SoftLabels.read(files.labels) if files.labels else None,
        original=read_original(files.original) if files.original else None,
        beliefs=Beliefs.read(files.beliefs) if files.beliefs else None,
        teachers=[SoftLabels.read(path) for path in files.teachers],
    )
