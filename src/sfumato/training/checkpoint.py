"""Saved: a training between two epochs, as values that can be put into a file.

Checkpoints: files to go on from after a training was cut off. The newest and the one before are kept.

One file holds all of a checkpoint: a safetensors file, its JSON in the metadata, and a SHA-256 of both. It stands under
its name only when it is whole, and nothing is ever unpickled.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Shaped
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as safetensors_of
from torch import Tensor

from sfumato.tables.errors import BadFile, CannotWrite, ErrorLocation, SfumatoWarning
from sfumato.tables.files.atomic_write import atomic_write
from sfumato.training.dynamics_recorder import Dynamics, EpochDynamics
from sfumato.training.fingerprint import Fingerprint
from sfumato.training.run_group import EpochRow, RunState
from sfumato.training.training_loop import TrainingLoop, within


@dataclass(frozen=True, eq=False)
class SavedState:
    """All it takes to go on with a training: a copy that the training does not change any more."""

    epoch: int
    members: tuple[RunState, ...]
    state: dict[str, Tensor]

    @classmethod
    def of(cls, training: TrainingLoop) -> SavedState:
        """Where `training` stands. Weights and what the optimiser remembers are copied; what only grows is shared."""
        state = {name: tensor.detach().to("cpu", copy=True) for name, tensor in training.state().items()}
        return cls(training.epoch, tuple(_apart(member) for member in training.members), state)

    @property
    def n_bytes(self) -> int:
        """How large its weights, and what the optimiser remembers, are."""
        return sum(tensor.nbytes for tensor in self.state.values())

    def go_on(self, training: TrainingLoop) -> None:
        """Bring `training`, of the same task, to where this one was left."""
        device = training.task.device
        state = {name: tensor.to(device) for name, tensor in self.state.items()}
        training.take_up(self.epoch, [_apart(member) for member in self.members], state)

    # --- into a file and back ---

    def packed(self) -> tuple[str, dict[str, Tensor]]:
        """As JSON for what is small, and contiguous tensors for what is not."""
        tensors = {f"state.{name}": tensor.contiguous() for name, tensor in self.state.items()}
        for g, member in enumerate(self.members):
            tensors |= {f"members.{g}.{name}": tensor for name, tensor in _arrays_of(member).items()}
        said = {"epoch": self.epoch, "members": [_described(member) for member in self.members]}
        return json.dumps(said, allow_nan=False), tensors

    @classmethod
    def unpacked(cls, text: str, tensors: dict[str, Tensor]) -> SavedState:
        """What was packed."""
        said = json.loads(text)
        members = [_member(each, within(tensors, f"members.{g}.")) for g, each in enumerate(said["members"])]
        return cls(said["epoch"], tuple(members), within(tensors, "state."))


def _apart(member: RunState) -> RunState:
    """A copy that does not grow with the member. What is in its lists is never changed, so it may be shared."""
    return replace(
        member,
        rows=list(member.rows),
        dynamics=Dynamics(dict(member.dynamics.moments)),
        predictions=list(member.predictions),
    )


def _described(member: RunState) -> dict[str, Any]:
    return {
        "name": member.name,
        "number": member.number,
        "ended": member.ended,
        "rows": [[row.epoch, row.loss, row.validation_loss, row.rate] for row in member.rows],
        # In their order, so that what is written in the end does not tell whether training was ever left.
        "moments": [[when, epoch] for when, epoch in member.dynamics.moments],
        "best": None if member.best is None else list(member.best),
    }


def _arrays_of(member: RunState) -> dict[str, Tensor]:
    arrays = {f"best.{name}": tensor.cpu().contiguous() for name, tensor in (member.best or {}).items()}
    moments = list(member.dynamics.moments.values())
    for name in ("gold", "agreement", "correct"):
        arrays |= _stacked(f"dynamics.{name}", [getattr(moment, name) for moment in moments])
    return arrays | _stacked("predictions", member.predictions)


def _stacked(name: str, arrays: Sequence[Shaped[np.ndarray, "..."]]) -> dict[str, Tensor]:
    return {name: torch.from_numpy(np.stack(arrays))} if arrays else {}


def _member(said: dict[str, Any], tensors: dict[str, Tensor]) -> RunState:
    arrays = {name: tensor.numpy() for name, tensor in tensors.items() if not name.startswith("best.")}
    moments = {
        (when, epoch): EpochDynamics(*(arrays[f"dynamics.{name}"][i] for name in ("gold", "agreement", "correct")))
        for i, (when, epoch) in enumerate(said["moments"])
    }
    return RunState(
        name=said["name"],
        number=said["number"],
        rows=[EpochRow(*row) for row in said["rows"]],
        dynamics=Dynamics(moments),
        predictions=list(arrays.get("predictions", ())),
        best=None if said["best"] is None else {name: tensors[f"best.{name}"] for name in said["best"]},
        ended=said["ended"],
    )


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
