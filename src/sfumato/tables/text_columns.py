"""Text columns, read and encoded as integers with each distinct text once."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Bool, Int, Shaped

from sfumato.tables.errors import BadTable, show
from sfumato.tables.files.table_file import Rows
from sfumato.tables.growable_array import GrowableArray, freeze, occurrences

if TYPE_CHECKING:
    from sfumato.tables.string_dictionary import StringDictionary

MANY_ROWS = 2**21
"""With more rows, texts are encoded by compiled code."""
MANY_AT_ONCE = 2**19
"""Single chunks of more rows are encoded by compiled code too."""
MERGE_AFTER = 16
"""The number of chunks that are merged together: merging costs time, keeping chunks costs memory."""


@dataclass(frozen=True)
class CodedText:
    """A text column as integers: `names[codes[row]]` is the text of `row`; every name occurs."""

    codes: Int[np.ndarray, "rows"]
    names: pa.StringArray

    def __post_init__(self) -> None:
        freeze(self, "codes")

    def compact(self) -> CodedText:
        """The same column with only the names that occur, in the same order."""
        used = occurrences(self.codes, len(self.names)) > 0
        if used.all():
            return self
        new_code = (np.cumsum(used) - 1).astype(np.int32)
        return CodedText(new_code[self.codes], self.names.filter(pa.array(used)))

    def take(self, kept: Shaped[np.ndarray, "kept"]) -> CodedText:
        """The rows `kept` (indices or a mask), names compacted."""
        return CodedText(self.codes[kept], self.names).compact()

    def among(self, names: Container[str]) -> Bool[np.ndarray, "rows"]:
        """Which rows hold one of `names`."""
        return np.asarray(np.array([name in names for name in self.names.to_pylist()], dtype=bool)[self.codes])

    def text(self) -> pa.Array:
        """The column as plain text again."""
        return self.names.take(pa.array(self.codes))


@dataclass
class TextReader:
    """Reads a text column chunk by chunk as dictionary-coded arrays; integers become text.

    Missing values are errors, or empty text if the column is `optional`.
    """

    rows: Rows
    name: str
    optional: bool = False
    n_rows: int = 0
    _n_bytes: int = 0

    def read(self, column: pa.ChunkedArray) -> list[pa.DictionaryArray]:
        """The next part of the column, checked."""
        pieces = []
        for chunk in column.chunks:
            pieces.append(self._coded(chunk))
            self.n_rows += len(chunk)
        return pieces

    def _coded(self, chunk: pa.Array) -> pa.DictionaryArray:
        kind = chunk.type.value_type if pa.types.is_dictionary(chunk.type) else chunk.type
        if pa.types.is_dictionary(chunk.type) and chunk.dictionary.null_count:
            chunk = chunk.cast(kind)
        is_id = pa.types.is_integer(kind) or pa.types.is_null(kind) or _is_text(kind)
        if self.optional and is_id and chunk.null_count:
            chunk = chunk.cast(pa.string()).fill_null("")
            kind = pa.string()
        if chunk.null_count and is_id:
            row = int(np.argmax(chunk.is_null().to_numpy(zero_copy_only=False)))
            raise self._bad_text(row, "nothing (null)", "text", "fill in or remove the row", "missing-value")
        if not pa.types.is_integer(kind) and not _is_text(kind):
            raise self._bad_text(None, f"values of type {kind}", "text", "convert the column to text", "wrong-type")
        if pa.types.is_dictionary(chunk.type):
            coded = chunk
        elif _is_text(kind) and len(chunk) > MANY_AT_ONCE:
            from sfumato.tables.string_dictionary import coded_texts

            coded = coded_texts(chunk)
        else:
            coded = chunk.dictionary_encode()
        if coded.type != pa.dictionary(pa.int32(), pa.string()):
            # Cast only the dictionary: casting the column would first decode every row.
            texts = coded.dictionary.cast(pa.string())
            coded = pa.DictionaryArray.from_arrays(coded.indices.cast(pa.int32()), texts)
        self._check_texts(coded)
        lengths = pc.binary_length(coded.dictionary).to_numpy(zero_copy_only=False)
        self._n_bytes += int(np.bincount(coded.indices.to_numpy(), minlength=len(lengths)) @ lengths.astype(np.int64))
        self.rows.check_expansion(self._n_bytes)
        return coded

    def _check_texts(self, coded: pa.DictionaryArray) -> None:
        texts = coded.dictionary
        empty = pc.and_(pc.equal(pc.utf8_trim_whitespace(texts), ""), pa.scalar(not self.optional))
        nul = pc.match_substring(texts, "\0")
        for bad in np.flatnonzero(pc.or_(empty, nul).to_numpy(zero_copy_only=False)).tolist():
            hit = coded.indices.to_numpy() == bad
            if hit.any():
                found, fix = show(texts[bad].as_py()), "fill in or remove the row"
                raise self._bad_text(int(np.argmax(hit)), found, "text that is not blank", fix, "empty-text")

    def _bad_text(self, row: int | None, found: str, expected: str, fix: str, code: str) -> BadTable:
        at = None if row is None else self.n_rows + row
        return BadTable(found, expected, fix, code, where=self.rows.where(at, self.name))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


@dataclass
class TextEncoder:
    """Encodes a text column chunk by chunk into a `CodedText`."""

    reader: TextReader
    _pieces: list[pa.DictionaryArray] = field(default_factory=list)
    _codes: GrowableArray = field(default_factory=lambda: GrowableArray(np.int32))
    _names: pa.StringArray = field(default_factory=lambda: pa.array([], pa.string()))
    _dictionary: StringDictionary | None = None

    @classmethod
    def of(cls, rows: Rows, name: str, *, optional: bool = False) -> TextEncoder:
        """An encoder for the column `name` of `rows`."""
        return cls(TextReader(rows, name, optional))

    def append(self, column: pa.ChunkedArray) -> None:
        """Add the next chunk."""
        self._pieces += self.reader.read(column)
        if len(self._pieces) >= MERGE_AFTER:
            self._merge()

    def finish(self) -> CodedText:
        """The whole column."""
        self._merge()
        names = self._names if self._dictionary is None else self._dictionary.names()
        self._dictionary = None
        return CodedText(self._codes.finish(), names).compact()

    def _merge(self) -> None:
        """Merge the texts of the pieces into the known ones, whose codes stay the same."""
        if self._dictionary is None and len(self._codes) > MANY_ROWS:
            from sfumato.tables.string_dictionary import StringDictionary

            self._dictionary = StringDictionary(self._names)
        if self._dictionary is not None:
            for piece in self._pieces:
                code = self._dictionary.codes_of(piece.dictionary)
                self._codes.append(code[piece.indices.to_numpy(zero_copy_only=False)])
            self._pieces = []
            return
        if not len(self._names) and len(self._pieces) == 1:
            self._names = self._pieces[0].dictionary
            self._codes.append(self._pieces[0].indices.to_numpy(zero_copy_only=False))
            self._pieces = []
            return
        known = pa.DictionaryArray.from_arrays(pa.array([], pa.int32()), self._names)
        unified = pa.chunked_array([known, *self._pieces]).unify_dictionaries()
        for piece in unified.chunks[1:]:
            self._codes.append(piece.indices.to_numpy(zero_copy_only=False))
        self._names = unified.chunk(0).dictionary
        self._pieces = []
