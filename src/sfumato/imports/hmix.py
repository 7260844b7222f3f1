"""H-Mix: human judgments of mixed CIFAR-10 images (Collins et al. 2023, human-in-the-loop mixup)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa

from sfumato.beliefs import Beliefs
from sfumato.errors import BadTable, Where, listing, show, unknown
from sfumato.files import read_document, read_rows
from sfumato.imports.imported import (
    CIFAR_10,
    Imported,
    annotations_of,
    came_in,
    class_numbers,
    coded_array,
    find_file,
    purposes,
    text_columns,
)

MIXING_FILES = ("infer_mixing_factor.csv.gz", "hmix_infer_mixing_factor.csv")
LABEL_FILES = ("hmix_individ_soft_labels.json.gz", "hmix_individ_soft_labels.json")
COLUMNS = (
    "annotator",
    "task",
    "label1",
    "index1",
    "label2",
    "index2",
    "true_mixing",
    "response_mixing_pct_raw",
    "confidence_pct",
    "rt_ms",
    "trial_index",
)
PARTS = ("mixing", "soft-labels")
NAME = re.compile(r"mixed_[0-9.]+_[A-Z][a-z]+_\d+_[A-Z][a-z]+_\d+\.png")


@dataclass(frozen=True)
class HMix:
    """`part` "mixing": how much of each class people saw in a mixed image, and how sure they were (Annotations of kind
    `mixture`; second showings have purpose `repeat`). `part` "soft-labels": ten-class beliefs about 100 mixed images
    (Beliefs; the authors published no annotators, so each row has one of its own).

    An item is called what the authors call it: `mixed_0.5_Dog_2205_Frog_6908.png` is half of test image 2205, a dog.
    """

    part: str = "mixing"

    name: ClassVar[str] = "hmix"
    summary: ClassVar[str] = (
        "H-Mix mixture judgments; --part soft-labels for beliefs about mixed images (Collins et al. 2023)"
    )

    def __post_init__(self) -> None:
        if self.part not in PARTS:
            raise unknown("part", self.part, PARTS)

    def read(self, source: str | Path) -> Imported:
        if self.part == "mixing":
            return _read_mixing(find_file(source, MIXING_FILES))
        return _read_soft_labels(find_file(source, LABEL_FILES))


def _read_mixing(path: Path) -> Imported:
    rows = read_rows(path, guarded=False)
    columns = text_columns(rows, COLUMNS)
    text = {name: column.text().to_pylist() for name, column in columns.items()}
    first = class_numbers(rows, columns["label1"], "label1", CIFAR_10)
    second = class_numbers(rows, columns["label2"], "label2", CIFAR_10)
    share = 1 - _percents(rows.where(None, "response_mixing_pct_raw"), text["response_mixing_pct_raw"])
    confidence = _percents(rows.where(None, "confidence_pct"), text["confidence_pct"])
    items = [
        f"mixed_{text['true_mixing'][i]}_{CIFAR_10[first[i]].title()}_{text['index1'][i]}_{CIFAR_10[second[i]].title()}_{text['index2'][i]}.png"
        for i in range(len(first))
    ]
    payloads = [
        json.dumps(
            {
                "classes": [CIFAR_10[a], CIFAR_10[b]],
                "share": round(float(s), 6),
                "confidence": round(float(c), 6),
            }
        )
        for a, b, s, c in zip(first, second, share, confidence, strict=True)
    ]
    is_repeat = np.array(["rerun" in task for task in text["task"]])
    table = annotations_of(
        {
            "item": pa.array(items, pa.string()),
            "annotator": coded_array(columns["annotator"]),
            "payload": pa.array(payloads, pa.string()),
            "trial": columns["trial_index"].text().cast(pa.int64()),
            "purpose": purposes(is_repeat),
            "seconds": pa.array(np.array(text["rt_ms"], dtype=np.float64) / 1000),
        },
        "mixture/1",
        CIFAR_10,
    )
    notes = (
        f"{came_in(table)}; {int(is_repeat.sum()):,} are repeats",
        "the slider runs towards the second image: share of the first class = 1 - response / 100",
    )
    return Imported(table, notes)


def _percents(where: Where, texts: list[str]) -> np.ndarray:
    try:
        values = np.array(texts, dtype=np.float64) / 100
    except ValueError:
        values = np.array([np.nan])
    if not ((values >= 0) & (values <= 1)).all():
        raise BadTable(
            "found a value that is no percent",
            expected="0 to 100",
            fix="is this the published file?",
            code="bad-number",
            where=where,
        )
    return values


def _read_soft_labels(path: Path) -> Imported:
    document = read_document(path)
    if not isinstance(document, dict) or not all(NAME.fullmatch(str(name)) for name in document):
        odd = (
            next((name for name in document if not NAME.fullmatch(str(name))), document)
            if isinstance(document, dict)
            else type(document)
        )
        raise BadTable(
            f"found {show(odd)}",
            expected="an object with a key a mixed image, mixed_0.5_Dog_2205_Frog_6908.png",
            fix="is this the published file?",
            code="bad-item",
            where=Where(str(path)),
        )
    items = [name for name, labels in document.items() for _ in labels]
    probs = [row for labels in document.values() for row in labels]
    if bad := [i for i, row in enumerate(probs) if not isinstance(row, list) or len(row) != len(CIFAR_10)]:
        raise BadTable(
            f"found {show(probs[bad[0]])}",
            expected="ten probabilities",
            fix="is this the published file?",
            code="wrong-length",
            where=Where(str(path), column=items[bad[0]]),
        )
    beliefs = Beliefs.from_numpy(
        items, [f"unnamed-{i}" for i in range(len(items))], np.array(probs, dtype=np.float64), CIFAR_10
    )
    notes = (
        f"{len(beliefs):,} beliefs about {len(document):,} mixed images ({listing(list(CIFAR_10))})",
        "the authors published no annotators: each row has an annotator of its own, so nobody is taken for another",
    )
    return Imported(beliefs, notes)
