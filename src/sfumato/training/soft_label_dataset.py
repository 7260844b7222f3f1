"""SoftLabelDataset: inputs and soft labels as a PyTorch dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor
from torch.utils.data import Dataset

from sfumato.tables.errors import BadFile, BadTable, listing, show
from sfumato.tables.files.json import read_document
from sfumato.tables.model_inputs import Inputs
from sfumato.tables.soft_labels import SoftLabels

TENSORS, WORDS = "data.safetensors", "data.json"


class SoftLabelDataset(Dataset[tuple[Any, Tensor]]):
    """A map-style dataset: the input and the distribution of every labeled item, in order.

    An image is float32 from 0 to 1, channels first (1 or 3 x height x width); a text is a string; features are float32.
    The distribution is float32, one number per class, as `torch.nn.functional.cross_entropy` accepts it. Add
    augmentation in a wrapper or in the loader. To compare targets, use `sfumato train`.
    """

    def __init__(self, inputs: Inputs, labels: SoftLabels) -> None:
        rows = inputs.rows_of(labels.items.to_pylist())
        if (rows < 0).any():
            first = labels.items[int(np.argmax(rows < 0))].as_py()
            found = f"no input for item {show(first)} ({int((rows < 0).sum()):,} labeled items have none)"
            fix = "use the item names of the labels, or sf.select(labels, items=inputs.items)"
            raise BadTable(found, "an input for every labeled item", fix, "missing-input", inputs.path)
        self.items: tuple[str, ...] = tuple(labels.items.to_pylist())
        self.classes = labels.classes
        self.probs: Float[Tensor, "items classes"] = torch.from_numpy(labels.probs.astype(np.float32))
        self._inputs, self._rows = inputs, rows

    def __repr__(self) -> str:
        return f"<SoftLabelDataset: {len(self.items):,} items, {self._inputs.described()}, {len(self.classes)} classes>"

    @classmethod
    def read(cls, folder: str | Path, split: str | None = None) -> SoftLabelDataset:
        """Read what `sfumato share --as pytorch` wrote with inputs: all of it, or one of its splits."""
        folder = Path(folder)
        words = read_document(folder / WORDS)
        try:
            tensors = load_file(folder / TENSORS)
        except (SafetensorError, OSError) as error:
            raise _bad_folder(folder, f"found a {TENSORS} that cannot be read ({str(error)[:120]})") from error
        if not isinstance(words, dict) or "items" not in words or "probs" not in tensors:
            raise _bad_folder(folder, "found files without items or probs")
        counts = tensors["n_annotators"].numpy() if "n_annotators" in tensors else None
        labels = SoftLabels.from_numpy(words["items"], tensors["probs"].numpy(), words["classes"], counts)
        labels = labels.as_ordered() if words.get("ordered") is True else labels
        images = tensors["images"].numpy() if "images" in tensors else None
        texts = tuple(words["texts"]) if "texts" in words else None
        if images is None and texts is None:
            raise _bad_folder(folder, "found labels without images or texts")
        inputs = Inputs(tuple(words["items"]), images, texts, path=folder)
        if split is None:
            return cls(inputs, labels)
        names = words.get("splits", [])
        if split not in names:
            expected, code = f"one of {listing(names)}" if names else "no split: the data set has none", "unknown-split"
            raise BadTable(f"no split {show(split)}", expected, "choose another split, or omit it", code, folder)
        kept = np.flatnonzero(tensors["split"].numpy() == names.index(split))
        some = None if counts is None else counts[kept]
        items = [words["items"][row] for row in kept]
        return cls(inputs, SoftLabels.from_numpy(items, labels.probs[kept], labels.classes, some))

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> tuple[Any, Tensor]:
        # Negative numbers count from the end, as in a list; an IndexError past the end stops iteration.
        place = range(len(self))[index]
        row = int(self._rows[place])
        if self._inputs.texts is not None:
            return self._inputs.texts[row], self.probs[place]
        if self._inputs.features is not None:
            vector = self._inputs.features[[row]]
            dense = vector if isinstance(vector, np.ndarray) else vector.toarray()
            return torch.from_numpy(dense[0].astype(np.float32)), self.probs[place]
        assert self._inputs.images is not None
        image = self._inputs.images[row]
        image = image if image.ndim == 3 else image[..., None]
        return torch.from_numpy(image.transpose(2, 0, 1).astype(np.float32) / 255), self.probs[place]


def _bad_folder(folder: Path, found: str) -> BadFile:
    expected = "a folder written by sfumato share --as pytorch with --inputs"
    return BadFile(found, expected, "share the data set again", "damaged", folder)
