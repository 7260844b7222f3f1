"""CIFAR-10H: hard votes of about 50 annotators per CIFAR-10 test image (Peterson et al. 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa

from sfumato.importers.counts import counts_in, published_counts
from sfumato.importers.file_head import Evidence, Preview, opened_folder
from sfumato.importers.importer import CIFAR_10, ImportResult, find_file, summary
from sfumato.importers.source_columns import (
    annotations_of,
    choice_payloads,
    class_numbers,
    coded_array,
    coded_columns,
    number_column,
)
from sfumato.tables.files.table_file import Rows, read_rows
from sfumato.tables.soft_labels import SoftLabels
from sfumato.tables.text_columns import CodedText

COUNT_FILES = ("counts.npz", "cifar10h-counts.npy", "data/cifar10h-counts.npy", "cifar10h-raw.csv")
ANSWER_FILES = ("cifar10h-raw.csv", "cifar10h-raw.csv.gz", "annotator-level-9500-9999.csv.gz")
RAW_INDEX = ("cifar10_test_test_idx", "cifar10_test_set_idx")
"""The column of the image index in the authors' file, and its name in their description."""
OPTIONAL = ("true_label", "is_attn_check", "trial_index", "reaction_time", "image_filename")


@dataclass(frozen=True)
class Cifar10HImporter:
    """The published votes per class as Counts; with `annotator_level` the single answers as Annotations.

    Annotator-level sources: the authors' `cifar10h-raw.csv` or its zip (with response times and attention checks, kept
    with purpose `check`), or a table of `image_index, annotator_id, chosen_label[, true_label]`.
    """

    annotator_level: bool = False

    name: ClassVar[str] = "cifar-10h"

    @classmethod
    def recognize(cls, preview: Preview) -> Evidence | None:
        if preview.has_columns("annotator_id", "chosen_label") and {*RAW_INDEX, "image_index"} & set(preview.columns):
            return Evidence("the columns annotator_id, chosen_label and an index of test images")
        if preview.path.name == "cifar10h-counts.npy" and preview.shape[1:] == (10,):
            return Evidence("the name cifar10h-counts.npy and ten classes")
        if "cifar10h-raw.csv" in preview.files and preview.path.is_file():
            return Evidence("a zip with cifar10h-raw.csv")
        return None

    def read(self, source: str | Path) -> ImportResult:
        with opened_folder(Path(source)) as place:
            return self._read(place)

    def _read(self, source: Path) -> ImportResult:
        if self.annotator_level:
            return _read_answers(find_file(source, ANSWER_FILES))
        path = find_file(source, COUNT_FILES)
        if path.name.lower().endswith((".csv", ".csv.gz")):
            return _read_answers(path)
        return published_counts(path, counts_in(path), CIFAR_10)


def _read_answers(path: Path) -> ImportResult:
    rows = read_rows(path, guarded=False)
    image = next((name for name in RAW_INDEX if name in rows.schema.names), "image_index")
    raw = image in RAW_INDEX
    wanted = [image, "annotator_id", "chosen_label", *(name for name in OPTIONAL if name in rows.schema.names)]
    columns = coded_columns(rows, wanted)
    items, is_check = _items(columns, image)
    chosen = class_numbers(rows, columns["chosen_label"], "chosen_label", CIFAR_10)
    given = {
        "item": pa.array(items, pa.string()),
        "annotator": coded_array(columns["annotator_id"]),
        "payload": choice_payloads(CodedText(chosen.astype(np.int32), pa.array(CIFAR_10))),
        "purpose": pa.array(np.where(is_check, "check", "label")),
    }
    notes = []
    if "trial_index" in columns:
        given["trial"] = pa.array(number_column(rows, columns["trial_index"], "trial_index"))
    if "reaction_time" in columns:
        seconds = number_column(rows, columns["reaction_time"], "reaction_time") / 1000
        given["seconds"] = pa.array(seconds, mask=seconds < 0)
        if (seconds < 0).any():
            notes.append(f"{int((seconds < 0).sum())} negative response times were left empty")
    table = annotations_of(given, "choice/1", CIFAR_10, rows.where())
    if is_check.any():
        notes.append(f"{int(is_check.sum()):,} attention checks kept with purpose 'check'")
    if not raw:
        notes.append("this annotator-level file has no times, and its totals differ slightly from the published counts")
    return ImportResult(table, (summary(table), *notes), _original(rows, columns, items))


def _items(columns: dict[str, CodedText], image: str) -> tuple[list[str], np.ndarray]:
    """Item ids, and which rows are attention checks; a check is named by its picture, not by an index."""
    items = columns[image].text().to_pylist()
    if "is_attn_check" not in columns:
        return items, np.zeros(len(items), dtype=bool)
    is_check = np.array(columns["is_attn_check"].text().to_pylist()) == "1"
    pictures = columns["image_filename"].text().to_pylist() if "image_filename" in columns else items
    return [f"check:{pictures[i]}" if check else items[i] for i, check in enumerate(is_check)], is_check


def _original(rows: Rows, columns: dict[str, CodedText], items: list[str]) -> SoftLabels | None:
    if "true_label" not in columns:
        return None
    truth = class_numbers(rows, columns["true_label"], "true_label", CIFAR_10)
    first = dict(zip(reversed(items), reversed(truth.tolist()), strict=True))
    names = list(dict.fromkeys(items))
    return SoftLabels.from_numpy(names, np.eye(10)[[first[name] for name in names]], CIFAR_10)
