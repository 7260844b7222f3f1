"""H-Mix: human judgments of mixed CIFAR-10 images (Collins et al. 2023, human-in-the-loop mixup)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa

from sfumato.importers.file_head import Evidence, Preview
from sfumato.importers.importer import CIFAR_10, PUBLISHED, ImportResult, find_file, summary
from sfumato.importers.source_columns import (
    annotations_of,
    class_numbers,
    coded_array,
    coded_columns,
    not_published,
    number_column,
    purposes,
)
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.errors import BadProbabilities, BadTable, ErrorLocation, listing, show, unknown
from sfumato.tables.files.json import read_document
from sfumato.tables.files.table_file import Rows, read_rows
from sfumato.tables.text_columns import CodedText

MIXING_FILES = ("infer_mixing_factor.csv.gz", "hmix_infer_mixing_factor.csv")
LABEL_FILES = ("hmix_individ_soft_labels.json.gz", "hmix_individ_soft_labels.json")
COLUMNS = (
    "annotator", "task", "label1", "index1", "label2", "index2", "true_mixing", "response_mixing_pct_raw",
    "confidence_pct", "rt_ms", "trial_index",
)  # fmt: skip
PARTS = ("mixing", "soft-labels")
NAME = re.compile(r"mixed_[0-9.]+_[A-Z][a-z]+_\d+_[A-Z][a-z]+_\d+\.png")


@dataclass(frozen=True)
class HMixImporter:
    """`part` "mixing": the perceived share of each class in a mixed image, and the confidence (Annotations of type
    `mixture`; second showings have purpose `repeat`). `part` "soft-labels": ten-class beliefs about 100 mixed images
    (Beliefs; the authors published no annotators, so each row has its own).

    Items have the authors' names: `mixed_0.5_Dog_2205_Frog_6908.png` is half of test image 2205, a dog.
    """

    part: str = "mixing"

    name: ClassVar[str] = "hmix"

    @classmethod
    def recognize(cls, preview: Preview) -> Evidence | None:
        return Evidence("the columns of infer_mixing_factor.csv") if preview.has_columns(*COLUMNS) else None

    def __post_init__(self) -> None:
        if self.part not in PARTS:
            raise unknown("part", self.part, PARTS)

    def read(self, source: str | Path) -> ImportResult:
        if self.part == "mixing":
            return _read_mixing(find_file(source, MIXING_FILES))
        return _read_soft_labels(find_file(source, LABEL_FILES))


def _read_mixing(path: Path) -> ImportResult:
    rows = read_rows(path, guarded=False)
    columns = coded_columns(rows, COLUMNS)
    text = {name: column.text().to_pylist() for name, column in columns.items()}
    first = class_numbers(rows, columns["label1"], "label1", CIFAR_10)
    second = class_numbers(rows, columns["label2"], "label2", CIFAR_10)
    share = 1 - _percents(rows, columns, "response_mixing_pct_raw")
    confidence = _percents(rows, columns, "confidence_pct")
    items = [
        f"mixed_{text['true_mixing'][i]}_{CIFAR_10[first[i]].title()}_{text['index1'][i]}_{CIFAR_10[second[i]].title()}_{text['index2'][i]}.png"
        for i in range(len(first))
    ]
    answers = [
        {"classes": [CIFAR_10[a], CIFAR_10[b]], "share": round(float(s), 6), "confidence": round(float(c), 6)}
        for a, b, s, c in zip(first, second, share, confidence, strict=True)
    ]
    is_repeat = np.array(["rerun" in task for task in text["task"]])
    table = annotations_of(
        {
            "item": pa.array(items, pa.string()),
            "annotator": coded_array(columns["annotator"]),
            "payload": pa.array([json.dumps(answer) for answer in answers], pa.string()),
            "trial": pa.array(number_column(rows, columns["trial_index"], "trial_index")),
            "purpose": purposes(is_repeat),
            "seconds": pa.array(number_column(rows, columns["rt_ms"], "rt_ms") / 1000),
        },
        "mixture/1",
        CIFAR_10,
        rows.where(),
    )
    notes = (
        f"{summary(table)}; {int(is_repeat.sum()):,} are repeats",
        "the slider increases towards the second image: share of the first class = 1 - response / 100",
    )
    return ImportResult(table, notes)


def _percents(rows: Rows, columns: dict[str, CodedText], name: str) -> np.ndarray:
    """A column of percentages as shares."""
    values = number_column(rows, columns[name], name) / 100
    wrong = (values < 0) | (values > 1)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise not_published(rows, row, name, f"{100 * values[row]:g}", "a percentage from 0 to 100")
    return values


def _read_soft_labels(path: Path) -> ImportResult:
    document = read_document(path)
    if not isinstance(document, dict):
        raise _not_released(path, type(document).__name__, None)
    for name, labels in document.items():
        if not NAME.fullmatch(name):
            raise _not_released(path, show(name), None)
        if not isinstance(labels, list) or not all(
            isinstance(row, list) and len(row) == len(CIFAR_10) for row in labels
        ):
            raise _not_released(path, show(labels), name, "wrong-length")
        if not all(isinstance(p, (int, float)) and not isinstance(p, bool) for row in labels for p in row):
            raise _not_released(path, show(labels), name, "wrong-type")
    items = [name for name, labels in document.items() for _ in labels]
    probs = np.array([row for labels in document.values() for row in labels], dtype=np.float64)
    people = [f"unnamed-{i}" for i in range(len(items))]
    try:
        beliefs = Beliefs.from_numpy(items, people, probs.reshape(len(items), len(CIFAR_10)), CIFAR_10)
    except BadProbabilities as error:
        error.where = ErrorLocation(str(path), column=items[error.where.row or 0])
        raise
    notes = (
        f"{len(beliefs):,} beliefs about {len(document):,} mixed images ({listing(list(CIFAR_10))})",
        "the authors published no annotators: each row gets its own annotator",
    )
    return ImportResult(beliefs, notes)


def _not_released(path: Path, found: str, item: str | None, code: str = "bad-item") -> BadTable:
    expected = 'an object like {"mixed_0.5_Dog_2205_Frog_6908.png": [[ten probabilities], ...]}'
    return BadTable(found, expected, PUBLISHED, code, ErrorLocation(str(path), column=item))
