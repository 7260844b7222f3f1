"""Similarity between classes: a matrix, given or computed from embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from sfumato.tables.column_reader import read_columns
from sfumato.tables.errors import BadTable, ErrorLocation, listing, unknown
from sfumato.tables.files.table_file import read_rows


@dataclass(frozen=True, eq=False)
class ClassSimilarity:
    """Similarity of every pair of classes, 0 or more, larger for more similar; the diagonal is not used."""

    classes: tuple[str, ...]
    matrix: Float[np.ndarray, "classes classes"]
    source: str | None = None

    def __post_init__(self) -> None:
        k = len(self.classes)
        if self.matrix.shape != (k, k) or not np.isfinite(self.matrix).all() or self.matrix.min(initial=0) < 0:
            found = f"a matrix of shape {self.matrix.shape}, smallest value {self.matrix.min(initial=0):g}"
            fix = "give one row and one column per class; shift or clip negative similarities"
            raise BadTable(found, f"{k} x {k} finite values >= 0", fix, "bad-similarity")

    @classmethod
    def from_embeddings(cls, classes: Sequence[str], embeddings: Float[np.ndarray, "classes size"]) -> ClassSimilarity:
        """Cosine similarity of class embeddings; negative values become 0."""
        norms = np.linalg.norm(embeddings, axis=1, keepdims=True)
        if len(classes) != len(embeddings) or not np.isfinite(norms).all() or (norms == 0).any():
            found = f"{len(embeddings)} embeddings for {len(classes)} classes, or one of zero length"
            expected = "one finite, non-zero vector per class"
            raise BadTable(found, expected, "give every class a vector", "bad-similarity")
        unit = embeddings / norms
        return cls(tuple(classes), np.clip(unit @ unit.T, 0.0, 1.0))

    @classmethod
    def read(cls, path: str | Path) -> ClassSimilarity:
        """From a CSV or Parquet file with a column `class`; the other columns are the classes, or an embedding."""
        rows = read_rows(path)
        others = [name for name in rows.schema.names if name != "class"]
        if not others:
            found, expected = "only the column class", "one column per class, or an embedding"
            raise BadTable(found, expected, "add the similarities or the vectors", "bad-similarity", rows.where())
        columns = read_columns(rows, ("class",), others)
        classes = columns.listed("class")
        values = np.stack([columns.numbers[name] for name in others], axis=1)
        try:
            if set(classes) != set(others):
                return replace(cls.from_embeddings(classes, values), source=str(path))
            return cls(tuple(classes), values[:, [others.index(name) for name in classes]], str(path))
        except BadTable as error:
            error.where = rows.where()
            raise

    def ordered(self, classes: Sequence[str]) -> Float[np.ndarray, "classes classes"]:
        """The matrix in the order of `classes`, with 0 on the diagonal; an error if a class is missing."""
        for name in classes:
            if name not in self.classes:
                fix = f"add it to the similarity matrix ({listing(self.classes)})"
                raise unknown("class", name, self.classes, fix=fix, where=ErrorLocation(self.source))
        rows = [self.classes.index(name) for name in classes]
        matrix = self.matrix[np.ix_(rows, rows)].copy()
        np.fill_diagonal(matrix, 0)
        return matrix

    def nearest_first(self, classes: Sequence[str]) -> Int[np.ndarray, "classes others"]:
        """For each class the other classes, most similar first (ties in class order)."""
        matrix = self.ordered(classes)
        np.fill_diagonal(matrix, -1)
        return np.argsort(-matrix, axis=1, kind="stable")[:, :-1]
