"""A small ext4 file system in a file, which can be filled, lose power, and be made read-only."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SHUTDOWN = (2 << 30) | (4 << 16) | (ord("X") << 8) | 125
"""The ioctl that shuts ext4 down at once."""
NO_LOG_FLUSH = 2
"""Drop what ext4 has in memory, as in a power cut."""


def skip_reason() -> str | None:
    """Why such a disk cannot be mounted here, or None."""
    if os.geteuid() != 0:
        return "mounting a disk needs root"
    missing = [program for program in ("mkfs.ext4", "mount", "umount") if _program(program) is None]
    return f"mounting a disk needs {', '.join(missing)}" if missing else None


def _program(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


@dataclass(frozen=True)
class SmallDisk:
    """A disk mounted at `folder`."""

    image: Path
    folder: Path

    def fill(self) -> None:
        """Fill the disk completely."""
        with (self.folder / "ballast").open("ab", buffering=0) as ballast:
            for size in (65536, 4096, 512, 1):
                with contextlib.suppress(OSError):
                    while ballast.write(bytes(size)):
                        pass

    def free(self) -> None:
        (self.folder / "ballast").unlink(missing_ok=True)

    def cut(self) -> None:
        """Cut the power: data that was not synced is lost, and nothing can be read or written until the next mount."""
        number = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.ioctl(number, SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
        finally:
            os.close(number)

    def turn_read_only(self) -> None:
        """Make the disk read-only, also for open files, as ext4 does after an error."""
        _run("mount", "-o", "remount,abort", str(self.folder))

    def mount(self, *, read_only: bool = False) -> None:
        _run("mount", "-o", "loop,ro" if read_only else "loop", str(self.image), str(self.folder))

    def unmount(self) -> None:
        _run("umount", str(self.folder))


@contextlib.contextmanager
def small_disk(megabytes: int = 24) -> Iterator[SmallDisk]:
    """A mounted disk while the context is open."""
    with tempfile.TemporaryDirectory(prefix="sfumato-disk-") as made:
        disk = SmallDisk(Path(made) / "image", Path(made) / "disk")
        disk.folder.mkdir()
        with disk.image.open("wb") as image:
            image.truncate(megabytes * 2**20)
        _run("mkfs.ext4", "-q", "-m", "0", str(disk.image))
        disk.mount()
        try:
            yield disk
        finally:
            # A server may still use it if a trial ended early.
            with contextlib.suppress(subprocess.CalledProcessError):
                _run("umount", "--lazy", str(disk.folder))


def _run(program: str, *arguments: str) -> None:
    found = _program(program)
    assert found is not None, program
    subprocess.run([found, *arguments], check=True, capture_output=True)
