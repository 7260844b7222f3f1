"""ExperimentFile: data, grid and recipe of an experiment as TOML. The command line builds the same document.

Reads and checks the data before it imports torch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.importers.hard_labels import read_hard_labels
from sfumato.importers.label_file import read_labels
from sfumato.importers.prediction_file import convert_first, read_predictions
from sfumato.study.toml_mistakes import lines_of
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.errors import BadSetting, ErrorLocation, SfumatoError, listing, show, unknown
from sfumato.tables.files.npz import read_arrays
from sfumato.tables.model_inputs import InputOptions, Inputs
from sfumato.tables.option_words import option
from sfumato.tables.row_numbers import check_same_rows, items_like
from sfumato.tables.soft_labels import SoftLabels
from sfumato.tables.strategies import StrategyText, described
from sfumato.tables.text_file import read_text
from sfumato.tables.toml_file import parse_toml
from sfumato.training.item_join import columns_of_classes, first_choices, join_items, read_weights
from sfumato.training.label_set import check_set_name, named_targets, note_of_sets
from sfumato.training.recipe_section import (
    AUGMENTED,
    DEFAULTS,
    FAMILIES,
    are_natural,
    recipe_of,
    recipes_by_mixing,
)
from sfumato.training.setting_selection import SettingSelection
from sfumato.training.splits import Fold, NamedSplit, NoSplit, RandomSplit, Split, split_named
from sfumato.training.start_weights import SUFFIX as WEIGHTS_SUFFIX
from sfumato.training.start_weights import StartWeights
from sfumato.training.training_set import ORIGINAL, PEOPLE, TrainingSet, given_as

if TYPE_CHECKING:
    from sfumato.training.experiment import Experiment
    from sfumato.training.grid import Grid

MAX_BYTES = 1_000_000
SECTIONS = ("data", "grid", "split", "recipe", *FAMILIES, "select", "pretraining")
DATA_FILES = ("inputs", "start", "original", "beliefs", "weights")
DATA = (*DATA_FILES, "labels", "teachers", "rest", "any_estimand", "text", "items", "size", "new_head")
GRID = ("targets", "networks", "seeds", "device")
WEIGHTS, FEATURES, PREDICTIONS = "weights", "features", "predictions"
"""What training can start from: weights of a network; features or predictions in place of inputs."""


@dataclass(frozen=True, eq=False)
class ExperimentFile:
    """An experiment as a document. `load` reads the data, `grid` creates the objects; both report what is wrong."""

    document: Mapping[str, Any]
    where: Callable[..., ErrorLocation]
    """The place of a key in the file."""
    base: Path
    """The folder that paths are relative to."""

    @classmethod
    def read(cls, path: str | Path) -> ExperimentFile:
        """Read a TOML file; paths in it are relative to the file."""
        path = Path(path)
        text = read_text(path, limit=MAX_BYTES, what="an experiment as TOML")
        document = parse_toml(text, path, "TOML, as in examples/grid.toml")
        lines = lines_of(text)

        def where(*keys: str) -> ErrorLocation:
            found = next((lines[keys[:n]] for n in range(len(keys), 0, -1) if keys[:n] in lines), None)
            return ErrorLocation(str(path), line=found, column=".".join(keys) or None)

        return cls(document, where, path.parent)

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> ExperimentFile:
        """An experiment from a document in memory; paths are relative to the current folder."""
        return cls(document, lambda *_: ErrorLocation(), Path())

    def __post_init__(self) -> None:
        self._check_keys((), self.document, SECTIONS)
        for name in ("data", "grid", "select", "pretraining"):
            section = self.document.get(name, {})
            if not isinstance(section, Mapping):
                raise self._bad((name,), section, f"a section [{name}]")
        self._check_keys(("data",), self.document.get("data", {}), DATA)
        self._check_keys(("grid",), self.document.get("grid", {}), GRID)

    # --- the data, without torch ---

    def load(self) -> None:
        """Read and check all data; an error says what is wrong with it."""
        _ = self.folds, self.pretraining_set

    @cached_property
    def training_set(self) -> TrainingSet:
        paths = self._paths("data")
        teachers = self.document["data"].get("teachers", [])
        teachers = teachers if isinstance(teachers, list) else [teachers]
        self._split  # noqa: B018
        original = read_hard_labels(paths["original"]) if "original" in paths else None
        check_same_rows(self._inputs, original)
        joined = join_items(
            self._inputs,
            label_sets={name: read_labels(path) for name, path in self.label_files("data").items()},
            original=None if original is None else original.of,
            beliefs=Beliefs.read(paths["beliefs"]) if "beliefs" in paths else None,
            teachers=[read_predictions(self._path(("data", "teachers"), each)) for each in teachers],
            any_estimand=self._any_estimand,
            rests=self._rests,
            weights=read_weights(paths["weights"]) if "weights" in paths else None,
        )
        if self._start_kind != PREDICTIONS:
            return joined
        columns = columns_of_classes(self._start.classes, joined.classes, "predictions to start from", self._start.path)
        assert isinstance(joined.features, np.ndarray)
        return replace(joined, features=joined.features[:, columns])

    @cached_property
    def _start_kind(self) -> str:
        """What `start` in the section [data] is; empty if it is not given."""
        section = self.document.get("data", {})
        if "start" not in section:
            return ""
        path = self._path(("data", "start"), section["start"])
        if path.name.lower().endswith(WEIGHTS_SUFFIX):
            return WEIGHTS
        return FEATURES if path.name.lower().endswith(".npz") and FEATURES in read_arrays(path) else PREDICTIONS

    @cached_property
    def _start_weights(self) -> StartWeights | None:
        section = self.document.get("data", {})
        new_head = section.get("new_head", False)
        if not isinstance(new_head, bool):
            raise self._bad(("data", "new_head"), new_head, "true or false")
        if self._start_kind == WEIGHTS:
            return StartWeights.read(self._path(("data", "start"), section["start"]), new_head=new_head)
        if new_head:
            found, fix = "a new last layer without weights to start with", "give --start weights.safetensors"
            raise BadSetting(found, "weights of a network", fix, where=self.where("data", "new_head"))
        return None

    @cached_property
    def _start(self) -> SoftLabels:
        """The predictions that heads are trained on."""
        path = self._path(("data", "start"), self.document["data"]["start"])
        if (path / "runs.csv").is_file():
            fix = f"give the predictions of one run: {path}/RUN/predictions.parquet"
            raise BadSetting(f"{path}, a folder of runs", "the predictions of one model", fix, "file-kind")
        try:
            return read_predictions(path)
        except SfumatoError as error:
            raise convert_first(error) from None

    @property
    def _any_estimand(self) -> bool:
        said = self.document["data"].get("any_estimand", False)
        if not isinstance(said, bool):
            raise self._bad(("data", "any_estimand"), said, "true or false")
        return said

    @cached_property
    def folds(self) -> tuple[Fold, ...]:
        return tuple(self._split.folds(self.training_set))

    @cached_property
    def pretraining_set(self) -> TrainingSet | None:
        """Items with hard labels to pretrain on."""
        if "pretraining" not in self.document:
            return None
        paths = self._paths("pretraining")
        original = read_hard_labels(paths["original"]).of if "original" in paths else None
        labels = self.label_files("pretraining")
        if original is None and labels:
            original = first_choices(read_labels(next(iter(labels.values()))))
        return join_items(self._read_inputs("pretraining"), original=original, classes=self.training_set.classes)

    @property
    def notes(self) -> tuple[str, ...]:
        """Which items were left out, and a warning if there are no test items."""
        notes = [*self.training_set.notes, *note_of_sets(self._targets)]
        split, fold = self._split, self.folds[0]
        if isinstance(split, NamedSplit):
            parts = ("training", split.train, fold.train), ("validation", split.validation or (), fold.validation)
            for part, listed, rows in parts:
                if rows is not None and (missing := len(listed) - len(rows)):
                    notes.append(f"left out {missing:,} of {len(listed):,} {part} items: they have no label")
        if self._augments_by_default:
            notes.append(AUGMENTED)
        if isinstance(split, NoSplit):
            notes.append("all items are used for training and for testing: scores do not hold for other items")
        return tuple(notes)

    @cached_property
    def _inputs(self) -> Inputs:
        section = self.document.get("data", {})
        if self._start_kind in ("", WEIGHTS):
            return self._read_inputs("data")
        if "inputs" in section:
            found = f"inputs and {self._start_kind} to start from"
            raise BadSetting(found, "one of them", "omit --inputs or --start", where=self.where("data", "start"))
        if self._start_kind == FEATURES:
            return self._read_inputs("data", "start")
        table = self._start
        return Inputs(items_like(table.items.to_pylist(), table), features=table.probs, path=table.path)

    def _read_inputs(self, name: str, key: str = "inputs") -> Inputs:
        """The inputs of the section `name`, read as its keys `text`, `items` and `size` say."""
        section = self.document[name]
        text, items, size = (section.get(key) for key in ("text", "items", "size"))
        columns = [text] if isinstance(text, str) else text or []
        if not isinstance(columns, (list, tuple)) or not all(isinstance(each, str) for each in columns):
            raise self._bad((name, "text"), text, "the name of a column, or a list of names")
        if items is not None and not isinstance(items, (str, Path)):
            raise self._bad((name, "items"), items, "the name of a file or a column")
        if size is not None and not isinstance(size, (str, int)):
            raise self._bad((name, "size"), size, "pixels: 32, or a text like 32x48")
        # A file next to the experiment file, or else the name of a column.
        listed = None if items is None else self.base / items if (self.base / items).exists() else items
        options = InputOptions(tuple(columns), listed, None if size is None else str(size))
        return options.read(self._paths(name)[key])

    def label_files(self, section: str = "data") -> dict[str, Path]:
        """The files of label sets, by name: one file is that of `people`."""
        given = self.document.get(section, {}).get("labels", {})
        if not isinstance(given, Mapping):
            given = {PEOPLE: given}
        where = (section, "labels")
        return {check_set_name(name, each): self._path((*where, name), each) for name, each in given.items()}

    @cached_property
    def _rests(self) -> frozenset[str]:
        """The label sets that some targets take the labels of other items from."""
        found = {self._rest} if self._rest else set()
        for each in self._target_texts:
            found |= {str(rest)} if (rest := each.settings.get("rest")) else set()
        for name in sorted(found - {*self.label_files(), ORIGINAL}):
            known = [*self.label_files(), ORIGINAL]
            raise unknown("label set", name, known, self.where("data", "rest"), f"give it with {given_as(name)}")
        if found and found == set(self.label_files()):
            name = next(iter(found))
            fix = f"write {option('rest', ORIGINAL)}, or add another label set with --labels NAME=FILE"
            where = self.where("data", "rest")
            raise BadSetting(f"{option('rest', name)}, the only label set", "labels of other items", fix, where=where)
        return frozenset(found)

    @property
    def _rest(self) -> str | None:
        said = self.document.get("data", {}).get("rest")
        if said is not None and not isinstance(said, str):
            raise self._bad(("data", "rest"), said, "original, or the name of a label set")
        return said

    @property
    def _target_texts(self) -> list[StrategyText]:
        """The targets as they are written."""
        section = self.document.get("grid", {})
        chosen = section.get("targets", [])
        if "targets" in section and (not isinstance(chosen, list) or not chosen):
            raise self._bad(("grid", "targets"), chosen, "a list of targets")
        return [StrategyText.of(each, self.where("grid", "targets")) for each in chosen]

    def _paths(self, name: str) -> dict[str, Path]:
        """The files of the section `name`, without teachers."""
        section = self.document.get(name, {})
        if "inputs" not in section and not (name == "data" and self._start_kind in (FEATURES, PREDICTIONS)):
            found = f"found no inputs in [{name}]" if self.where("x").file else "found no inputs"
            fix = "give --inputs, or inputs in the experiment file"
            raise BadSetting(found, "a folder of images, or an npz with them", fix, "missing-source", self.where(name))
        return {key: self._path((name, key), section[key]) for key in DATA_FILES if key in section}

    @cached_property
    def _split(self) -> Split:
        value = self.document.get("split", RandomSplit.name)
        return split_named(value, lambda: self._inputs, self.base, self.where)

    # --- the grid, with torch ---

    def grid(self) -> Grid:
        """What is compared: targets, networks and seeds, with their recipe."""
        from sfumato.training.grid import Grid

        section = self.document.get("grid", {})
        device = section.get("device", "cpu")
        if not isinstance(device, str):
            raise self._bad(("grid", "device"), device, "the name of a device")
        pretraining, own = None, self.document.get("pretraining")
        if own is not None:
            settings = {key: value for key, value in own.items() if key not in (*DATA, *FAMILIES)}
            natural = self._are_natural
            pretraining = recipe_of(own, settings, ("pretraining",), self.where, natural=natural)
        has_networks, models, written = self._has_networks, self._models, self.document.get("recipe", {})
        self._check_recipe(has_networks, list(models))
        recipe, recipes, held_out, mixings = None, {}, 0.0, self.document.get("mixing")
        if has_networks:
            recipe = recipe_of(self.document, written, (), self.where, natural=self._augments_by_default)
            if isinstance(mixings, list):
                recipes = recipes_by_mixing(recipe, mixings, self.where("mixing"))
        elif "validation" in written:
            held_out = written["validation"]
        return Grid(
            {name: each for made in self._targets.values() for name, each in made.items()},
            models,
            self._seeds(section.get("seeds", 1)),
            recipe,  # type: ignore[arg-type]
            pretraining,
            device,
            recipes,
            self._selection(),
            held_out,
        )

    def experiment(self, folder: Path, *, allow_drift: bool = False) -> Experiment:
        """The experiment that writes its runs to `folder`."""
        from sfumato.training.experiment import Experiment

        data, start = self.training_set, self._start_weights
        return Experiment(self.grid(), data, self.folds, folder, self.pretraining_set, allow_drift, start=start)

    def _selection(self) -> SettingSelection | None:
        """The settings to choose, and by which labels: people's if there are any."""
        given = dict(self.document.get("select", {}))
        by = given.pop("by", PEOPLE if "labels" in self.document.get("data", {}) else ORIGINAL)
        if not given:
            if "select" in self.document:
                found, fix = "no setting to select", "give --select, for example --select rate=0.01,0.1"
                raise BadSetting(found, "a setting with its values", fix, where=self.where("select"))
            return None
        fixed = {*self.document.get("recipe", {}), *StrategyText.of(self._optimiser).settings}
        for name in given:
            if name.replace("-", "_") in fixed:
                found, fix = f"{name}, and a selection of it", f"omit --{name.replace('_', '-')}, or do not select it"
                raise BadSetting(found, "one of them", fix, where=self.where("select", name))
        return SettingSelection.of(given, by, self.where("select"))

    @property
    def _optimiser(self) -> Any:
        value = self.document.get("optimiser", DEFAULTS["optimiser"])
        return {"name": DEFAULTS["optimiser"], **value} if isinstance(value, Mapping) else value

    @cached_property
    def _has_networks(self) -> bool:
        from sfumato.training.models import is_network

        return any(map(is_network, self._models.values()))

    @cached_property
    def _are_natural(self) -> bool:
        """Whether the inputs are natural images; not, if there are no inputs (yet)."""
        inputs = self.document.get("data", {}).get("inputs")
        has_inputs = inputs is not None and self._path(("data", "inputs"), inputs).exists()
        return has_inputs and are_natural(self.training_set)

    @property
    def _augments_by_default(self) -> bool:
        return self._has_networks and "augmentation" not in self.document and self._are_natural

    @cached_property
    def _targets(self) -> dict[str, dict[str, Any]]:
        """The targets by name, for each target as it is written: one that names no label set may be several."""
        chosen = self._target_texts
        if not chosen:
            # Without original classes, people's first choice is the hard label.
            has_data = {"inputs", "start"} & set(self.document.get("data", {}))
            hard = "majority" if has_data and self.training_set.original is None else "hard"
            chosen = [StrategyText.of(name) for name in (hard, "soft")]
        found: dict[str, dict[str, Any]] = {}
        for each in chosen:
            made = named_targets(each, list(self.label_files()), self._rest, self.where("grid", "targets"))
            doubled = [name for others in found.values() for name in made if name in others]
            if doubled or each.text in found:
                name = (doubled or [each.text])[0]
                short = [text for text, names in {**found, each.text: made}.items() if name in names and text != name]
                why = f": {short[0]} is trained on each label set" if short and "@" in name else ""
                fix = f"leave out {name}" if why else "leave out one of them"
                raise BadSetting(
                    f"the target {name} twice{why}", "each target once", fix, where=self.where("grid", "targets")
                )
            found[each.text] = made
        return found

    @cached_property
    def _models(self) -> dict[str, Any]:
        from sfumato.training.models import USUAL_HEADS, USUAL_MODELS, model_named

        def named(value: Any, where: ErrorLocation) -> tuple[str, Any]:
            found = model_named(value, where)
            return found.text, found.model

        section = self.document.get("grid", {})
        if "networks" not in section and self._start_kind == PREDICTIONS:
            return self._strategies("networks", list(USUAL_HEADS), named)
        if "networks" in section:
            return self._strategies("networks", section["networks"], named)
        has_inputs = {"inputs", "start"} & set(self.document.get("data", {}))
        return self._strategies("networks", [USUAL_MODELS[self._inputs.kind if has_inputs else "images"]], named)

    def _strategies(
        self, key: str, value: Any, named: Callable[[Any, ErrorLocation], tuple[str, Any]]
    ) -> dict[str, Any]:
        if not isinstance(value, list) or not value:
            raise self._bad(("grid", key), value, f"a list of {key}")
        found: dict[str, Any] = {}
        for each in value:
            text, strategy = named(each, self.where("grid", key))
            if text in found:
                raise self._bad(("grid", key), text, f"each of the {key} once")
            found[text] = strategy
        return found

    def _check_recipe(self, has_networks: bool, models: list[str]) -> None:
        """Raise an error for settings of epochs and batches if no model is trained in epochs."""
        section = self.document.get("recipe", {})
        given = [name for name in FAMILIES if name in self.document]
        given += list(section) if isinstance(section, Mapping) else []
        # A selection needs validation items for models of every kind.
        given = [name for name in given if name != "validation" or "select" not in self.document]
        if given and not has_networks:
            found = f"{given[0]} for {listing(models)}, which {'are' if len(models) > 1 else 'is'} fitted in one step"
            raise BadSetting(
                found, "a network, which is trained in epochs", f"omit {given[0]}", where=self.where("recipe")
            )

    def _seeds(self, value: Any) -> tuple[int, ...]:
        if type(value) is int and value >= 1:
            return tuple(range(value))
        if isinstance(value, list) and value and all(type(seed) is int for seed in value):
            return tuple(value)
        raise self._bad(("grid", "seeds"), value, "the number of seeds, at least 1, or a list of seeds")

    # --- errors ---

    def _check_keys(self, above: tuple[str, ...], section: Mapping[str, Any], known: tuple[str, ...]) -> None:
        for key in section:
            if key not in known:
                raise unknown("key", key, list(known), where=self.where(*above, key))

    def _path(self, keys: tuple[str, ...], value: Any) -> Path:
        if not isinstance(value, (str, Path)) or not str(value):
            raise self._bad(keys, value, "the name of a file")
        return self.base / value

    def _bad(self, keys: tuple[str, ...], value: Any, expected: str) -> BadSetting:
        fix = f"change {keys[-1]}; examples/grid.toml shows every key"
        return BadSetting(f"{keys[-1]} = {show(described(value))}", expected, fix, where=self.where(*keys))
