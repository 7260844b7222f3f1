"""What predictions are scored against: people's labels, or their single answers, from a table, data frame or file."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.importers.label_file import read_labels, recognized
from sfumato.importers.prediction_file import FileOptions
from sfumato.labeling.default_labeler import label_by_default
from sfumato.tables.annotations import Annotations
from sfumato.tables.base_table import Table
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.counts import Counts
from sfumato.tables.errors import no_rows
from sfumato.tables.files.file_type import CSV, PARQUET
from sfumato.tables.files.table_file import class_names, read_rows
from sfumato.tables.frame_votes import KNOWN_NAMES, has_votes_per_class, is_frame
from sfumato.tables.label_argument import label_argument
from sfumato.tables.soft_labels import SoftLabels


def people_labels(people: Any, call: str = "sf.evaluate", classes: Sequence[str] = ()) -> SoftLabels | Beliefs:
    """Labels as they are, counts as shares of votes, and single answers (Annotations, Beliefs, votes in a data frame)
    as Beliefs: then it is known who said what. A file is read, its votes with `classes`. A table with these classes in
    another order, and not on a scale, gets their order."""
    names = class_names(classes)
    return _in_order_of(names, _as_labels(people, call, names))


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


def _in_order_of(classes: tuple[str, ...], table: SoftLabels | Beliefs) -> SoftLabels | Beliefs:
    """The same table with its columns in the order of `classes`, if these are its classes and it has no scale."""
    if table.is_ordered or set(classes) != set(table.classes) or classes == tuple(table.classes):
        return table
    columns = [table.classes.index(name) for name in classes]
    if isinstance(table, SoftLabels):
        return replace(table, classes=classes, probs=table.probs[:, columns])
    hard = None if table.hard is None else np.argsort(columns)[table.hard].astype(table.hard.dtype)
    return replace(table, classes=classes, hard=hard, soft=None if table.soft is None else table.soft[:, columns])


def _read(path: Path, classes: tuple[str, ...]) -> SoftLabels | Beliefs:
    from sfumato.importers import import_file  # here, to keep chains of imports short

    found: Any = None
    if path.is_file() and path.name.lower().endswith((*CSV.suffixes, *PARQUET.suffixes)):
        if set(KNOWN_NAMES["annotator"]) & set(read_rows(path).schema.names):
            found = import_file(path, settings={"classes": classes} if classes else {}, are_votes=True).table
    elif (importer := recognized(path)) is not None:
        found = importer.read(path).table
    if not isinstance(found, (Annotations, Beliefs)):
        return read_labels(path, FileOptions(known=classes))
    if not len(found):
        raise no_rows(where=path)
    return _beliefs(found)
