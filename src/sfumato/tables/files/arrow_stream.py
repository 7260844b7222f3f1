"""Reads Arrow streams, as the datasets library writes them, whose memory is in proportion to their size."""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass

import pyarrow as pa

MAX_ROWS_PER_BYTE = 8
"""Rows of one bit; a row of nothing but nulls needs no bytes at all."""
DICTIONARY_BATCH, RECORD_BATCH = 2, 3


def read_stream(data: bytes) -> pa.Table:
    """The rows of the stream; an error for compressed columns, and for more rows than its bytes can hold."""
    for message in pa.ipc.MessageReader.open_stream(pa.py_buffer(data)):
        if _is_compressed(message):
            raise ValueError("compressed columns, which may expand without limit")
    table = pa.ipc.open_stream(io.BytesIO(data)).read_all()
    table.validate(full=True)  # wrong offsets would end the process
    if table.num_rows > MAX_ROWS_PER_BYTE * len(data):
        raise ValueError(f"{table.num_rows:,} rows in {len(data):,} bytes")
    return table


def _is_compressed(message: pa.ipc.Message) -> bool:
    """Whether a message of an Arrow stream has compressed buffers, by the tables of its flatbuffer."""
    try:
        reader = FlatTable.root(message.metadata.to_pybytes())
        kind = reader.byte(1)
        batch = reader.table(2) if kind in (DICTIONARY_BATCH, RECORD_BATCH) else None
        if batch is not None and kind == DICTIONARY_BATCH:
            batch = batch.table(1)
        return batch is not None and batch.table(3) is not None
    except struct.error as error:
        raise ValueError("a message that is cut off") from error


@dataclass(frozen=True)
class FlatTable:
    """A table of a flatbuffer: fields by number, at offsets that its vtable gives."""

    data: bytes
    at: int

    @classmethod
    def root(cls, data: bytes) -> FlatTable:
        return cls(data, *struct.unpack_from("<I", data, 0))

    def byte(self, number: int) -> int:
        offset = self._offset(number)
        return int(struct.unpack_from("<B", self.data, self.at + offset)[0]) if offset else 0

    def table(self, number: int) -> FlatTable | None:
        offset = self._offset(number)
        if not offset:
            return None
        place = self.at + offset
        return FlatTable(self.data, place + int(struct.unpack_from("<I", self.data, place)[0]))

    def _offset(self, number: int) -> int:
        vtable = self.at - int(struct.unpack_from("<i", self.data, self.at)[0])
        if vtable < 0 or 4 + 2 * number >= struct.unpack_from("<H", self.data, vtable)[0]:
            return 0
        return int(struct.unpack_from("<H", self.data, vtable + 4 + 2 * number)[0])
