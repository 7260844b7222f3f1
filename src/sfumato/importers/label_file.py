"""Reads people's labels from any file as SoftLabels: distributions, votes per class, hard labels, and the files of
tools and data sets that `sfumato import auto` recognizes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sfumato.importers import importer_for
from sfumato.importers.importer import Importer
from sfumato.importers.label_formats import LabelsImporter, PredictionsImporter, labels_in
from sfumato.importers.prediction_file import FileOptions
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.counts import Counts
from sfumato.tables.errors import BadTable
from sfumato.tables.files.file_type import CSV, NUMPY, PARQUET, TSV
from sfumato.tables.soft_labels import SoftLabels

OWN_KINDS = (CSV, TSV, PARQUET, NUMPY)
"""Files whose columns and arrays are read here; a JSON file or a folder may also be of a tool or a data set."""


def read_labels(path: str | Path, options: FileOptions | None = None) -> SoftLabels:
    """People's labels: SoftLabels, Counts (as shares of votes), or hard labels (`item`, `label`) as one-hot rows."""
    path, options = Path(path), options or FileOptions()
    importer = None if options.classes or options.items else recognized(path)
    if importer is None:
        return labels_in(path, options).labels
    table = importer.read(path).table
    if isinstance(table, (Annotations, Beliefs)):
        fix = f"aggregate the answers first: sfumato aggregate {path} --by mean -o labels.parquet"
        raise BadTable(f"single answers ({importer.name})", "one distribution per item", fix, "not-labels", path)
    assert isinstance(table, (Counts, SoftLabels))
    return replace(table.labels() if isinstance(table, Counts) else table, path=path)


def recognized(path: Path) -> Importer | None:
    """The importer of the tool or data set that a file is certainly from; None if it is to be read by its columns."""
    if path.is_file() and path.name.lower().endswith(tuple(end for kind in OWN_KINDS for end in kind.suffixes)):
        return None
    try:
        importer = importer_for(path)
    except BadTable:
        return None
    return None if importer.name in (LabelsImporter.name, PredictionsImporter.name) else importer
