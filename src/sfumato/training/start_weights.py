"""StartWeights: the weights of a network that training starts with, from a file in the safetensors format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.tables.errors import BadFile, BadSetting, listing
from sfumato.training.models import is_network
from sfumato.training.run_folder import MODEL, RUN, Run, read_weights
from sfumato.training.training_set import TrainingSet, digest_of

if TYPE_CHECKING:
    import torch

    from sfumato.training.grid import Grid
    from sfumato.training.network_inputs import InputScale
    from sfumato.training.networks.network import Network, Shape

SUFFIX = ".safetensors"


@dataclass(frozen=True, eq=False)
class StartWeights:
    """Weights by the name of their layer. `new_head` replaces the last linear layer by a new one.

    Weights in the folder of a run bring the scale of its inputs and its classes; other weights are taken to have the
    classes of the labels, in their order.
    """

    weights: Mapping[str, np.ndarray]
    path: Path
    new_head: bool = False
    run: Run | None = None

    @classmethod
    def read(cls, path: str | Path, *, new_head: bool = False) -> StartWeights:
        """The weights in a file; one with another name than `model.safetensors` belongs to no run."""
        path = Path(path)
        is_of_run = path.name == MODEL and (path.parent / RUN).is_file()
        return cls(read_weights(path), path, new_head, Run.read(path.parent) if is_of_run else None)

    @cached_property
    def digest(self) -> str:
        """A hash of the weights and of whether the last layer is new."""
        arrays = [part for name in sorted(self.weights) for part in ([name], self.weights[name])]
        return digest_of(*arrays, [str(self.new_head)])

    def scale(self, kind: str) -> InputScale | None:
        """The scale of the inputs that the weights were trained with; None if it is not known."""
        said = None if self.run is None else self.run.metadata.get("scale")
        if not isinstance(said, Mapping) or kind not in ("images", "features"):
            return None
        from sfumato.training.network_inputs import DenseScale, PixelScale

        made = PixelScale if kind == "images" else DenseScale
        return made(tuple(said["mean"]), tuple(said["std"]))

    def check(self, grid: Grid, data: TrainingSet) -> None:
        """Raise an error if a network of the grid cannot start with the weights."""
        if grid.pretraining is not None:
            found = "weights to start with, and pretraining"
            raise BadSetting(found, "one of them", "omit --start or [pretraining]")
        if not grid.has_networks:
            fix = f"train a network, or give predictions to train {listing(list(grid.networks))} on"
            raise BadSetting(f"weights to start with for {listing(list(grid.networks))}", "a network", fix)
        from sfumato.training.network_inputs import input_shape

        for name, network in grid.networks.items():
            if is_network(network):
                self.initial(network, name, input_shape(data, network), data.classes)  # type: ignore[arg-type]

    def initial(self, network: Network, name: str, shape: Shape, classes: tuple[str, ...]) -> dict[str, torch.Tensor]:
        """The weights for a network called `name`, checked; without those of its last layer if it is new."""
        import torch

        with torch.random.fork_rng(devices=[]), torch.device("meta"):
            built = network.build(shape, len(classes))
        head = _head(built)
        expected = built.state_dict()
        columns = self._columns(classes, head)
        found: dict[str, torch.Tensor] = {}
        for key, each in self.weights.items():
            if key in expected and not (self.new_head and key in head):
                array = each[columns] if key in head and columns is not None and len(each) == len(classes) else each
                found[key] = torch.from_numpy(np.array(array)).to(expected[key].dtype)
        wanted = {key: each for key, each in expected.items() if not (self.new_head and key in head)}
        wrong = [key for key, each in wanted.items() if key not in found or found[key].shape != each.shape]
        extra = [key for key in self.weights if key not in expected]
        if not wrong and not extra:
            return found
        if wrong and not extra and set(wrong) <= set(head):
            n_own = next((len(self.weights[key]) for key in wrong if key in self.weights), 0)
            found_text, fix = f"weights for {n_own:,} classes", "add --new-head to start with a new last layer"
            raise BadFile(found_text, f"weights for {len(classes):,} classes", fix, "other-classes", self.path)
        parts = [f"{key} of {_size(self.weights.get(key))} instead of {_size(wanted[key])}" for key in wrong]
        parts += [f"an additional {key}" for key in extra]
        fix = "name the network that the weights belong to, with its settings, and give inputs of the same size"
        raise BadFile(
            f"weights of another network ({listing(parts, 3)})", f"those of {name}", fix, "other-network", self.path
        )

    def _columns(self, classes: tuple[str, ...], head: tuple[str, ...]) -> np.ndarray | None:
        """The row of each class in the last layer; None if the order is that of the labels."""
        if self.run is None or self.new_head or not head or len(self.run.classes) != len(classes):
            return None
        own = self.run.classes
        if set(own) != set(classes):
            found, fix = f"weights for the classes {listing(own)}", "add --new-head to start with a new last layer"
            raise BadFile(found, f"weights for {listing(classes)}", fix, "other-classes", self.path)
        return None if own == classes else np.array([own.index(each) for each in classes])


def _head(network: Any) -> tuple[str, ...]:
    """The names of the weights of the last linear layer; none if there is no such layer."""
    from torch import nn

    layers = [name for name, module in network.named_modules() if isinstance(module, nn.Linear)]
    if not layers:
        return ()
    prefix = f"{layers[-1]}." if layers[-1] else ""
    return tuple(key for key in network.state_dict() if key.rpartition(".")[0] == prefix.removesuffix("."))


def _size(array: Any) -> str:
    return "no size" if array is None else " x ".join(map(str, array.shape)) or "one number"
