"""CIFAR-10H: hard votes of some fifty people on each CIFAR-10 test image (Peterson et al. 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa

from sfumato.columns import Coded
from sfumato.errors import BadTable, Where, listing
from sfumato.files import read_arrays, read_rows
from sfumato.imports.imported import (
    CIFAR_10,
    Imported,
    annotations_of,
    came_in,
    choice_payloads,
    class_numbers,
    coded_array,
    counts_notes,
    find_file,
    labels_from_counts,
    text_columns,
)
from sfumato.soft_labels import SoftLabels

COUNT_FILES = ("counts.npz", "cifar10h-counts.npy", "data/cifar10h-counts.npy")
ANSWER_FILES = ("cifar10h-raw.csv", "cifar10h-raw.csv.gz", "annotator-level-9500-9999.csv.gz")


@dataclass(frozen=True)
class Cifar10H:
    """The published votes per class as SoftLabels; with `annotator_level`, single answers as Annotations.

    Annotator-level sources: the authors' `cifar10h-raw.csv` (with response times and attention checks, kept with
    purpose `check`), or a table of `image_index, annotator_id, chosen_label[, true_label]`.
    """

    annotator_level: bool = False

    name: ClassVar[str] = "cifar-10h"
    summary: ClassVar[str] = "CIFAR-10H votes per class; single answers with --annotator-level (Peterson et al. 2019)"

    def read(self, source: str | Path) -> Imported:
        if self.annotator_level:
            return self._read_answers(find_file(source, ANSWER_FILES))
        path = find_file(source, COUNT_FILES)
        if path.name.lower().endswith((".csv", ".csv.gz")):
            return self._read_answers(path)
        arrays = read_arrays(path)
        counts = arrays.get("counts", arrays.get(path.stem))
        if counts is None:
            raise BadTable(
                f"found arrays {listing(list(arrays))}",
                expected="an array `counts`",
                fix="is this the published file?",
                code="missing-column",
                where=Where(str(path)),
            )
        items = [str(i) for i in range(len(counts))]
        labels = labels_from_counts(items, counts, CIFAR_10, Where(str(path)))
        original = SoftLabels.from_numpy(items, np.eye(10)[arrays["labels"]], CIFAR_10) if "labels" in arrays else None
        return Imported(labels, counts_notes(labels), original)

    def _read_answers(self, path: Path) -> Imported:
        rows = read_rows(path, guarded=False)
        raw = "cifar10_test_test_idx" in rows.schema.names
        image = "cifar10_test_test_idx" if raw else "image_index"
        wanted = [image, "annotator_id", "chosen_label"]
        wanted += [
            n
            for n in ("true_label", "is_attn_check", "trial_index", "reaction_time", "image_filename")
            if n in rows.schema.names
        ]
        columns = text_columns(rows, wanted)
        chosen = class_numbers(rows, columns["chosen_label"], "chosen_label", CIFAR_10)
        index = columns[image].text().to_pylist()
        check = (
            np.array(columns["is_attn_check"].text().to_pylist()) == "1"
            if "is_attn_check" in columns
            else np.zeros(len(index), bool)
        )
        if check.any():
            names = columns["image_filename"].text().to_pylist() if "image_filename" in columns else index
            index = [f"check:{names[i]}" if is_check else index[i] for i, is_check in enumerate(check)]
        given = {
            "item": pa.array(index, pa.string()),
            "annotator": coded_array(columns["annotator_id"]),
            "payload": choice_payloads(Coded(chosen.astype(np.int32), pa.array(CIFAR_10))),
            "purpose": pa.array(np.where(check, "check", "label")),
        }
        if "trial_index" in columns:
            given["trial"] = columns["trial_index"].text().cast(pa.int64())
        if "reaction_time" in columns:
            given["seconds"] = pa.array(np.array(columns["reaction_time"].text().to_pylist(), dtype=np.float64) / 1000)
        table = annotations_of(given, "choice/1", CIFAR_10)
        notes = [came_in(table)]
        if check.any():
            notes.append(f"{int(check.sum()):,} attention checks kept with purpose 'check'")
        if not raw:
            notes.append(
                "this annotator-level part has no times, and its totals differ a little from the published counts"
            )
        return Imported(table, tuple(notes), self._original(rows, columns, index))

    def _original(self, rows: object, columns: dict[str, Coded], index: list[str]) -> SoftLabels | None:
        if "true_label" not in columns:
            return None
        truth = class_numbers(rows, columns["true_label"], "true_label", CIFAR_10)  # type: ignore[arg-type]
        first = dict(reversed(list(zip(index, truth.tolist(), strict=True))))
        items = list(dict.fromkeys(index))
        return SoftLabels.from_numpy(items, np.eye(10)[[first[name] for name in items]], CIFAR_10)
