"""CIFAR-10H: votes per picture, and single answers about the last 500 of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from sfumato.importers.importer import CIFAR_10
from sfumato.tables.files import read_arrays
from sfumato_papers.converters.released_files import read_document, write_arrays, write_table

COUNTS = "cifar10h-counts.npy"
ANSWERS = "answers_valid.json"


def convert(files: Mapping[str, Path], place: Path, folder: Path) -> None:
    """Votes are small numbers: a byte each. The classes of the pictures come from CIFAR-10."""
    labels = read_arrays(place / "cifar10-test" / "images.npz")["labels"]
    counts = np.load(files[COUNTS], allow_pickle=False).astype(np.uint8)
    write_arrays(folder / "counts.npz", counts=counts, labels=labels, class_names=np.array(CIFAR_10))
    rows = []
    for picture, chosen in read_document(files[ANSWERS]).items():
        assert isinstance(chosen, dict)
        rows += [(picture, annotator, label, labels[int(picture)]) for annotator, label in chosen.items()]
    columns = ("image_index", "annotator_id", "chosen_label", "true_label")
    write_table(folder / "annotator-level-9500-9999.csv.gz", columns, rows)
