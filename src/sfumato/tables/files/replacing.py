"""A file is replaced whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sfumato.tables.errors import CannotWrite, ErrorLocation


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`; on success it takes the place of `path`, on any error it is gone.

    The new file is on stable storage before the old one goes, so a full disk or a power cut leaves the old one.
    """
    target = check_place(path).resolve()
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        yield part
        _sync(part)
        os.replace(part, target)
        _sync(target.parent)
    except OSError as error:
        _forget(part)
        raise _cannot_write(path, error) from error
    except BaseException:
        _forget(part)
        raise


def check_place(path: Path) -> Path:
    """`path`, or an error unless a file can be written there: for all outputs of a command, before the first one."""
    try:
        if not path.parent.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "no folder")
        os.lstat(path.with_name(f".{path.name}.{os.getpid()}.part"))
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        raise _cannot_write(path, error) from error
    return path


def _forget(part: Path) -> None:
    with contextlib.suppress(OSError):
        part.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _cannot_write(path: Path, error: OSError | ValueError) -> CannotWrite:
    number = getattr(error, "errno", None)
    full = number in (errno.ENOSPC, errno.EDQUOT) or "No space left" in str(error)
    kept = "; the file that was there is unchanged" if number != errno.ENAMETOOLONG and os.path.exists(path) else ""
    if full:
        found, fix, code = "the disk is full", "free some space and run the command again", "disk-full"
    elif number in (errno.ENOENT, errno.ENOTDIR) and not path.parent.is_dir():
        found, fix, code = (
            f"there is no folder {str(path.parent)!r}",
            "make the folder first",
            "no-such-folder",
        )
    else:
        found, fix, code = (
            f"writing failed ({getattr(error, 'strerror', None) or error})",
            "check the folder's permissions",
            "cannot-write",
        )
    return CannotWrite(
        f"{found}{kept}", expected="a place to write", fix=fix, code=code, where=ErrorLocation(str(path))
    )
