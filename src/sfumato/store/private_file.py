"""Small files next to a store that only its owner may read or write, such as sessions."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

MOST_BYTES = 1_000_000


def write_private(file: Path, content: bytes) -> None:
    """Write the file as a whole, readable by its owner only from the beginning."""
    part = file.with_name(f".{file.name}.part")
    part.unlink(missing_ok=True)
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
        stream.write(content)
        if os.geteuid() == 0:
            # Root writes for the owner of the folder, who runs the server.
            folder = file.parent.stat()
            with contextlib.suppress(PermissionError):
                os.fchown(stream.fileno(), folder.st_uid, folder.st_gid)
    os.replace(part, file)


def read_private(file: Path) -> bytes | None:
    """The content; None if there is no such file, or if another user may have written it or can read it.

    In a folder that others can write to, they could put a file of their own in its place.
    """
    try:
        number = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with open(number, "rb") as stream:
        found = os.fstat(number)
        # Root and the owner of the folder can replace the file anyway.
        trusted = (os.geteuid(), 0, file.parent.stat().st_uid)
        is_ours = stat.S_ISREG(found.st_mode) and found.st_uid in trusted and not found.st_mode & 0o077
        return stream.read(MOST_BYTES) if is_ours else None
