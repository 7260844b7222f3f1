"""`sf.train`: train models on one or more targets, from tables in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any
from weakref import finalize

import numpy as np

from sfumato.importers.hard_labels import hard_labels_of
from sfumato.importers.label_file import read_labels
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.call_arguments import check_kind, explained
from sfumato.tables.counts import Counts
from sfumato.tables.errors import BadSetting, SfumatoError, UnknownName, listing, nearest, show, unknown, warn
from sfumato.tables.label_argument import label_argument
from sfumato.tables.model_inputs import Inputs
from sfumato.tables.row_numbers import check_same_rows, items_like, n_numbered_rows
from sfumato.tables.setting_checks import at_least
from sfumato.tables.soft_labels import SoftLabels
from sfumato.tables.strategies import StrategyText, split_choices
from sfumato.training.item_join import columns_of_classes, join_items, read_weights
from sfumato.training.label_set import check_set_name, named_targets, targets_of_sets
from sfumato.training.recipe_section import are_natural, recipes_by_mixing
from sfumato.training.setting_selection import SettingSelection
from sfumato.training.splits import Split, split_named
from sfumato.training.start_weights import StartWeights
from sfumato.training.training_set import ORIGINAL, PEOPLE

if TYPE_CHECKING:
    import polars as pl
    from scipy.sparse import csr_array

    from sfumato.training.experiment import Experiment
    from sfumato.training.mixing import Mixing
    from sfumato.training.models import NamedModel
    from sfumato.training.models.estimator import Estimator
    from sfumato.training.models.model import Model
    from sfumato.training.networks.network import Network
    from sfumato.training.recipe import Recipe
    from sfumato.training.run_folder import Run
    from sfumato.training.target_labels import Target

SOURCES = ("people", "original", "beliefs", "teacher")
MEANT = {"labels": "people", "soft": "people", "votes": "beliefs", "truth": "original", "hard": "original"}
"""Names that are often given instead of a source."""
EXAMPLE = 'sf.train(inputs, {"people": labels, "original": hard})'
OPTIONS = {"labels=": '"people"', "original=": '"original"', "beliefs=": '"beliefs"', "teacher=": '"teacher"'}
"""Arguments in messages, and the source that has the same role here."""


@dataclass(frozen=True, eq=False)
class TrainedModels:
    """The finished runs of `sf.train`. A temporary folder is deleted together with this object."""

    experiment: Experiment

    def __repr__(self) -> str:
        grid = self.experiment.grid
        what = f"{len(self.runs)} runs: targets {', '.join(grid.targets)}; models {', '.join(grid.networks)}"
        return f"<TrainedModels: {what}; {len(grid.seeds)} seeds; in {self.folder}>"

    @property
    def folder(self) -> Path:
        return self.experiment.folder

    @property
    def runs(self) -> list[Run]:
        """All runs, by seed, fold and target."""
        keys = [key for group in self.experiment.run_groups() for key in group.runs]
        return [run for run in map(self.experiment.run, keys) if run is not None]

    @property
    def selection(self) -> pl.DataFrame | None:
        """The trials of every run, if settings were selected: one row per run and trial, as in `selection.csv`."""
        import polars as pl

        from sfumato.training.selected_runs import selection_table

        if self.experiment.grid.selection is None:
            return None
        return pl.DataFrame(selection_table(self.experiment))

    def predictions(self, target: str, *, seed: int | None = None) -> SoftLabels:
        """Predictions for the test items of a target: of one seed, or the mean over all seeds.

        With several mixings, a target other than plain ones is named with its mixing: `soft+mixup`."""
        from sfumato.training.grid import RunKey

        grid = self.experiment.grid
        seeds = grid.seeds if seed is None else (seed,)
        runs = [
            RunKey(name, network, seed, None, recipe)
            for name in grid.targets
            for network in grid.networks
            for recipe in grid.recipes_of(network)
            for seed in seeds
        ]
        if target not in {run.label for run in runs}:
            raise unknown("target", target, list(dict.fromkeys(run.label for run in runs)))
        own = [run for run in runs if run.label == target]
        each = [self.experiment.predictions(run.target, run.network, run.seed, run.recipe) for run in own]
        tables = [table for table in each if table is not None]
        if not tables:
            found, expected = f"no predictions of the target {target}", "a run that did not diverge"
            raise BadSetting(
                found, expected, "train with a smaller learning rate, or correct the model", "no-predictions"
            )
        first = tables[0]
        probs = np.mean([table.probs for table in tables], axis=0)
        items = items_like(first.items.to_pylist(), first)
        return SoftLabels.from_numpy(items, probs, first.classes, 0, made_by=f"train: {target}")


@explained
def train(
    inputs: Inputs | SoftLabels | np.ndarray | csr_array | Mapping[str, str] | Sequence[str] | str | Path,
    labels: SoftLabels | Counts | str | Path | Mapping[str, SoftLabels | Counts | Beliefs],
    *,
    targets: str | Target | Sequence[str | Target] = ("soft",),
    model: str | Network | Model | Estimator | None = None,
    seeds: int | Sequence[int] = 1,
    split: str | Split = "share:test=0.3",
    epochs: int | None = None,
    recipe: Recipe | None = None,
    mixing: str | Mixing | Sequence[str | Mixing] | None = None,
    validation: float | None = None,
    select: Mapping[str, Any] | None = None,
    select_by: str | None = None,
    start: str | Path | None = None,
    new_head: bool = False,
    output: str | Path | None = None,
    processes: int = 1,
    any_estimand: bool = False,
    rest: str | None = None,
    weights: Mapping[str, float] | str | Path | None = None,
) -> TrainedModels:
    """Train `model` on every target and seed, and predict the test items of `split`.

    `inputs` are images, features or texts by item, a file of them, texts by item as a dictionary, or an array or list
    in the order of the labels, which is not always the order of the votes: prefer the others. SoftLabels are the
    predictions of a finished model, to train heads on.
    `labels` are people's, or tables by source: `people`, `original` (one-hot), `beliefs`, `teacher`, and label sets by
    names of your own, for targets like `soft@equal`; `soft` alone is trained on each label set. Items without a label
    in a set are an error, unless `rest` names the set, or `"original"`, that they take it from (for one target:
    `soft:rest=original`). `weights` says how much each item counts in training. Targets, model and
    split are names with settings (`smoothing:share=0.2`) or objects; several targets are a list, or names separated by
    commas. A model can also be an estimator or pipeline of scikit-learn. `epochs`, `recipe` and `mixing` (several are
    compared) are for networks; without a recipe, color images of at least 24 pixels are cropped and mirrored at random.
    Networks start with the weights in the file `start`; `new_head` replaces their last layer.

    `validation` is the share of the training items that is held out, if the split names no validation items. On them,
    every target and model chooses the settings in `select`, `{"rate": [0.01, 0.1], "smoothing.share": [0.1, 0.2]}`, by
    cross-entropy against people's labels, or with `select_by="original"` against the original ones. Runs are written
    to `output`, by default to a temporary folder; finished runs in it are not trained again. With `processes` above 1,
    call this from a script that has an `if __name__ == "__main__"` block. Targets with people's uncertainty need
    labels of how people judge; `any_estimand` allows others.
    """
    from sfumato.training.experiment import Experiment
    from sfumato.training.grid import Grid
    from sfumato.training.models import USUAL_MODELS, is_network
    from sfumato.training.models.calibration_heads import LinearHead
    from sfumato.training.worker_pool import run_experiment

    inputs = Inputs.read(inputs) if isinstance(inputs, (str, Path)) else inputs
    given = labels if isinstance(labels, Mapping) else {"people": _people(labels)}
    sources: Mapping[str, Any] = {name: _source(name, each) for name, each in given.items()}
    if isinstance(targets, str):
        targets = split_choices(targets)
    many = targets if isinstance(targets, Sequence) else [targets]
    fix = "give a number of seeds, as in seeds=3, or a list of them"
    check_kind("seeds", seeds, (int, np.integer, Sequence), "a whole number or a list of them", fix)
    usual = LinearHead.name if isinstance(inputs, SoftLabels) else None
    inputs = _inputs(inputs, sources)
    named_model = _model(usual or USUAL_MODELS[inputs.kind] if model is None else model)
    sets = {name: each for name, each in sources.items() if name not in SOURCES or name == PEOPLE}
    chosen = _targets(many, list(sets), rest)
    seed_list = tuple(seeds) if isinstance(seeds, Sequence) else tuple(range(at_least("seeds", seeds, 1)))
    example = f"share:test={split}" if isinstance(split, float) else "share:test=0.3"
    _, chosen_split = _named("split", split, lambda text, _: split_named(text, lambda: inputs), example)
    check_same_rows(inputs, *sources.values())
    with _words_of_python():
        training_set = join_items(
            inputs,
            label_sets=sets,
            original=hard_labels_of(sources["original"]).of if "original" in sources else None,
            beliefs=sources.get("beliefs"),
            teachers=[sources["teacher"]] if "teacher" in sources else [],
            any_estimand=any_estimand,
            rests=[name for name in (rest, *(getattr(each, "rest", None) for each in chosen.values())) if name],
            weights=read_weights(Path(weights)) if isinstance(weights, (str, Path)) else weights,
        )
    by = select_by or (PEOPLE if training_set.reference is not None else ORIGINAL)
    selection = SettingSelection.of(select, by) if select else None
    trained_in_epochs = is_network(named_model.model)
    if trained_in_epochs:
        chosen_recipe, recipes = _recipes(recipe, epochs, mixing, validation, are_natural(training_set))
    else:
        chosen_recipe, recipes = None, {}
        _check_no_recipe({"recipe": recipe, "epochs": epochs, "mixing": mixing}, named_model.text)
        if validation and selection is None:
            _check_no_recipe({"validation": validation}, named_model.text)
    grid = Grid(
        chosen,
        {named_model.text: named_model.model},
        seed_list,
        chosen_recipe,  # type: ignore[arg-type]
        recipes=recipes,
        selection=selection,
        validation=validation or 0.0,
    )
    start_weights = None if start is None else StartWeights.read(start, new_head=new_head)
    folder = Path(mkdtemp(prefix="sfumato-train-") if output is None else output)
    with _words_of_python():
        folds = tuple(chosen_split.folds(training_set))
        models = TrainedModels(Experiment(grid, training_set, folds, folder, start=start_weights))
    if output is None:
        finalize(models, rmtree, folder, ignore_errors=True)
    with _words_of_python():
        run_experiment(models.experiment, processes=processes)
    return models


def _targets(many: Sequence[Any], label_sets: Sequence[str], rest: str | None) -> dict[str, Any]:
    """The targets by name; one that names no label set is computed from each."""
    found: dict[str, Any] = {}
    for each in many:
        if isinstance(each, str):
            made = named_targets(StrategyText.of(each), label_sets, rest)
        else:
            name, target = _named("target", each, None, "soft")
            made = targets_of_sets(name, target, label_sets, rest)
        found |= made
    return found


def _inputs(inputs: Any, sources: Mapping[str, Any]) -> Inputs:
    """Inputs by item; an array or list has the order of the labels."""
    if isinstance(inputs, Inputs):
        return inputs
    if isinstance(inputs, SoftLabels):
        return _predictions(inputs, sources)
    if isinstance(inputs, Mapping):
        check_kind("inputs", next(iter(inputs.values()), ""), (str,), "texts by item", 'write {"item-1": "a text"}')
        return Inputs(tuple(map(str, inputs)), texts=tuple(inputs.values()))
    is_texts = isinstance(inputs, (list, tuple)) and len(inputs) > 0 and all(isinstance(each, str) for each in inputs)
    is_array = isinstance(inputs, np.ndarray) or hasattr(inputs, "tocsr")
    if not is_texts and not is_array:
        fix = (
            'read a file with sf.Inputs.read("images.npz"), or give an array of images or features, or a list of texts'
        )
        check_kind("inputs", inputs, (Inputs, np.ndarray), "Inputs, an array, a list of texts or a file", fix)
    table = next(iter(sources.values()), None)
    ids = table.item.names if isinstance(table, Beliefs) else None if table is None else table.items
    n_rows = len(inputs) if is_texts else inputs.shape[0]
    if ids is not None and n_numbered_rows(ids) is None:
        warn(
            f"inputs without ids are taken in the order of the labels ({listing(ids.to_pylist()[:3])} ...): if this is "
            "not their order, give them by item, as sf.Inputs or {item: text}"
        )
    items = tuple(map(str, range(n_rows))) if ids is None else items_like(ids.to_pylist(), table)
    if is_texts:
        return Inputs(items, texts=tuple(inputs))
    is_features = hasattr(inputs, "tocsr") or (inputs.ndim == 2 and inputs.dtype.kind in "fiub")
    return Inputs(items, features=inputs) if is_features else Inputs(items, inputs)


def _predictions(table: SoftLabels, sources: Mapping[str, Any]) -> Inputs:
    """What a finished model predicts, as inputs of heads, with the classes in the order of the labels."""
    known = [sources[name].classes for name in ("people", "beliefs", "original") if name in sources]
    classes = known[0] if known else table.classes
    columns = columns_of_classes(table.classes, classes, "predictions to start from", table.path)
    items = items_like(table.items.to_pylist(), table)
    return Inputs(items, features=table.probs[:, columns], classes=classes, path=table.path)


def _model(model: Any) -> NamedModel:
    """A model by name, as an object, or as an estimator of scikit-learn."""
    from sfumato.training.models import NamedModel, is_network, model_named
    from sfumato.training.models.estimator import EstimatorModel

    if isinstance(model, str):
        return model_named(model)
    made = model() if isinstance(model, type) and hasattr(model, "name") else model
    if not is_network(made) and not hasattr(made, "fit_many"):
        if not hasattr(made, "fit"):
            found, fix = f"model = {show(model)}", 'write its name: "lenet"'
            raise BadSetting(found, "a model, by name or as an object", fix, "wrong-argument")
        made = EstimatorModel(made)
    return NamedModel(made.name, made)


def _recipes(
    recipe: Recipe | None, epochs: int | None, mixing: Any, validation: float | None, natural: bool
) -> tuple[Recipe, dict[str, Recipe]]:
    """The recipe of a network, and the recipes that are compared if there are several mixings."""
    from sfumato.training.recipe import CropAndFlip, Recipe

    if recipe is None:
        made = Recipe(epochs=30 if epochs is None else epochs, augmentation=CropAndFlip() if natural else None)
    else:
        made = recipe
    if validation is not None:
        made = replace(made, validation=validation)
    if mixing is None:
        return made, {}
    given = split_choices(mixing) if isinstance(mixing, str) else mixing
    recipes = recipes_by_mixing(made, given if isinstance(given, Sequence) else [given])
    return (next(iter(recipes.values())), {}) if len(recipes) == 1 else (made, recipes)


def _check_no_recipe(given: Mapping[str, Any], model: str) -> None:
    """Raise an error for settings of networks if the model is fitted in one step."""
    for name, value in given.items():
        if value is not None:
            found = f"{name} for {model}, which is fitted in one step"
            raise BadSetting(found, "a network, which is trained in epochs", "leave it out", "wrong-argument")


def _people(labels: Any) -> SoftLabels:
    return read_labels(labels) if isinstance(labels, (str, Path)) else label_argument(labels, "labels", "sf.train")


def _source(name: Any, table: Any) -> Any:
    """The table of a source, counts as shares of votes; an error for an unknown source or another kind of table."""
    if name not in SOURCES:
        known = str(name) in MEANT
        hint = f"name it {MEANT[str(name)]}: " if known else nearest(str(name), SOURCES)
        if hint or not isinstance(name, str):
            found = f"label source {show(name)}"
            expected = f"one of {listing(SOURCES)}, or your own name for a label set"
            raise UnknownName(found, expected, f"{hint}write {EXAMPLE}", "unknown-label-source")
        check_set_name(name)
    if name == "beliefs":
        fix = 'give the votes as Beliefs, from sf.read or sf.Beliefs.from_votes; other labels are "people"'
        check_kind(name, table, (Beliefs,), "Beliefs, one row per item and annotator", fix)
        return table
    fix = f'write {{"{name}": sf.aggregate(votes)}}' if isinstance(table, Beliefs) else f"write {EXAMPLE}"
    check_kind(name, table, (SoftLabels, Counts), "SoftLabels, one distribution per item", fix)
    return table.labels() if isinstance(table, Counts) else table


@contextmanager
def _words_of_python() -> Iterator[None]:
    """Errors raised inside name the sources of `labels` instead of options of the command line."""
    try:
        yield
    except SfumatoError as error:
        fix = error.fix
        for option, source in OPTIONS.items():
            fix = fix.replace(option, source)
        if fix != error.fix:
            error.fix = f"{fix}; write {EXAMPLE}"
            error.args = (str(error),)
        raise


def _named(family: str, choice: Any, from_name: Any, example: str) -> tuple[str, Any]:
    """A strategy with its name in the runs; `choice` is an object, a class, or a name with settings."""
    if isinstance(choice, str):
        return StrategyText.of(choice).text, from_name(choice, {})
    if not hasattr(choice, "name"):
        found, fix = f"{family} = {show(choice)}", f'write its name: "{example}"'
        raise BadSetting(found, f"a {family}, by name or as an object", fix, "wrong-argument")
    made = choice() if isinstance(choice, type) else choice
    return made.name, made
