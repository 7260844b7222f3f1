"""Checkpoints: the state of a training between two epochs, in files. The newest and the one before are kept.

A checkpoint is one safetensors file with JSON in its metadata and a SHA-256 of both. It gets its name when it is
complete, and nothing is unpickled.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as safetensors_of
from torch import Tensor

from sfumato.tables.errors import BadFile, CannotWrite, warn
from sfumato.tables.files.atomic_write import atomic_write
from sfumato.training.fingerprint import Fingerprint
from sfumato.training.run_group import RunState
from sfumato.training.training_loop import TrainingLoop, within


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """Everything needed to resume a training: a copy that the training does not change."""

    epoch: int
    runs: tuple[RunState, ...]
    state: dict[str, Tensor]

    @classmethod
    def of(cls, loop: TrainingLoop) -> Checkpoint:
        """The current state. Weights and optimizer state are copied; lists that only grow share their elements."""
        state = {name: tensor.detach().to("cpu", copy=True) for name, tensor in loop.state().items()}
        return cls(loop.epoch, tuple(run.copy() for run in loop.runs), state)

    @property
    def n_bytes(self) -> int:
        """The size of the weights and the optimizer state."""
        return sum(tensor.nbytes for tensor in self.state.values())

    def restore(self, loop: TrainingLoop) -> None:
        """Set `loop`, of the same run group, to this state."""
        device = loop.group.device
        state = {name: tensor.to(device) for name, tensor in self.state.items()}
        loop.resume(self.epoch, [run.copy() for run in self.runs], state)

    def to_tensors(self) -> tuple[str, dict[str, Tensor]]:
        """Small values as JSON, the others as contiguous tensors."""
        tensors = {f"state.{name}": tensor.contiguous() for name, tensor in self.state.items()}
        for g, run in enumerate(self.runs):
            tensors |= {f"members.{g}.{name}": tensor for name, tensor in run.to_tensors().items()}
        values = {"epoch": self.epoch, "members": [run.values() for run in self.runs]}
        return json.dumps(values, allow_nan=False), tensors

    @classmethod
    def from_tensors(cls, text: str, tensors: dict[str, Tensor]) -> Checkpoint:
        values = json.loads(text)
        runs = [RunState.of(each, within(tensors, f"members.{g}.")) for g, each in enumerate(values["members"])]
        return cls(values["epoch"], tuple(runs), within(tensors, "state."))


FORMAT = "1"


class Checkpoints:
    """The checkpoints of one training, in a folder that no other training uses."""

    def __init__(self, folder: Path, fingerprint: Fingerprint, *, allow_drift: bool = False) -> None:
        self.folder, self.fingerprint, self.allow_drift = folder, fingerprint, allow_drift
        self.epoch: int | None = None
        """The epoch that was last saved or loaded."""

    def prepare(self) -> None:
        """Create the folder, or raise an error if it cannot be written to."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if not os.access(self.folder, os.W_OK | os.X_OK):
                raise PermissionError("no permission to write")
        except OSError as error:
            found = f"that no checkpoint can be written here ({error.strerror or error})"
            fix = "check the folder's permissions, or choose another place"
            raise CannotWrite(found, "a folder with write permission", fix, where=self.folder) from error
        # Incomplete files of a process that was killed.
        for part in self.folder.glob(".checkpoint-*.part"):
            with contextlib.suppress(OSError):
                part.unlink()

    def save(self, checkpoint: Checkpoint) -> None:
        """Save, and delete all but this checkpoint and the one before. An epoch is saved only once."""
        if checkpoint.epoch == self.epoch:
            return
        text, tensors = checkpoint.to_tensors()
        metadata = {"format": FORMAT, "fingerprint": json.dumps(asdict(self.fingerprint)), "training": text}
        content = safetensors_of(tensors, metadata=metadata | {"sha256": _digest(metadata, tensors)})
        path = self._path(checkpoint.epoch)
        with atomic_write(path) as part:
            part.write_bytes(content)
        # All others are older, or damaged ones that were skipped when training resumed.
        keep = {path} if self.epoch is None else {path, self._path(self.epoch)}
        self.epoch = checkpoint.epoch
        for other in set(self._paths()) - keep:
            with contextlib.suppress(OSError):
                other.unlink()

    def load(self) -> Checkpoint | None:
        """The newest complete checkpoint, or None. An error if it was made with other settings, data or versions."""
        damaged: list[str] = []
        for path in self._paths():
            try:
                metadata, tensors = _read(path)
            except _Damaged as reason:
                damaged.append(f"{path.name} ({reason})")
                continue
            try:
                before = json.loads(metadata["fingerprint"])
                checkpoint = Checkpoint.from_tensors(metadata["training"], tensors)
            except (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError, RuntimeError):
                damaged.append(f"{path.name} (it does not describe a training)")
                continue
            if not isinstance(before, dict):
                damaged.append(f"{path.name} (it does not describe a training)")
                continue
            self.fingerprint.check(before, file=str(path), allow_drift=self.allow_drift)
            if damaged:
                warn(
                    f"found {', '.join(damaged)} damaged in {self.folder}; training resumes from epoch "
                    f"{checkpoint.epoch}, the checkpoint before"
                )
            self.epoch = checkpoint.epoch
            return checkpoint
        if damaged:
            found = f"every checkpoint damaged: {', '.join(damaged)}"
            fix = "restore one from a backup, or delete the folder and start again"
            raise BadFile(found, "an undamaged checkpoint to resume from", fix, "damaged-checkpoint", self.folder)
        return None

    def _paths(self) -> list[Path]:
        """All checkpoint files, newest first."""
        return sorted(self.folder.glob("checkpoint-*.safetensors"), reverse=True)

    def _path(self, epoch: int) -> Path:
        return self.folder / f"checkpoint-{epoch:08d}.safetensors"


def delete_checkpoints(folder: Path) -> None:
    """Delete the checkpoints of a training whose runs are written; other files stay."""
    for path in (*folder.glob("checkpoint-*.safetensors"), *folder.glob(".checkpoint-*.part")):
        path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        folder.rmdir()


class _Damaged(Exception):
    """A checkpoint file was changed after it was written."""


def _read(path: Path) -> tuple[dict[str, str], dict[str, Tensor]]:
    """The metadata and the tensors of a checkpoint file, whose SHA-256 must be correct."""
    try:
        with safe_open(path, framework="pt", device="cpu") as file:
            metadata = file.metadata() or {}
            # Copied, so that no tensor depends on the open file.
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise _Damaged("cut short or overwritten") from error
    except OSError as error:
        raise _Damaged(error.strerror or str(error)) from error
    expected = metadata.pop("sha256", None)
    if expected is None or _digest(metadata, tensors) != expected:
        raise _Damaged("its content has changed")
    if metadata.get("format") != FORMAT:
        raise _Damaged(f"of format {metadata.get('format')}, not {FORMAT}")
    return metadata, tensors


def _digest(metadata: dict[str, str], tensors: dict[str, Tensor]) -> str:
    """SHA-256 of metadata and tensors, including names and shapes."""
    digest = hashlib.sha256(json.dumps(metadata, sort_keys=True).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"\0{name}\0{tensor.dtype}\0{list(tensor.shape)}\0".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
