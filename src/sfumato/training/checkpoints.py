"""Checkpoints: files to go on from after a training was cut off. The newest and the one before are kept.

One file holds all of a checkpoint: a safetensors file, its JSON in the metadata, and a SHA-256 of both. It stands under
its name only when it is whole, and nothing is ever unpickled.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as safetensors_of
from torch import Tensor

from sfumato.tables.errors import BadFile, CannotWrite, ErrorLocation, SfumatoWarning
from sfumato.tables.files.atomic_write import atomic_write
from sfumato.training.fingerprint import Fingerprint
from sfumato.training.saved import SavedState

FORMAT = "1"


@dataclass(frozen=True)
class _Read:
    """A whole checkpoint file, not looked into yet."""

    fingerprint: dict[str, Any]
    text: str
    tensors: dict[str, Tensor]


class Checkpoints:
    """The checkpoints of one training, in a folder that no other training uses."""

    def __init__(self, folder: Path, fingerprint: Fingerprint, *, allow_drift: bool = False) -> None:
        self.folder, self.fingerprint, self.allow_drift = folder, fingerprint, allow_drift
        self.epoch: int | None = None
        """The one that was last saved or loaded."""

    def prepare(self) -> None:
        """Make the folder, or an error unless there will be a place to save in."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if not os.access(self.folder, os.W_OK | os.X_OK):
                raise PermissionError("no permission to write")
        except OSError as error:
            raise CannotWrite(
                f"no checkpoint can be kept here ({error.strerror or error})",
                expected="a folder to write in",
                fix="check the folder's permissions, or choose another place",
                code="cannot-write",
                where=ErrorLocation(str(self.folder)),
            ) from error
        # What a killed process has left half-written.
        for part in self.folder.glob(".checkpoint-*.part"):
            with contextlib.suppress(OSError):
                part.unlink()

    def save(self, saved: SavedState) -> None:
        """Save; then only this one and the one before are there. What is there already is not saved again."""
        if saved.epoch == self.epoch:
            return
        text, tensors = saved.packed()
        said = {"format": FORMAT, "fingerprint": json.dumps(self.fingerprint.as_dict()), "training": text}
        content = safetensors_of(tensors, metadata=said | {"sha256": _digest(said, tensors)})
        path = self._path(saved.epoch)
        with atomic_write(path) as part:
            part.write_bytes(content)
        # Others are older, or damaged: those that went before the one that training went on from.
        keep = {path} if self.epoch is None else {path, self._path(self.epoch)}
        self.epoch = saved.epoch
        for other in set(self._paths()) - keep:
            with contextlib.suppress(OSError):
                other.unlink()

    def load(self) -> SavedState | None:
        """The newest whole one; nothing if none was ever saved. An error unless it was begun as it would go on now."""
        damaged: list[str] = []
        for path in self._paths():
            try:
                read = _read(path)
            except _Damaged as reason:
                damaged.append(f"{path.name} ({reason})")
                continue
            self.fingerprint.check(read.fingerprint, file=str(path), allow_drift=self.allow_drift)
            saved = SavedState.unpacked(read.text, read.tensors)
            if damaged:
                warnings.warn(
                    f"found {', '.join(damaged)} damaged in {self.folder}; training goes on from epoch {saved.epoch}, "
                    f"the checkpoint before",
                    SfumatoWarning,
                    stacklevel=3,
                )
            self.epoch = saved.epoch
            return saved
        if damaged:
            raise BadFile(
                f"found every checkpoint damaged: {', '.join(damaged)}",
                expected="a whole one to go on from",
                fix="restore one from a backup, or take the folder away and begin anew",
                code="damaged-checkpoint",
                where=ErrorLocation(str(self.folder)),
            )
        return None

    def _paths(self) -> list[Path]:
        """The checkpoints that stand there, newest first."""
        return sorted(self.folder.glob("checkpoint-*.safetensors"), reverse=True)

    def _path(self, epoch: int) -> Path:
        return self.folder / f"checkpoint-{epoch:08d}.safetensors"


def forget(folder: Path) -> None:
    """Take the checkpoints of a training away, once what it came to is written elsewhere; nothing else goes."""
    for path in (*folder.glob("checkpoint-*.safetensors"), *folder.glob(".checkpoint-*.part")):
        path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        folder.rmdir()


class _Damaged(Exception):
    """A checkpoint that is not what was written, and why."""


def _read(path: Path) -> _Read:
    """A file that is what was written, byte for byte."""
    try:
        with safe_open(path, framework="pt", device="cpu") as file:
            said = file.metadata() or {}
            # Copied, so that nothing hangs on the file.
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise _Damaged("cut short or overwritten") from error
    except OSError as error:
        raise _Damaged(error.strerror or str(error)) from error
    expected = said.pop("sha256", None)
    if expected is None or _digest(said, tensors) != expected:
        raise _Damaged("its content has changed")
    if said.get("format") != FORMAT:
        raise _Damaged(f"of format {said.get('format')}, not {FORMAT}")
    return _Read(json.loads(said["fingerprint"]), said["training"], tensors)


def _digest(said: dict[str, str], tensors: dict[str, Tensor]) -> str:
    """SHA-256 of everything a checkpoint says, names and shapes included."""
    digest = hashlib.sha256(json.dumps(said, sort_keys=True).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"\0{name}\0{tensor.dtype}\0{list(tensor.shape)}\0".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
