"""What predictions are scored against: people's labels, or their single answers, from a table, data frame or file."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfumato.importers.importer import Importer
from sfumato.importers.label_file import read_labels
from sfumato.importers.prediction_file import FileOptions
from sfumato.labeling.default_labeler import label_by_default
from sfumato.tables.annotations import Annotations
from sfumato.tables.base_table import Table
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.counts import Counts
from sfumato.tables.errors import BadTable, no_rows
from sfumato.tables.files.file_type import CSV, NUMPY, PARQUET
from sfumato.tables.files.table_file import class_names, read_rows
from sfumato.tables.frame_votes import KNOWN_NAMES, has_votes_per_class, is_frame
from sfumato.tables.label_argument import label_argument
from sfumato.tables.soft_labels import SoftLabels

BY_COLUMNS = ("counts", "images", "labels", "predictions", "table")
"""Formats of one row per item, which are read by their columns, with the options for labels."""


def people_labels(people: Any, call: str = "sf.evaluate", classes: Sequence[str] = ()) -> SoftLabels | Beliefs:
    """Labels as they are, counts as shares of votes, and single answers (Annotations, Beliefs, votes in a data frame)
    as Beliefs: then it is known who said what. A file is read, its votes with `classes`. A table with these classes in
    another order, and not on a scale, gets their order."""
    names = class_names(classes)
    found = _as_labels(people, call, names)
    # Classes may also name the columns of predictions only: then they are not those of the table.
    return found.in_class_order(names) if set(names) == set(found.classes) else found


def _as_labels(people: Any, call: str, classes: tuple[str, ...]) -> SoftLabels | Beliefs:
    if isinstance(people, (str, Path)):
        return _read(Path(people), classes)
    if isinstance(people, (Annotations, Beliefs)):
        return _beliefs(people)
    if is_frame(people) and not isinstance(people, Table):
        found = Counts.from_pandas(people) if has_votes_per_class(people) else Beliefs.from_pandas(people)
        return found.labels() if isinstance(found, Counts) else found
    return label_argument(people, "people", call)


def _beliefs(answers: Annotations | Beliefs) -> Beliefs:
    if isinstance(answers, Beliefs):
        return answers
    counted = answers.counted()
    if n := len(answers) - len(counted):
        said = logging.getLogger("sfumato")
        said.info("%s of %s answers are not counted (checks or repeats)", f"{n:,}", f"{len(answers):,}")
    return label_by_default(counted)


def _read(path: Path, classes: tuple[str, ...]) -> SoftLabels | Beliefs:
    importer = _importer_of(path)
    if isinstance(importer, BadTable) or importer is None:
        try:
            return _labels_of(path, classes)
        except BadTable:
            if importer is None or importer.code != "not-certain":
                raise
            raise importer from None  # it names the formats that the file may have, and their commands
    if classes and hasattr(importer, "classes"):
        importer = replace(importer, classes=classes)  # type: ignore[type-var]
    found = importer.read(path).table
    if not len(found):
        raise no_rows(where=path)
    if isinstance(found, (Annotations, Beliefs)):
        return _beliefs(found)
    return replace(label_argument(found, "people", "sf.evaluate"), path=path)


def _labels_of(path: Path, classes: tuple[str, ...]) -> SoftLabels:
    """The labels in a table or array; `classes` also name the columns of an array that has no names."""
    try:
        return read_labels(path, FileOptions(known=classes))
    except BadTable as error:
        if error.code != "missing-classes" or not classes:
            raise
        return read_labels(path, FileOptions(classes=classes))


def _importer_of(path: Path) -> Importer | BadTable | None:
    """The importer that `sfumato import auto` chooses, or its error if none is certain; None for labels and counts,
    which are read by their columns."""
    from sfumato.importers import importer_for  # here, to keep chains of imports short

    if path.name.lower().endswith(NUMPY.suffixes):
        return None
    is_table = path.is_file() and path.name.lower().endswith((*CSV.suffixes, *PARQUET.suffixes))
    has_annotators = is_table and bool(set(KNOWN_NAMES["annotator"]) & set(read_rows(path).schema.names))
    try:
        found = importer_for(path, are_votes=has_annotators)
    except BadTable as error:
        if has_annotators:
            raise
        return error
    own: Importer = getattr(found, "importer", found)
    return None if own.name in BY_COLUMNS and not has_annotators else own
