"""The format `numpy`: one npz of plain arrays, no pickle."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from sfumato.reporting.share.release import Release, Shared
from sfumato.tables.errors import wrong_ending
from sfumato.tables.files.atomic_write import atomic_write, check_place
from sfumato.tables.files.npz import write_array, write_texts

NO_COUNT = -1


@dataclass(frozen=True)
class NumpyArchive:
    """One `.npz`: items, classes, probs, n_annotators (-1 if unknown), target, ordered if the classes are a scale, and
    if given counts, split, images or texts. `--inputs` reads the same file.

    All texts of an array take the space of the longest one; the file is compressed, but reading needs the memory.
    """

    name: ClassVar[str] = "numpy"
    holds_answers: ClassVar[bool] = False

    def check_place(self, place: Path) -> None:
        if not place.name.lower().endswith(".npz"):
            raise wrong_ending(place, [".npz"], "choose another name with -o")
        check_place(place)

    def write(self, release: Release, place: Path) -> Shared:
        """Write the file; an existing one is replaced when the new one is complete."""
        self.check_place(place)
        labels, inputs = release.labels, release.inputs
        n_annotators = np.full(len(labels), NO_COUNT, np.int32) if labels.n_annotators is None else labels.n_annotators
        # allowZip64 is the default: arrays beyond 4 GB are fine.
        with atomic_write(place) as part, zipfile.ZipFile(part, "w") as archive:
            write_texts(archive, "items", labels.items.to_pylist())
            write_texts(archive, "classes", labels.classes)
            write_array(archive, "probs", labels.probs)
            write_array(archive, "n_annotators", n_annotators)
            if labels.is_ordered:
                write_array(archive, "ordered", np.array([True]))
            write_texts(archive, "target", ["" if labels.estimand is None else labels.estimand.meaning])
            if release.counts is not None:
                write_array(archive, "counts", release.counts.counts)
            if release.split is not None:
                write_texts(archive, "split", release.split.text().to_pylist())
            if inputs is not None and inputs.images is not None:
                write_array(archive, "images", inputs.images)
            if inputs is not None and inputs.texts is not None:
                write_texts(archive, "texts", inputs.texts)
        return Shared(place, (place.name,), f'numpy.load("{place}")')
