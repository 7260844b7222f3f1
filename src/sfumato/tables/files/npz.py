"""Reads and writes `.npy` and `.npz` files; rejects pickles and decompression bombs."""

from __future__ import annotations

import math
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np

from sfumato.tables.errors import (
    FREE_EXPANSION_BYTES,
    MAX_EXPANSION,
    BadTable,
    UnsafeFile,
    damaged_file,
    decompression_bomb,
)
from sfumato.tables.files.file_type import NUMPY, check_content

# All errors of NumPy, zipfile and zlib on damaged files, found by changing every byte of one.
DAMAGE = (
    ValueError, TypeError, KeyError, AttributeError, OverflowError, MemoryError, OSError, EOFError, RuntimeError,
    NotImplementedError, SyntaxError, RecursionError, tokenize.TokenError, struct.error, zlib.error, zipfile.BadZipFile,
)  # fmt: skip

CHUNK = 2**14
MAX_TEXT_BYTES = 2**34


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an `.npz` by name; the array of an `.npy` under the file name without its ending."""
    check_content(path, NUMPY)
    try:
        with path.open("rb") as file:
            if file.read(2) != b"PK":
                file.seek(0)
                return {path.stem: _read_array(file, path.stat().st_size, path, path.stem)}
        with zipfile.ZipFile(path) as archive:
            _check_expansion(path, archive)
            arrays = {}
            for info in archive.infolist():
                name = info.filename.removesuffix(".npy")
                with archive.open(info) as member:
                    arrays[name] = _read_array(member, info.file_size, path, name)
            return arrays
    except DAMAGE as error:
        raise damaged_file("NumPy file", error, path) from error


def _read_array(file: object, n_bytes: int, path: Path, name: str) -> np.ndarray:
    """One array; its header is compared with the number of bytes before memory is allocated."""
    assert hasattr(file, "read")
    stream: BinaryIO = file  # type: ignore[assignment]
    version = np.lib.format.read_magic(stream)
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran_order, dtype = read_header(stream)
    if dtype.hasobject:
        fix = f"save texts with np.array({name}, dtype=str), numbers as float (a pickle can run any program)"
        found = f"an array of Python objects, {name!r}, which needs a pickle"
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


def write_array(archive: zipfile.ZipFile, name: str, values: np.ndarray) -> None:
    """Add an array to an npz."""
    with archive.open(_member(name, zipfile.ZIP_STORED), "w", force_zip64=True) as member:
        np.lib.format.write_array(member, np.ascontiguousarray(values), allow_pickle=False)


def write_texts(archive: zipfile.ZipFile, name: str, texts: Sequence[str]) -> None:
    """Add an array of texts to an npz, in chunks, because the whole array may be much larger than the texts."""
    longest = max(map(len, ["-", *texts]))
    if 4 * longest * len(texts) > MAX_TEXT_BYTES:
        raise BadTable(
            f"{len(texts):,} {name} of up to {longest:,} characters",
            f"texts that fit an array of {MAX_TEXT_BYTES:,} bytes, each as wide as the longest",
            "share them as huggingface, which supports texts of any length",
            "too-large",
        )
    kind = np.dtype(f"<U{longest}")
    with archive.open(_member(name, zipfile.ZIP_DEFLATED), "w", force_zip64=True) as member:
        header = {"descr": kind.str, "fortran_order": False, "shape": (len(texts),)}
        np.lib.format.write_array_header_1_0(member, header)
        for start in range(0, len(texts), CHUNK):
            part = np.array(texts[start : start + CHUNK], kind)
            if part.tolist() != list(texts[start : start + CHUNK]):
                # NumPy would drop such characters silently.
                found = f"a text that ends in a NUL character among the {name}"
                fix = "remove the character, or share them as huggingface"
                raise BadTable(found, "texts that an array can hold", fix, "nul-byte")
            member.write(part.tobytes())


def _member(name: str, compression: int) -> zipfile.ZipInfo:
    """The archive entry of an array, without a time, so that the same labels give the same file."""
    info = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
    info.compress_type = compression
    return info
