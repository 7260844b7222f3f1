"""FERPlus (FER+): ten votes on the emotion of each of 35,887 faces (Barsoum et al. 2016)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from sfumato.importers.file_head import Evidence, Preview
from sfumato.importers.importer import ImportResult, find_file
from sfumato.tables.column_reader import read_columns
from sfumato.tables.counts import Counts
from sfumato.tables.errors import listing, unknown
from sfumato.tables.files.csv import first_record
from sfumato.tables.files.table_file import class_names, read_rows

EMOTIONS = ("neutral", "happiness", "surprise", "sadness", "anger", "disgust", "fear", "contempt")
NO_EMOTION = ("unknown", "NF")
"""Answers that are no emotion: not recognizable, and not a face."""
HEADER = ("Usage", "Image name", *EMOTIONS, *NO_EMOTION)
BOX_HEADER = ("Image name", "face box", *EMOTIONS, *NO_EMOTION)
FILES = ("fer2013new.csv", "data/fer2013new.csv", "label.csv")
SPLITS = {"Training": "train", "PublicTest": "valid", "PrivateTest": "test"}


@dataclass(frozen=True)
class FerPlusImporter:
    """The votes in `fer2013new.csv` (or in a `label.csv` without a header) as Counts over eight emotions.

    `classes` chooses other columns, for example all ten with `unknown` and `NF`. Rows of `fer2013new.csv` are named by
    their number from 0: it is what joins them to `fer2013.csv`, while four image names occur twice. `split` chooses
    train, valid or test. Rows without a vote for a class are left out.
    """

    classes: tuple[str, ...] = ()
    split: str | None = None

    name: ClassVar[str] = "ferplus"

    def __post_init__(self) -> None:
        for each in class_names(self.classes):
            if each not in (*EMOTIONS, *NO_EMOTION):
                raise unknown("class", each, (*EMOTIONS, *NO_EMOTION))
        if self.split is not None and self.split not in SPLITS.values():
            raise unknown("split", self.split, tuple(SPLITS.values()))

    @classmethod
    def recognize(cls, preview: Preview) -> Evidence | None:
        if preview.columns == HEADER:
            return Evidence("the columns of fer2013new.csv: Usage, Image name, and ten answers")
        if len(preview.columns) == len(BOX_HEADER) and _is_boxed(list(preview.columns)):
            return Evidence("rows of a picture fer0000000.png, a face box and ten counts, as in label.csv")
        return None

    def read(self, source: str | Path) -> ImportResult:
        path = find_file(source, FILES)
        boxed = _is_boxed(first_record(path))
        rows = read_rows(path, guarded=False, header=BOX_HEADER if boxed else ())
        columns = read_columns(
            rows, ("Image name", *([] if boxed else ["Usage"])), (*EMOTIONS, *NO_EMOTION), optional=("Image name",)
        )
        names = class_names(self.classes) or EMOTIONS
        votes = np.stack([columns.numbers[name] for name in names], axis=1)
        others = [name for name in (*EMOTIONS, *NO_EMOTION) if name not in names]
        n_others = sum(int(columns.numbers[name].sum()) for name in others)
        kept = np.ones(len(votes), dtype=bool)
        notes = []
        if self.split is not None and not boxed:
            kept &= np.array([SPLITS.get(usage) == self.split for usage in columns.listed("Usage")])
            notes.append(f"{int((~kept).sum()):,} rows of other splits")
        empty = kept & (votes.sum(axis=1) == 0)
        kept &= ~empty
        row_of = np.flatnonzero(kept)
        pictures = columns.listed("Image name")
        items = [pictures[row] if boxed else str(row) for row in row_of.tolist()]
        table = Counts.from_numpy(
            items,
            votes[kept],
            names,
            place=lambda row, column: rows.where(None if row is None else int(row_of[row]), column),
        )
        n = table.n_votes
        what = "pictures" if boxed else "row numbers of the file, from 0"
        notes = [
            f"{len(table):,} items, {int(n.sum()):,} votes, {n.min()} to {n.max()} per item, {len(names)} classes",
            f"item ids are the {what}; the counts of fer2013new.csv and label.csv differ for some pictures",
            f"{int(empty.sum()):,} rows without a vote for these classes, left out",
            *notes,
        ]
        if others:
            notes.append(f"{n_others:,} votes for {listing(others)}, left out (name all classes with --classes)")
        return ImportResult(table, tuple(notes))


def _is_boxed(fields: list[str]) -> bool:
    """Whether a first line is a row of `label.csv`, which has no header."""
    if len(fields) != len(BOX_HEADER):
        return False
    return bool(re.fullmatch(r"fer\d+\.png", fields[0]) and re.fullmatch(r"\(\d+, \d+, \d+, \d+\)", fields[1]))
