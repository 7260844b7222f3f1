"""Features: what a network makes of each input just before its last layer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from torch import nn

from sfumato.tables.errors import BadSetting
from sfumato.tables.files.atomic_write import atomic_write
from sfumato.tables.inputs import Inputs
from sfumato.training.runs import Predictor


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """The features of every item, as `sfumato represent` reads them."""

    items: tuple[str, ...]
    features: Float[np.ndarray, "items dims"]

    def write(self, path: str | Path) -> None:
        """Write an npz with `features` and `items`."""
        with atomic_write(Path(path)) as part, part.open("wb") as file:
            np.savez(file, features=self.features, items=np.array(self.items))


def features_of(predictor: Predictor, inputs: Inputs) -> FeatureTable:
    """What goes into the last linear layer, an item a row: the penultimate activations of any of our networks, and of
    any other whose last linear layer is its head."""
    head = head_of(predictor.network)
    seen: list[np.ndarray] = []

    def note(module: nn.Module, given: tuple[Any, ...]) -> None:  # noqa: ARG001
        seen.append(given[0].detach().float().flatten(1).cpu().numpy())

    hook = head.register_forward_pre_hook(note)
    try:
        predictor.predict(inputs)
    finally:
        hook.remove()
    return FeatureTable(inputs.items, np.concatenate(seen))


def head_of(network: nn.Module) -> nn.Linear:
    """The last linear layer, in the order layers were named."""
    layers = [module for module in network.modules() if isinstance(module, nn.Linear)]
    if not layers:
        raise BadSetting(
            f"found a {type(network).__name__} without a linear layer",
            expected="a network whose last linear layer is its head",
            fix="take the features out yourself, and save them as an npz with features and items",
            code="no-head",
        )
    return layers[-1]
