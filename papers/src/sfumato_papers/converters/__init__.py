"""From the files that authors give out to the folders that are read here: one file per set.

A converter gets the paths of the authors' files (by their names), where the other sets are, and which empty folder to
fill. It gives the same content each time. To add a set: a `Source` in `sfumato_papers.dataset_sources`, and its
converter here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from sfumato_papers.converters import (
    cifar_10,
    cifar_10h,
    cifar_10s,
    cinic_10,
    digit_similarity,
    fashion_mnist_h,
    hmix,
    idx,
)

Convert = Callable[[Mapping[str, Path], Path, Path], None]

CONVERTERS: Mapping[str, Convert] = {
    "cifar10-model-predictions": cifar_10.convert,
    "cifar10-test": cifar_10.convert_test,
    "cifar10-train-batch1": cifar_10.convert_train,
    "cifar10h": cifar_10h.convert,
    "cifar10s": cifar_10s.convert,
    "cinic10-sample": cinic_10.convert,
    "digit-similarity": digit_similarity.convert,
    "fashion-mnist": idx.convert_fashion,
    "fashion-mnist-h": fashion_mnist_h.convert,
    "hmix": hmix.convert,
    "mnist": idx.convert_digits,
}
