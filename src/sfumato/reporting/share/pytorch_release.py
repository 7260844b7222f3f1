"""The format `pytorch`: a safetensors and a JSON file, read by `SoftLabelDataset.read`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from sfumato.reporting.share.release import Release, Shared
from sfumato.tables.errors import missing_extra
from sfumato.tables.files.atomic_write import atomic_folder, check_vacant, files_in

TENSORS, WORDS = "data.safetensors", "data.json"


@dataclass(frozen=True)
class PyTorch:
    """A folder: numbers (probs as float64, n_annotators, counts, split by number, images as uint8) in data.safetensors,
    texts (items, classes, splits, texts, `ordered` if the classes are a scale) in data.json. Writing needs safetensors,
    reading torch."""

    name: ClassVar[str] = "pytorch"
    holds_answers: ClassVar[bool] = False

    def check_place(self, place: Path) -> None:
        if find_spec("safetensors") is None:
            raise missing_extra("safetensors", "to share as pytorch", "train")
        check_vacant(place)

    def write(self, release: Release, place: Path) -> Shared:
        """Write the folder. Raises if it exists with other files."""
        self.check_place(place)
        from safetensors.numpy import save_file

        labels, inputs = release.labels, release.inputs
        words: dict[str, Any] = {
            "title": release.title,
            "licence": release.licence,
            "target": "" if labels.estimand is None else labels.estimand.meaning,
            "classes": labels.classes,
            "items": labels.items.to_pylist(),
        }
        if labels.is_ordered:
            words["ordered"] = True
        tensors = {"probs": np.ascontiguousarray(labels.probs)}
        if labels.n_annotators is not None:
            tensors["n_annotators"] = np.ascontiguousarray(labels.n_annotators)
        if release.counts is not None:
            tensors["counts"] = np.ascontiguousarray(release.counts.counts)
        if release.split is not None:
            words["splits"] = release.split.names.to_pylist()
            tensors["split"] = release.split.codes.astype(np.int32)
        if inputs is not None and inputs.images is not None:
            tensors["images"] = np.ascontiguousarray(inputs.images)
        if inputs is not None and inputs.texts is not None:
            words["texts"] = inputs.texts
        with atomic_folder(place, self.name) as folder:
            save_file(tensors, folder / TENSORS)
            with (folder / WORDS).open("w", encoding="utf-8") as file:
                json.dump(words, file, ensure_ascii=False)
        return Shared(place, files_in(place), f'sfumato.SoftLabelDataset.read("{place}")')
