"""NumPy arrays from `.npy` and `.npz`: never a pickle, never a bomb."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

from sfumato.errors import BadFile, UnsafeFile, Where
from sfumato.files.kinds import FREE_EXPANSION_BYTES, MAX_EXPANSION, NUMPY, check_content


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an `.npz` by name; that of an `.npy` under the name of the file without its ending."""
    check_content(path, NUMPY)
    try:
        if zipfile.is_zipfile(path):
            _check_expansion(path)
            with np.load(path, allow_pickle=False) as archive:
                return {name: archive[name] for name in archive.files}
        return {path.stem: np.load(path, allow_pickle=False)}
    except ValueError as error:
        if "pickle" in str(error).lower():
            raise UnsafeFile(
                "found an array of Python objects, which only a pickle can hold",
                expected="arrays of numbers or text",
                fix="save it again with a plain dtype (a pickle can run any program when opened)",
                code="pickle",
                where=Where(str(path)),
            ) from error
        raise _damaged(path, error) from error
    except (zipfile.BadZipFile, OSError, EOFError, KeyError) as error:
        raise _damaged(path, error) from error


def _check_expansion(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        total = sum(info.file_size for info in archive.infolist())
    if total > FREE_EXPANSION_BYTES and total > MAX_EXPANSION * path.stat().st_size:
        raise UnsafeFile(
            f"found {total:,} bytes in a file of {path.stat().st_size:,}",
            expected=f"at most {MAX_EXPANSION} times the compressed size",
            fix="if the file is really yours, save it without compression (np.savez)",
            code="bomb",
            where=Where(str(path)),
        )


def _damaged(path: Path, error: Exception) -> BadFile:
    return BadFile(
        f"found a damaged NumPy file ({error})",
        expected="a whole .npy or .npz",
        fix="copy or save the file again",
        code="damaged",
        where=Where(str(path)),
    )
