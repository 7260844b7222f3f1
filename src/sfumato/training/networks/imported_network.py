"""ImportedNetwork: a network of your own, made by a function of a module."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from sfumato.tables.errors import BadSetting, show
from sfumato.tables.imported_object import imported_object
from sfumato.training.networks.network import Shape


@dataclass(frozen=True)
class ImportedNetwork:
    """`package.module:function`, where the function returns a `torch.nn.Module`.

    It is called with the shape of an input (channels, height and width, or the number of features) and the number of
    classes, or with the number of classes alone, or without arguments. The module maps a batch of images (batch,
    channels, height, width) or features (batch, dimensions) to logits (batch, classes). Every import runs code: give
    only modules that you trust.
    """

    source: str

    name: ClassVar[str] = "own"
    takes: ClassVar[tuple[str, ...]] = ("images", "features")

    def build(self, shape: Shape, n_classes: int) -> nn.Module:
        function = imported_object(self.source, "a function that returns a torch.nn.Module")
        is_features = shape[1:] == (1, 1)
        given = (shape[0] if is_features else shape, n_classes)
        module = _called(self.source, function, given)
        network = _FeatureInputs(module) if is_features else module
        self._check(network, shape, n_classes)
        return network

    def _check(self, network: nn.Module, shape: Shape, n_classes: int) -> None:
        """Raise an error unless the module returns one logit per class."""
        # A module with all its weights on the meta device only has shapes.
        device = next(network.parameters(), torch.zeros(1)).device
        was_training = network.training
        try:
            with torch.no_grad():
                found = network.eval()(torch.zeros(2, *shape, device=device))
        except Exception as error:
            what = f"{self.source}: {type(error).__name__} for a batch of shape {(2, *shape)} ({str(error)[:120]})"
            raise BadSetting(what, "a module that takes such a batch", "correct the module", "bad-network") from error
        network.train(was_training)
        if not isinstance(found, Tensor) or tuple(found.shape) != (2, n_classes):
            got = f"an output of shape {tuple(found.shape)}" if isinstance(found, Tensor) else type(found).__name__
            fix = "end the module with a linear layer with one output per class, without softmax"
            raise BadSetting(f"{self.source}: {got}", f"logits of shape {(2, n_classes)}", fix, "bad-network")


class _FeatureInputs(nn.Module):
    """Passes on the rows of features without the two dimensions of pixels."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.module(x.flatten(1))
        return logits


def _called(source: str, function: Any, given: tuple[Any, int]) -> nn.Module:
    """The module that `function` returns; it is called with as many of the arguments as it takes."""
    if isinstance(function, nn.Module) or not callable(function):
        found = f"{source}, which is {show(type(function).__name__)}"
        expected = "a function or class, so that every run gets a new network"
        raise BadSetting(found, expected, "write a function that returns the module", "bad-network")
    required = [
        each
        for each in inspect.signature(function).parameters.values()
        if each.default is each.empty and each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]
    if len(required) > 2:
        found = f"{source} with {len(required)} arguments"
        expected = "a function of the shape and the number of classes, of the latter alone, or without arguments"
        raise BadSetting(found, expected, "give the other arguments defaults", "bad-network")
    made = function(*given[2 - len(required) :])
    if not isinstance(made, nn.Module):
        found, expected = f"{source} returned {show(type(made).__name__)}", "a torch.nn.Module"
        raise BadSetting(found, expected, "return the module", "bad-network")
    return made
