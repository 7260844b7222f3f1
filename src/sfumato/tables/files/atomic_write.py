"""Writes files and folders atomically: complete, or not at all. Folders never overwrite files of others."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from sfumato import __version__
from sfumato.tables.errors import CannotWrite, listing

USUAL, PRIVATE = 0o666, 0o600
"""Permissions of a new file before the umask: for everyone, and for its owner only."""


@contextmanager
def atomic_write(path: Path, *, private: bool = False) -> Iterator[Path]:
    """A new empty file next to `path`, which it replaces on success; on any error it is deleted.

    The new file is synced to disk before it replaces the old one, so a full disk or a power failure keeps the old one.
    Only its owner can read it if it is `private`, from the start; otherwise those who could read the old one.
    """
    target = check_place(path).resolve()
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        _create(part, PRIVATE if private else _mode_of(target))
        yield part
        sync_path(part)
        os.replace(part, target)
        sync_path(target.parent)
    except OSError as error:
        _delete(part)
        raise _cannot_write(path, error) from error
    except BaseException:
        _delete(part)
        raise


def _mode_of(path: Path) -> int:
    """The permissions of a file, and the usual ones if there is none."""
    try:
        return path.stat().st_mode & USUAL | PRIVATE
    except OSError:
        return USUAL


def _create(part: Path, mode: int) -> None:
    """Create the file before anything is in it; a link of that name is not followed."""
    part.unlink(missing_ok=True)
    os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
    if mode != USUAL:
        part.chmod(mode)  # not reduced by the umask: an old file may have more


def check_place(path: Path) -> Path:
    """`path`, or an error if no file can be written there. Commands check all outputs before they write the first."""
    try:
        if not path.parent.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "no folder")
        os.lstat(path.with_name(f".{path.name}.{os.getpid()}.part"))
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        raise _cannot_write(path, error) from error
    return path


def _delete(part: Path) -> None:
    with contextlib.suppress(OSError):
        part.unlink(missing_ok=True)


def sync_path(path: Path) -> None:
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
        found, fix, code = f"there is no folder {str(path.parent)!r}", "create the folder first", "no-such-folder"
    else:
        found = f"writing failed ({getattr(error, 'strerror', None) or error})"
        fix, code = "check the folder's permissions", "cannot-write"
    return CannotWrite(f"{found}{kept}", "a place to write", fix, code, where=path)


MANIFEST = "sfumato.json"
"""The list of files, which identifies a folder written by sfumato."""
HASHED_AGAIN = 16 * 2**20
"""Files up to this size are hashed to detect changes; for larger ones only the size is compared."""


@contextmanager
def atomic_folder(folder: Path, format_name: str) -> Iterator[Path]:
    """An empty folder next to `folder`, which it replaces on success; on any error it is deleted.

    Only an empty folder or one written by sfumato is replaced.
    """
    check_vacant(folder)
    target = folder.resolve()
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    old = target.with_name(f".{target.name}.{os.getpid()}.old")
    try:
        part.mkdir()
        yield part
        _write_manifest(part, format_name)
        if target.exists():
            target.rename(old)
        try:
            part.rename(target)
        except OSError:
            if old.exists():
                old.rename(target)
            raise
        shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        shutil.rmtree(part, ignore_errors=True)
        found, expected = f"writing failed ({error.strerror or error})", "a place to write, with free space"
        fix = "free some space, or check the folder's permissions; nothing was changed"
        raise CannotWrite(found, expected, fix, where=folder) from error
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def check_vacant(folder: Path) -> None:
    """An error unless `folder` does not exist, is empty, or has only unchanged files written by sfumato."""
    check_place(folder)
    if not folder.exists() and not folder.is_symlink():
        return
    if not folder.is_dir():
        raise _not_vacant(folder, "found a file", "choose a name for a new folder", "not-a-folder")
    ours = _listed(folder)
    files = {str(path.relative_to(folder)): path for path in folder.rglob("*") if not path.is_dir()}
    strange = sorted(name for name in files if name not in ours and name != MANIFEST)
    if strange:
        found = f"found a folder with other files in it ({listing(strange, 5)})"
        raise _not_vacant(folder, found, "choose another place, or move the files away", "folder-not-empty")
    changed = sorted(name for name, path in files.items() if name in ours and not _is_as_listed(path, ours[name]))
    if changed:
        found = f"found files that were changed since they were written ({listing(changed, 5)})"
        raise _not_vacant(folder, found, "choose another place, or remove the folder yourself", "changed-files")


def files_in(folder: Path) -> tuple[str, ...]:
    """All files in `folder` by their relative paths."""
    return tuple(sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()))


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write_manifest(folder: Path, format_name: str) -> None:
    files = {}
    for name in files_in(folder):
        with (folder / name).open("rb") as file:
            os.fsync(file.fileno())
        files[name] = {"bytes": (folder / name).stat().st_size, "sha256": sha256_of(folder / name)}
    manifest = {"written_by": f"sfumato {__version__}", "format": format_name, "files": files}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _listed(folder: Path) -> dict[str, dict[str, Any]]:
    """The files listed in the folder's manifest, if it has one."""
    with contextlib.suppress(OSError, msgspec.MsgspecError):
        manifest = msgspec.json.decode((folder / MANIFEST).read_bytes(), type=dict[str, Any])
        if isinstance(manifest.get("files"), dict):
            return {name: each for name, each in manifest["files"].items() if isinstance(each, dict)}
    return {}


def _is_as_listed(path: Path, listed: dict[str, Any]) -> bool:
    size = path.stat().st_size
    return size == listed.get("bytes") and (size > HASHED_AGAIN or sha256_of(path) == listed.get("sha256"))


def _not_vacant(folder: Path, found: str, fix: str, code: str) -> CannotWrite:
    expected = "a new folder, an empty one, or one that sfumato share wrote"
    return CannotWrite(found, expected, fix, code, where=folder)
