"""`sf.train`: train models on one or more targets, from tables in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from sfumato.tables.errors import BadSetting, unknown
from sfumato.tables.label_argument import label_argument
from sfumato.tables.model_inputs import Inputs
from sfumato.tables.soft_labels import SoftLabels
from sfumato.tables.strategies import StrategyText, strategy_from_name
from sfumato.training.item_join import join_items
from sfumato.training.splits import SPLITS, Split

if TYPE_CHECKING:
    from sfumato.training.experiment import Experiment
    from sfumato.training.networks.network import Network
    from sfumato.training.recipe import Recipe
    from sfumato.training.run_folder import Run
    from sfumato.training.target_labels import Target

SOURCES = ("people", "original", "beliefs", "teacher")


@dataclass(frozen=True, eq=False)
class TrainedModels:
    """The finished runs of `sf.train`. A temporary folder is deleted together with this object."""

    experiment: Experiment

    @property
    def folder(self) -> Path:
        return self.experiment.folder

    @property
    def runs(self) -> list[Run]:
        """All runs, by seed, fold and target."""
        keys = [key for group in self.experiment.run_groups() for key in group.runs]
        return [run for run in map(self.experiment.run, keys) if run is not None]

    def predictions(self, target: str, *, seed: int | None = None) -> SoftLabels:
        """Predictions for the test items of a target: of one seed, or the mean over all seeds."""
        grid = self.experiment.grid
        if target not in grid.targets:
            raise unknown("target", target, list(grid.targets))
        seeds = grid.seeds if seed is None else (seed,)
        each = [self.experiment.predictions(target, network, seed) for network in grid.networks for seed in seeds]
        tables = [table for table in each if table is not None]
        if not tables:
            found, expected = f"no predictions of the target {target}", "a run that did not diverge"
            raise BadSetting(found, expected, "train with a smaller learning rate", "no-predictions")
        first = tables[0]
        probs = np.mean([table.probs for table in tables], axis=0)
        return SoftLabels.from_numpy(first.items.to_pylist(), probs, first.classes, 0, made_by=f"train: {target}")


@explained
def train(
    inputs: Inputs | np.ndarray | str | Path,
    labels: SoftLabels | Counts | str | Path | Mapping[str, SoftLabels | Counts | Beliefs],
    *,
    targets: Sequence[str | Target] = ("soft",),
    model: str | Network = "lenet",
    seeds: int | Sequence[int] = 1,
    split: str | Split = "share:test=0.3",
    epochs: int = 30,
    recipe: Recipe | None = None,
    output: str | Path | None = None,
    processes: int = 1,
    any_estimand: bool = False,
) -> TrainedModels:
    """Train `model` on every target and seed, and predict the test items of `split`.

    `inputs` are images by item, a file of them, or an array in the order of the labels. `labels` are people's, or
    tables by source: `people`, `original` (one-hot), `beliefs`, `teacher`. Targets, model and split are names with
    settings (`smoothing:share=0.2`) or objects. `recipe` replaces `epochs`. Runs are written to `output`, by default to
    a temporary folder; finished runs in it are not trained again. With `processes` above 1, call this from a script
    that has an `if __name__ == "__main__"` block. Targets with people's uncertainty need labels of how people judge;
    `any_estimand` allows others.
    """
    from sfumato.training.experiment import Experiment
    from sfumato.training.grid import Grid
    from sfumato.training.networks import network_named
    from sfumato.training.recipe import Recipe
    from sfumato.training.targets import target_named
    from sfumato.training.worker_pool import run_experiment

    inputs = Inputs.read(inputs) if isinstance(inputs, (str, Path)) else inputs
    fix = 'read a file with sf.Inputs.read("images.npz"), or give an array of images'
    check_kind("inputs", inputs, (Inputs, np.ndarray), "Inputs, an array or a file", fix)
    given = labels if isinstance(labels, Mapping) else {"people": _people(labels)}
    sources: Mapping[str, Any] = {
        name: each.labels() if isinstance(each, Counts) else each for name, each in given.items()
    }
    for name in sources:
        if name not in SOURCES:
            raise unknown("label source", name, list(SOURCES))
    if isinstance(inputs, np.ndarray):
        table = next(iter(sources.values()))
        inputs = Inputs(tuple(table.items.to_pylist()), inputs)
    training_set = join_items(
        inputs,
        people=sources.get("people"),
        original=hard_labels_of(sources["original"]).of if "original" in sources else None,
        beliefs=sources.get("beliefs"),
        teachers=[sources["teacher"]] if "teacher" in sources else [],
        any_estimand=any_estimand,
    )
    grid = Grid(
        dict(_named(each, target_named) for each in targets),
        dict([_named(model, network_named)]),
        tuple(range(seeds)) if isinstance(seeds, int) else tuple(seeds),
        recipe or Recipe(epochs=epochs),
    )
    _, chosen_split = _named(split, lambda name, settings: strategy_from_name("split", SPLITS, name, settings))
    folder = Path(mkdtemp(prefix="sfumato-train-") if output is None else output)
    models = TrainedModels(Experiment(grid, training_set, tuple(chosen_split.folds(training_set)), folder))
    if output is None:
        finalize(models, rmtree, folder, ignore_errors=True)
    run_experiment(models.experiment, processes=processes)
    return models


def _people(labels: Any) -> SoftLabels:
    return read_labels(labels) if isinstance(labels, (str, Path)) else label_argument(labels, "labels", "sf.train")


def _named(choice: Any, from_name: Any) -> tuple[str, Any]:
    """A strategy with its name in the runs; `choice` is an object, or a name with settings."""
    if not isinstance(choice, str):
        return choice.name, choice
    return StrategyText.of(choice).text, from_name(choice, {})
