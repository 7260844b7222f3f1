"""RunGroup: runs that are trained together and differ only in their labels. RunState: the progress of one run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from sfumato.tables.errors import BadSetting
from sfumato.training.crowd_layers import CrowdLabels
from sfumato.training.dynamics_recorder import EpochDynamics
from sfumato.training.mixing.mixup import Plain
from sfumato.training.networks.network import Network
from sfumato.training.random_streams import generator_of
from sfumato.training.recipe import Recipe
from sfumato.training.target_labels import MeanLabels, TargetLabels
from sfumato.training.training_set import TrainingSet


@dataclass(frozen=True, eq=False)
class ValidationItems:
    """Items that no run is trained on: for early stopping, for schedules, and to choose settings."""

    training_set: TrainingSet
    images: Float[Tensor, "items channels height width"]
    labels: tuple[MeanLabels, ...]
    """The mean labels of every run's target, among these items."""


@dataclass(frozen=True, eq=False)
class RunGroup:
    """Runs of one network, seed and fold. All start with the same weights and see the same batches and random numbers,
    so that differences in the result come from the labels alone.
    """

    names: tuple[str, ...]
    """The targets of the runs."""
    network: Network
    labels: tuple[TargetLabels, ...]
    training_set: TrainingSet
    images: Float[Tensor, "items channels height width"]
    recipe: Recipe
    seed: int
    test_images: Float[Tensor, "test_images channels height width"] | None = None
    """The images to predict."""
    initial_weights: dict[str, Tensor] | None = None
    """Pretrained weights to start with; None for new ones."""
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    validation: ValidationItems | None = None

    def __post_init__(self) -> None:
        assert len(self.names) == len(self.labels) == len(set(self.names)), "one name and one set of labels per run"
        assert len(self.images) == self.training_set.n_items, "one image per item"
        if not isinstance(self.recipe.mixing, Plain) and any(isinstance(each, CrowdLabels) for each in self.labels):
            found = f"the mixing {self.recipe.mixing.name} for a crowd target"
            raise BadSetting(found, "images as people saw them", "omit the mixing or the target")
        self.recipe.check_validation(has_items=self.validation is not None)

    @property
    def n_runs(self) -> int:
        return len(self.names)

    def new_network(self) -> nn.Module:
        """The network that every run starts with."""
        _, channels, height, width = self.images.shape
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(generator_of(self.seed, "weights").initial_seed())
            network = self.network.build((channels, height, width), self.training_set.n_classes)
        if self.initial_weights is not None:
            # Weights to start with may lack the last layer, which is then new.
            network.load_state_dict({**network.state_dict(), **self.initial_weights})
        network = network.to(self.device)
        return network.to(memory_format=torch.channels_last)  # type: ignore[call-overload,no-any-return]

    def gold(self) -> Int[np.ndarray, "items"]:
        """The correct class in training dynamics: the original class, else people's first choice."""
        if self.training_set.original is not None:
            return self.training_set.original
        return np.asarray(self.reference().argmax(1))

    def item_weights(self) -> Float[np.ndarray, "items"] | None:
        """The weight of each item, with a mean of 1 over the items trained on, so that the step size is as without."""
        weights = self.training_set.weights
        if weights is None:
            return None
        mean = float(weights.mean())
        if mean == 0:
            raise BadSetting("weights of 0 for all training items", "one above 0", "change the weights, or the split")
        return (weights / mean).astype(np.float32)

    def reference(self) -> Float[np.ndarray, "items classes"]:
        """The distribution that dynamics are compared with: people's, else that of the first labels."""
        people = self.training_set.reference
        return self.labels[0].mean() if people is None else people


@dataclass(frozen=True)
class EpochRow:
    """The losses of one run after an epoch."""

    epoch: int
    loss: float
    validation_loss: float | None
    rate: float
    """The factor of the learning rate at the end of the epoch."""


@dataclass(eq=False)
class RunState:
    """The progress of one run."""

    name: str
    number: int
    """Its position in the group."""
    rows: list[EpochRow] = field(default_factory=list)
    dynamics: dict[tuple[str, int], EpochDynamics] = field(default_factory=dict)
    """By moment and epoch: `online`, when each item is in a batch, and at the `end` of each epoch."""
    predictions: list[Float[np.ndarray, "test_images classes"]] = field(default_factory=list)
    """Predictions for the test items: of every epoch if the recipe keeps them, else of the last."""
    best: dict[str, Tensor] | None = None
    """The weights with the lowest validation loss, or the last ones."""
    ended: str = ""
    """Why training ended: `finished`, `stopped early` or `diverged`; empty while it continues."""

    @property
    def validation_losses(self) -> list[float]:
        return [row.validation_loss for row in self.rows if row.validation_loss is not None]

    @property
    def epochs_since_best(self) -> int:
        """Epochs since the lowest validation loss."""
        losses = self.validation_losses
        return len(losses) - 1 - int(np.argmin(losses))

    def copy(self) -> RunState:
        """A copy that does not grow with the run. List elements are never changed, so they are shared."""
        return replace(self, rows=list(self.rows), dynamics=dict(self.dynamics), predictions=list(self.predictions))

    def values(self) -> dict[str, Any]:
        """Everything except the arrays, as JSON values."""
        return {
            "name": self.name,
            "number": self.number,
            "ended": self.ended,
            "rows": [[row.epoch, row.loss, row.validation_loss, row.rate] for row in self.rows],
            # In order, so that the files of a resumed training are the same as without an interruption.
            "moments": [[when, epoch] for when, epoch in self.dynamics],
            "best": None if self.best is None else list(self.best),
        }

    def to_tensors(self) -> dict[str, Tensor]:
        """The arrays, for a checkpoint."""
        tensors = {f"best.{name}": tensor.cpu().contiguous() for name, tensor in (self.best or {}).items()}
        for name in ("gold", "agreement", "correct"):
            tensors |= _stacked(f"dynamics.{name}", [getattr(moment, name) for moment in self.dynamics.values()])
        return tensors | _stacked("predictions", self.predictions)

    @classmethod
    def of(cls, values: dict[str, Any], tensors: dict[str, Tensor]) -> RunState:
        """The run with these `values` and tensors."""
        arrays = {name: tensor.numpy() for name, tensor in tensors.items() if not name.startswith("best.")}
        moments = {
            (when, epoch): EpochDynamics(*(arrays[f"dynamics.{name}"][i] for name in ("gold", "agreement", "correct")))
            for i, (when, epoch) in enumerate(values["moments"])
        }
        return cls(
            name=values["name"],
            number=values["number"],
            rows=[EpochRow(*row) for row in values["rows"]],
            dynamics=moments,
            predictions=list(arrays.get("predictions", ())),
            best=None if values["best"] is None else {name: tensors[f"best.{name}"] for name in values["best"]},
            ended=values["ended"],
        )


def _stacked(name: str, arrays: Sequence[Shaped[np.ndarray, "..."]]) -> dict[str, Tensor]:
    return {name: torch.from_numpy(np.stack(arrays))} if arrays else {}
