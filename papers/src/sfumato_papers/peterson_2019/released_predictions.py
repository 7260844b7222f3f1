"""What three large networks predict of CIFAR-10's test pictures, as others trained and released them."""

from __future__ import annotations

import numpy as np

from sfumato.tables.soft_labels import SoftLabels
from sfumato_papers.paper import Rerun

FILE = ("cifar10-model-predictions", "probs.npz")
RELEASED = {"ResNet": "resnet_110", "ResNet preact": "preresnet_110", "DenseNet": "densenet_bc_L190_k40"}
"""By the paper's name of the architecture (Kerrigan, Smyth and Steyvers 2021). ResNet-110 is the paper's own form; it
has the other two as a bottleneck ResNet of 164 layers and a DenseNet of depth 100 and growth 12."""
ENSEMBLE = "Ensemble"
NOT_THE_PAPERS = "three networks that others trained for eight of the paper's, each once; two of them of another depth"
"""Why no figure of theirs can be expected to be the paper's own."""


def released(rerun: Rerun) -> dict[str, SoftLabels]:
    """The predictions of each network, and their mean."""

    def read() -> dict[str, SoftLabels]:
        people = rerun.data.cifar_10h
        items = people.items.to_pylist()
        with np.load(rerun.data.path(*FILE)) as file:
            probs = {name: _normalised(file[key]) for name, key in RELEASED.items()}
        probs[ENSEMBLE] = np.mean(list(probs.values()), axis=0)
        return {name: SoftLabels.from_numpy(items, each, people.classes, 0) for name, each in probs.items()}

    return rerun.once("released", read)


def teachers(rerun: Rerun) -> list[SoftLabels]:
    """Those whose mean is distilled."""
    return [released(rerun)[name] for name in RELEASED]


def _normalised(probs: np.ndarray) -> np.ndarray:
    exact = probs.astype(np.float64)
    return np.asarray(exact / exact.sum(axis=1, keepdims=True))
