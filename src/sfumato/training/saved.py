"""Saved: a training between two epochs, as values that can be put into a file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Shaped
from torch import Tensor

from sfumato.training.dynamics_recorder import Dynamics, EpochDynamics
from sfumato.training.member import EpochRow, RunState
from sfumato.training.training import TrainingLoop, within


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
