"""PublishedData: the folder with the released data sets, one folder each."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from jaxtyping import Int

from sfumato.annotations import Annotations
from sfumato.errors import BadFile, Where
from sfumato.imports import Cifar10H, Cifar10S, FashionMnistH
from sfumato.inputs import Inputs
from sfumato.soft_labels import SoftLabels


@dataclass(frozen=True, eq=False)
class PublishedData:
    """The released data sets, read when asked for. `folder` holds `cifar10h`, `cifar10s`, `fashion-mnist` and so on."""

    folder: Path
    _known: dict[str, object] = field(default_factory=dict, init=False, repr=False)

    def path(self, *parts: str) -> Path:
        """A file or folder of the data; an error that says what is missing."""
        path = self.folder.joinpath(*parts)
        if not path.exists():
            raise BadFile(
                f"found no {'/'.join(parts)}",
                expected="the released data, a folder a set",
                fix="give its folder with --data, or let it be downloaded",
                code="no-such-file",
                where=Where(str(self.folder)),
            )
        return path

    @cached_property
    def cifar_10h(self) -> SoftLabels:
        """How people judge the 10,000 test pictures of CIFAR-10."""
        table = Cifar10H().read(self.path("cifar10h")).table
        assert isinstance(table, SoftLabels)
        return table

    @cached_property
    def cifar_10s(self) -> Annotations:
        """What annotators answered about 1,000 of them, repeats included."""
        table = Cifar10S().read(self.path("cifar10s")).table
        assert isinstance(table, Annotations)
        return table

    @cached_property
    def fashion_mnist_h(self) -> SoftLabels:
        """How people judge the 10,000 test pictures of Fashion-MNIST."""
        table = FashionMnistH().read(self.path("fashion-mnist-h")).table
        assert isinstance(table, SoftLabels)
        return table

    def pictures(self, *parts: str, classes: tuple[str, ...]) -> Inputs:
        """The pictures of an npz with the class each came with: `pictures("cifar10-test", "images.npz", ...)`."""
        with np.load(self.path(*parts)) as file:
            images, numbers = file["images"], file["labels"].astype(int)
        items = tuple(map(str, range(len(images))))
        return Inputs(items=items, images=images, labels=tuple(classes[k] for k in numbers), classes=classes)

    def cifar_split(self) -> tuple[Int[np.ndarray, "train"], Int[np.ndarray, "test"]]:
        """The 7,000 and 3,000 test pictures of CIFAR-10 that Collins et al. (2022) learn from and predict."""
        train, test = (np.load(self.path("cifar10s", f"{part}_indices.npy")) for part in ("train", "test"))
        return train, test
