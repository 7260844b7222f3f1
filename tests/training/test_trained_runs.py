"""Features taken out of networks: what goes into the last linear layer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
import toy_data
from torch import nn

from sfumato.evaluation.representation import Features
from sfumato.tables.errors import BadSetting, BadTable
from sfumato.tables.model_inputs import Inputs
from sfumato.training.network_inputs import PixelScale
from sfumato.training.network_run import NetworkPredictor
from sfumato.training.networks import LeNet, ResNet, SimpleFfn, Small
from sfumato.training.trained_runs import features_of

SHAPE = (1, 28, 28)


def predictor(network: nn.Module) -> NetworkPredictor:
    return NetworkPredictor(network.eval(), PixelScale((0.3,), (0.3,)), SHAPE, toy_data.CLASSES)


@pytest.mark.parametrize(
    ("network", "dims"), [(SimpleFfn(), 128), (LeNet(), 84), (Small(), None), (ResNet(depth=8), 64)], ids=str
)
def test_the_head_makes_the_prediction_of_them(network: object, dims: int | None, tmp_path: Path) -> None:
    torch.manual_seed(0)
    built = predictor(network.build(SHAPE, 3))
    inputs = toy_data.inputs()
    taken = features_of(built, inputs)
    assert taken.items == inputs.items
    assert taken.features.shape == (60, dims or taken.features.shape[1])
    head = [module for module in built.network.modules() if isinstance(module, nn.Linear)][-1]
    with torch.no_grad():
        probs = head(torch.tensor(taken.features)).softmax(-1).numpy()
    np.testing.assert_allclose(probs, built.predict(inputs).probs, atol=1e-6)
    # No hook is left behind.
    assert not head._forward_pre_hooks
    taken.write(tmp_path / "f.npz")
    read = Features.read(tmp_path / "f.npz")
    assert read.items == inputs.items
    np.testing.assert_array_equal(read.values, taken.features.astype(np.float64))


def test_networks_and_inputs_without_features() -> None:
    with pytest.raises(BadSetting, match="without a linear layer"):
        features_of(predictor(nn.Sequential(nn.Flatten())), toy_data.inputs())
    with pytest.raises(BadTable, match="found texts"):
        features_of(predictor(SimpleFfn().build(SHAPE, 3)), Inputs(("a",), texts=("b",)))
