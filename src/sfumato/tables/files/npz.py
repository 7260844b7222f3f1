"""Reads `.npy` and `.npz` files; rejects pickles and decompression bombs."""

from __future__ import annotations

import math
import struct
import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import BinaryIO

import numpy as np

from sfumato.tables.errors import FREE_EXPANSION_BYTES, MAX_EXPANSION, UnsafeFile, damaged_file, decompression_bomb
from sfumato.tables.files.file_type import NUMPY, check_content

# All errors of NumPy, zipfile and zlib on damaged files, found by changing every byte of one.
DAMAGE = (
    ValueError, TypeError, KeyError, AttributeError, OverflowError, MemoryError, OSError, EOFError, RuntimeError,
    NotImplementedError, SyntaxError, RecursionError, tokenize.TokenError, struct.error, zlib.error, zipfile.BadZipFile,
)  # fmt: skip


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an `.npz` by name; the array of an `.npy` under the file name without its ending."""
    check_content(path, NUMPY)
    try:
        with path.open("rb") as file:
            if file.read(2) != b"PK":
                file.seek(0)
                return {path.stem: _read_array(file, path.stat().st_size, path)}
        with zipfile.ZipFile(path) as archive:
            _check_expansion(path, archive)
            arrays = {}
            for info in archive.infolist():
                with archive.open(info) as member:
                    arrays[info.filename.removesuffix(".npy")] = _read_array(member, info.file_size, path)
            return arrays
    except DAMAGE as error:
        raise damaged_file("NumPy file", error, path) from error


def _read_array(file: object, n_bytes: int, path: Path) -> np.ndarray:
    """One array; its header is compared with the number of bytes before memory is allocated."""
    assert hasattr(file, "read")
    stream: BinaryIO = file  # type: ignore[assignment]
    version = np.lib.format.read_magic(stream)
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran_order, dtype = read_header(stream)
    if dtype.hasobject:
        fix = "save it again with a plain dtype (a pickle can run any program when it is opened)"
        found = "an array of Python objects, which needs a pickle"
        raise UnsafeFile(found, "arrays of numbers or text", fix, "pickle", path)
    n_values = math.prod(shape)
    if n_values * dtype.itemsize > n_bytes:
        raise ValueError(f"{n_values:,} values expected in {n_bytes:,} bytes")
    data = stream.read(n_values * dtype.itemsize)
    if len(data) < n_values * dtype.itemsize:
        raise EOFError(f"{len(data):,} bytes where {n_values * dtype.itemsize:,} were expected")
    return np.frombuffer(data, dtype).reshape(shape, order="F" if fortran_order else "C").copy()


def _check_expansion(path: Path, archive: zipfile.ZipFile) -> None:
    total = sum(info.file_size for info in archive.infolist())
    if total > FREE_EXPANSION_BYTES and total > MAX_EXPANSION * path.stat().st_size:
        found = f"{total:,} bytes in a file of {path.stat().st_size:,}"
        limit = f"{MAX_EXPANSION} times the compressed size"
        raise decompression_bomb(path, found, limit, "save it without compression (np.savez)")
