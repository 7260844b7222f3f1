"""A file is replaced whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sfumato.errors import CannotWrite, Where


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`; on success it takes the place of `path`, on any error it is gone.

    The new file is on stable storage before the old one goes, so a full disk or a power cut leaves the old one.
    """
    target = path.resolve()
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        yield part
        _sync(part)
        os.replace(part, target)
        _sync(target.parent)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise _cannot_write(path, error) from error
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _cannot_write(path: Path, error: OSError) -> CannotWrite:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT) or "No space left" in str(error)
    kept = "; the file that was there is unchanged" if path.exists() else ""
    if full:
        found, fix, code = "the disk is full", "free some space and run the command again", "disk-full"
    elif not path.parent.is_dir():
        found, fix, code = (
            f"there is no folder {str(path.parent)!r}",
            "make the folder first",
            "no-such-folder",
        )
    else:
        found, fix, code = (
            f"writing failed ({error.strerror or error})",
            "check the folder's permissions",
            "cannot-write",
        )
    return CannotWrite(f"{found}{kept}", expected="a place to write", fix=fix, code=code, where=Where(str(path)))
