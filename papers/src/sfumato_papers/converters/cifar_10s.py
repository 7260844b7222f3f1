"""CIFAR-10S: what each annotator answered, the authors' reading of it, and their labels."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from sfumato.importers.importer import CIFAR_10
from sfumato_papers.converters.released_files import (
    numbered,
    read_document,
    read_table,
    write_arrays,
    write_document,
    write_table,
)

TASKS = {"spec_conf": 0, "rerun_spec_conf": 1}
"""The rows that are answers, and whether they are a second showing."""
COLUMNS = (
    "annotator", "trial_index", "image_index", "true_label", "most_probable", "most_probable_pct_raw",
    "second_probable", "second_probable_pct_raw", "impossible", "is_repeat", "rt_ms", "batch",
)  # fmt: skip
NUMBERS = {name.title(): number for number, name in enumerate(CIFAR_10)}


def convert(files: Mapping[str, Path], place: Path, folder: Path) -> None:  # noqa: ARG001
    """Percents stay as they were typed; people become numbers; what they wrote about themselves is left out."""
    answers = [row for row in read_table(files["raw_human_data.csv"]) if row["task"] in TASKS]
    people = numbered(row["subject"] for row in answers)
    write_table(folder / "elicitations.csv.gz", COLUMNS, [_row(row, people[row["subject"]]) for row in answers])
    write_document(folder / "human_soft_labels_data.json.gz", read_document(files["human_soft_labels_data.json"]))
    labels = read_document(files["cifar10s_t2clamp_redist10.json"])
    rows = [(int(picture), probs) for picture, several in labels.items() for probs in several]  # type: ignore[attr-defined]
    write_arrays(
        folder / "t2clamp_redist10.npz",
        image_index=np.array([picture for picture, _ in rows], np.int32),
        soft_labels=np.array([probs for _, probs in rows], np.float32),
        class_names=np.array(CIFAR_10),
    )
    for name in ("train_indices.npy", "test_indices.npy"):
        shutil.copyfile(files[name], folder / name)


def _row(row: Mapping[str, str], annotator: int) -> tuple[object, ...]:
    answer = json.loads(row["response"])
    second = answer["classSelect2"].removeprefix("secondProb")
    marked = sorted(
        NUMBERS[name.removeprefix("improbClassSelect")] for name in answer if name.startswith("improbClassSelect")
    )
    return (
        annotator,
        row["trial_index"],
        int(float(row["img_id"])),
        NUMBERS[row["label"]],
        NUMBERS[answer["classSelect"].removeprefix("mostProb")],
        answer["prob"],
        NUMBERS.get(second, -1),
        answer["prob2"],
        " ".join(map(str, marked)),
        TASKS[row["task"]],
        row["rt"],
        row["condition"],
    )
