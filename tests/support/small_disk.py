"""A small disk of its own, an ext4 file system in a file: it can be filled, lose its power, and be made read-only."""

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
"""The request by which ext4 is told to stop at once."""
WITHOUT_THE_JOURNAL = 2
"""What ext4 has in memory is thrown away, as when the power goes."""


def why_not() -> str | None:
    """Why there can be no such disk here; None where there can."""
    if os.geteuid() != 0:
        return "a disk of our own needs root (mount)"
    missing = [program for program in ("mkfs.ext4", "mount", "umount") if _program(program) is None]
    return f"a disk of our own needs {', '.join(missing)}" if missing else None


def _program(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


@dataclass(frozen=True)
class SmallDisk:
    """A disk that is mounted at `folder`."""

    image: Path
    folder: Path

    def fill(self) -> None:
        """Leave no room at all."""
        with (self.folder / "ballast").open("ab", buffering=0) as ballast:
            for size in (65536, 4096, 512, 1):
                with contextlib.suppress(OSError):
                    while ballast.write(bytes(size)):
                        pass

    def free(self) -> None:
        (self.folder / "ballast").unlink(missing_ok=True)

    def cut(self) -> None:
        """Take the power away: what was not synced is gone, and nothing can be written or read until it is mounted."""
        number = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.ioctl(number, SHUTDOWN, struct.pack("I", WITHOUT_THE_JOURNAL))
        finally:
            os.close(number)

    def turn_read_only(self) -> None:
        """As ext4 turns itself after an error: nothing can be written any more, also to files that are open."""
        _run("mount", "-o", "remount,abort", str(self.folder))

    def mount(self, *, read_only: bool = False) -> None:
        _run("mount", "-o", "loop,ro" if read_only else "loop", str(self.image), str(self.folder))

    def unmount(self) -> None:
        _run("umount", str(self.folder))


@contextlib.contextmanager
def small_disk(megabytes: int = 24) -> Iterator[SmallDisk]:
    """A disk for the while."""
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
            # Somebody may be at work on it still, if a trial ended early.
            with contextlib.suppress(subprocess.CalledProcessError):
                _run("umount", "--lazy", str(disk.folder))


def _run(program: str, *arguments: str) -> None:
    found = _program(program)
    assert found is not None, program
    subprocess.run([found, *arguments], check=True, capture_output=True)
