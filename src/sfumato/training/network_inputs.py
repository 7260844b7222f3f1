"""Inputs of networks as tensors: the scale of pixels and features, and the ids of tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from sfumato.tables.errors import BadSetting
from sfumato.tables.model_inputs import Images, Inputs
from sfumato.training.networks.network import Network, Shape
from sfumato.training.training_set import TrainingSet

NetworkInputs = Float[Tensor, "items channels height width"]
MAX_DENSE = 2**31
"""Bytes of sparse features as a dense array."""


class InputScale(Protocol):
    """How inputs are standardized; `mean` and `std` are stored with the run."""

    @property
    def mean(self) -> tuple[float, ...]: ...

    @property
    def std(self) -> tuple[float, ...]: ...

    def applied(self, data: Any) -> NetworkInputs: ...


def input_scale(train: TrainingSet, network: Network) -> InputScale:
    """The scale of training inputs, which test inputs use too."""
    if hasattr(network, "tokens"):
        return TokenScale(network)
    return PixelScale.of(train.images) if train.kind == "images" else DenseScale.of(_dense(train))


def input_shape(data: TrainingSet, network: Network) -> Shape:
    """The channels, height and width that a network is built for; features and tokens are channels."""
    if hasattr(network, "tokens"):
        assert data.texts is not None
        return (network.tokens(data.texts[:1]).shape[1], 1, 1)
    if data.features is not None:
        return (data.features.shape[1], 1, 1)
    return (data.images.shape[3] if data.images.ndim == 4 else 1, data.images.shape[1], data.images.shape[2])


@dataclass(frozen=True)
class PixelScale:
    """Mean and standard deviation of each channel, for pixels from 0 to 1."""

    mean: tuple[float, ...]
    std: tuple[float, ...]

    @classmethod
    def of(cls, images: Images) -> PixelScale:
        """The scale of these images."""
        pixels = images.reshape(*images.shape[:3], -1)
        counts = [np.bincount(pixels[..., c].ravel(), minlength=256) for c in range(pixels.shape[-1])]
        values = np.arange(256) / 255
        means = [float(n @ values / n.sum()) for n in counts]
        stds = [float(np.sqrt(n @ (values - m) ** 2 / n.sum())) for n, m in zip(counts, means, strict=True)]
        # A constant channel has a standard deviation of 0; dividing by 1 keeps it finite.
        return cls(tuple(means), tuple(std or 1.0 for std in stds))

    def applied(self, data: Images | TrainingSet | Inputs, device: torch.device | str = "cpu") -> NetworkInputs:
        """The standardized images: float32, channels_last."""
        images: Any = data if isinstance(data, np.ndarray) else data.images
        pixels = torch.from_numpy(np.ascontiguousarray(images.reshape(*images.shape[:3], -1))).to(device)
        mean, std = (torch.tensor(values, dtype=torch.float32, device=device) for values in (self.mean, self.std))
        return pixels.to(torch.float32).div_(255).sub_(mean).div_(std).permute(0, 3, 1, 2)


@dataclass(frozen=True)
class DenseScale:
    """Mean and standard deviation of each feature. A row of features is an image of 1 x 1 pixels with many channels."""

    mean: tuple[float, ...]
    std: tuple[float, ...]

    @classmethod
    def of(cls, features: Float[np.ndarray, "items dims"]) -> DenseScale:
        """The scale of these features."""
        std = features.std(axis=0, dtype=np.float64)
        return cls(tuple(features.mean(axis=0, dtype=np.float64).tolist()), tuple(np.where(std > 0, std, 1.0).tolist()))

    def applied(self, data: TrainingSet | Inputs) -> NetworkInputs:
        """The standardized features: float32."""
        scaled = (_dense(data) - np.array(self.mean)) / np.array(self.std)
        return torch.from_numpy(scaled.astype(np.float32))[:, :, None, None]


@dataclass(frozen=True, eq=False)
class TokenScale:
    """The ids of tokens, which are not scaled; an encoder reads them from its input."""

    network: Any
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()

    def applied(self, data: TrainingSet | Inputs) -> NetworkInputs:
        """The ids of the tokens of each text, as numbers."""
        assert data.texts is not None
        return torch.from_numpy(self.network.tokens(data.texts).astype(np.float32))[:, :, None, None]


def _dense(data: TrainingSet | Inputs) -> Float[np.ndarray, "items dims"]:
    features: Any = data.features
    if isinstance(features, np.ndarray):
        return features
    n_bytes = 4 * features.shape[0] * features.shape[1]
    if n_bytes > MAX_DENSE:
        found = f"sparse features that need {n_bytes / 1e9:.1f} GB as a dense array"
        raise BadSetting(found, "at most 2 GB for a network", "use the model linear, which takes them as they are")
    return np.asarray(features.toarray())
