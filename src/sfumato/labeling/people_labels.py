"""What predictions are scored against: people's labels, or their single answers, from a table, data frame or file."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from sfumato.importers.label_file import read_labels, recognized
from sfumato.labeling.default_labeler import label_by_default
from sfumato.tables.annotations import Annotations
from sfumato.tables.base_table import Table
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.counts import Counts
from sfumato.tables.errors import no_rows
from sfumato.tables.files.file_type import CSV, PARQUET
from sfumato.tables.files.table_file import read_rows
from sfumato.tables.frame_votes import KNOWN_NAMES, has_votes_per_class, is_frame
from sfumato.tables.label_argument import label_argument
from sfumato.tables.soft_labels import SoftLabels


def people_labels(people: Any, call: str = "sf.evaluate") -> SoftLabels | Beliefs:
    """Labels as they are, counts as shares of votes, and single answers (Annotations, Beliefs, votes in a data frame)
    as Beliefs: then it is known who said what. A file is read."""
    if isinstance(people, (str, Path)):
        return _read(Path(people))
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


def _read(path: Path) -> SoftLabels | Beliefs:
    from sfumato.importers import import_file  # here, to keep chains of imports short

    found: Any = None
    if path.is_file() and path.name.lower().endswith((*CSV.suffixes, *PARQUET.suffixes)):
        if set(KNOWN_NAMES["annotator"]) & set(read_rows(path).schema.names):
            found = import_file(path, are_votes=True).table
    elif (importer := recognized(path)) is not None:
        found = importer.read(path).table
    if not isinstance(found, (Annotations, Beliefs)):
        return read_labels(path)
    if not len(found):
        raise no_rows(where=path)
    return _beliefs(found)
