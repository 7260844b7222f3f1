"""CIFAR-10S: top-two answers of 248 annotators on 1,000 CIFAR-10 test images (Collins, Bhatt and Weller 2022)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa

from sfumato.importers.file_head import Evidence, Preview
from sfumato.importers.importer import CIFAR_10, ImportResult, find_file, summary
from sfumato.importers.source_columns import (
    annotations_of,
    class_number,
    class_numbers,
    coded_array,
    coded_columns,
    finite_number,
    not_published,
    number_column,
    purposes,
    second_answers,
)
from sfumato.tables.errors import BadSetting
from sfumato.tables.files.table_file import Rows, read_rows
from sfumato.tables.soft_labels import SoftLabels
from sfumato.tables.text_columns import CodedText

FILES = ("elicitations.csv.gz", "elicitations.csv")
COLUMNS = (
    "annotator", "trial_index", "image_index", "true_label", "most_probable", "most_probable_pct_raw",
    "second_probable", "second_probable_pct_raw", "impossible", "is_repeat", "rt_ms",
)  # fmt: skip
OPTIONAL = ("most_probable_pct_raw", "second_probable_pct_raw", "impossible")
TYPING_SLIPS = {"8p": "80"}
"""Typed percentages that are not numbers, and how the authors read them."""


@dataclass(frozen=True)
class Cifar10SImporter:
    """First-pass answers (6,200); `repeats` adds the 496 pictures shown a second time, with purpose `repeat`.

    `as_released` gives all 6,723 rows used for the released labels, all with purpose `label`: first passes, repeats,
    and one annotator's answers that were uploaded twice.
    """

    repeats: bool = False
    as_released: bool = False

    name: ClassVar[str] = "cifar-10s"

    @classmethod
    def recognize(cls, preview: Preview) -> Evidence | None:
        return Evidence("the columns of elicitations.csv") if preview.has_columns(*COLUMNS) else None

    def __post_init__(self) -> None:
        if self.repeats and self.as_released:
            fix = "leave out --repeats: --as-released includes them"
            raise BadSetting("repeats together with as_released", "one of the two", fix)

    def read(self, source: str | Path) -> ImportResult:
        path = find_file(source, FILES)
        rows = read_rows(path, guarded=False)
        columns = coded_columns(rows, COLUMNS, optional=OPTIONAL)
        truth = class_numbers(rows, columns["true_label"], "true_label", CIFAR_10)
        payloads, n_slips, n_ignored = _payloads(rows, columns)
        is_repeat = np.array(columns["is_repeat"].text().to_pylist()) == "1"
        # An annotator's trial that occurs again was uploaded twice.
        uploaded_again = second_answers(columns["annotator"], columns["trial_index"])
        table = annotations_of(
            {
                "item": coded_array(columns["image_index"]),
                "annotator": coded_array(columns["annotator"]),
                "payload": pa.array(payloads, pa.string()),
                "trial": pa.array(number_column(rows, columns["trial_index"], "trial_index")),
                "purpose": purposes(is_repeat & (not self.as_released)),
                "seconds": pa.array(number_column(rows, columns["rt_ms"], "rt_ms") / 1000),
            },
            "top_two/1",
            CIFAR_10,
            rows.where(),
        )
        wanted = np.ones(len(table), dtype=bool)
        if not self.as_released:
            wanted = ~uploaded_again & (self.repeats | ~is_repeat)
        kept = table.take(wanted)
        content = f"{int(is_repeat.sum()):,} repeats, {int(uploaded_again.sum())} rows uploaded twice"
        left_out = f"{len(table) - len(kept):,} rows left out"
        notes = [
            summary(kept),
            f"the file has {len(table):,} rows: {content}; "
            + ("all kept as labels, as released" if self.as_released else left_out),
            f"{n_slips} percentage typed as '8p' was read as 80, as by the authors",
            f"{n_ignored:,} second percentages without a second class were kept if numeric; labelers ignore them",
        ]
        items = columns["image_index"].text().to_pylist()
        by_item = dict(zip(items, truth.tolist(), strict=True))
        original = SoftLabels.from_numpy(list(by_item), np.eye(10)[list(by_item.values())], CIFAR_10)
        return ImportResult(kept, tuple(notes), original)


def _payloads(rows: Rows, columns: dict[str, CodedText]) -> tuple[list[str], int, int]:
    first = class_numbers(rows, columns["most_probable"], "most_probable", CIFAR_10)
    second = class_numbers(rows, columns["second_probable"], "second_probable", CIFAR_10, none="-1")
    typed_first = columns["most_probable_pct_raw"].text().to_pylist()
    typed_second = columns["second_probable_pct_raw"].text().to_pylist()
    marked = columns["impossible"].text().to_pylist()
    n_slips = sum(text in TYPING_SLIPS for text in typed_first)
    n_ignored = sum(s < 0 and text != "" for s, text in zip(second, typed_second, strict=True))
    payloads = [
        json.dumps(
            {
                "first": CIFAR_10[first[i]],
                "first_percent": _percent(rows, i, "most_probable_pct_raw", typed_first[i], needed=True),
                "second": None if second[i] < 0 else CIFAR_10[second[i]],
                "second_percent": _percent(
                    rows, i, "second_probable_pct_raw", typed_second[i], needed=bool(second[i] >= 0)
                ),
                "impossible": _marked(rows, i, marked[i]),
            }
        )
        for i in range(len(first))
    ]
    return payloads, n_slips, n_ignored


def _percent(rows: Rows, row: int, column: str, typed: str, *, needed: bool) -> float | None:
    """The percentage as typed; text that is not a number is an error if the answer needs it, else None."""
    typed = TYPING_SLIPS.get(typed, typed).strip()
    if typed == "":
        return None
    try:
        value = finite_number(typed)
    except ValueError as error:
        if not needed:
            return None
        raise not_published(rows, row, column, typed, "a percentage") from error
    return int(value) if value == int(value) else value


def _marked(rows: Rows, row: int, text: str) -> list[str]:
    """The classes marked impossible, given as numbers."""
    names = []
    for number in text.split():
        try:
            names.append(CIFAR_10[class_number(number, CIFAR_10)])
        except ValueError as error:
            raise not_published(rows, row, "impossible", number, str(error)) from error
    return names
