"""What a file holds, as one SHA-256: of its values, not of how and when they were packed."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import numpy as np

from sfumato.tables.files import read_arrays

PIECE_BYTES = 1 << 20


def digest_of(path: Path) -> str:
    """The SHA-256 of what `path` holds.

    Of a NumPy file: names, types, shapes and values of its arrays, in the order of their names. Of a `.gz`: the bytes
    that were packed. Of any other: its bytes. A ZIP or gzip file carries the time of its making and depends on the
    version of the packer, so the same data packed twice differs in its bytes, and not in this.
    """
    digest = hashlib.sha256()
    if path.suffix in (".npy", ".npz"):
        for name, array in sorted(read_arrays(path).items()):
            digest.update(f"{name}\0{array.dtype.str}{array.shape}\0".encode())
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            digest.update(piece)
    return digest.hexdigest()
