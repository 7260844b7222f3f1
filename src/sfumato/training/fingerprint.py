"""Fingerprint: everything that decides, to the last bit, how a training comes out."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import torch

import sfumato
from sfumato.tables.errors import BadSetting, ErrorLocation, SfumatoWarning, show


@dataclass(frozen=True)
class Fingerprint:
    """What a training depends on. Two with the same fingerprint end with the same weights, bit for bit."""

    settings: str
    """A hash of targets, network, recipe and seed."""
    data: str
    """A hash of inputs and labels."""
    torch_version: str
    sfumato_version: str
    threads: int
    device: str
    """With what its processor can do: another adds up in another order."""
    precision: str

    @classmethod
    def now(
        cls, *, settings: Mapping[str, Any] | str, data: str, device: torch.device, precision: str = "float32"
    ) -> Fingerprint:
        """That of a training in this process; `settings` as JSON could hold them, or a hash of them."""
        return cls(
            settings=settings if isinstance(settings, str) else hash_of(settings),
            data=data,
            torch_version=torch.__version__,
            sfumato_version=sfumato.__version__,
            threads=torch.get_num_threads(),
            device=_named(device),
            precision=precision,
        )

    def differences(self, was: Mapping[str, Any]) -> list[str]:
        """What is not as it `was`, a part each."""
        return [
            f"{field.name.replace('_', ' ')} was {show(was.get(field.name))} and is {show(getattr(self, field.name))}"
            for field in fields(self)
            if was.get(field.name) != getattr(self, field.name)
        ]

    def check(self, was: Mapping[str, Any], *, file: str, allow_drift: bool) -> None:
        """An error (a warning where drift is allowed) unless all is as it `was` when `file` was written."""
        differing = self.differences(was)
        if not differing:
            return
        found = f"found a training begun otherwise: {'; '.join(differing)}"
        if allow_drift:
            warnings.warn(
                f"{found}; it goes on all the same, but will not end as it would have ({file})",
                SfumatoWarning,
                stacklevel=4,
            )
            return
        raise BadSetting(
            found,
            expected="the settings, data, versions and threads it was begun with",
            fix="go on as it was begun, allow drift, or take the checkpoint away to begin anew",
            code="drift",
            where=ErrorLocation(file),
        )

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def hash_of(settings: Mapping[str, Any]) -> str:
    """SHA-256 of settings that JSON could hold, in whatever order they come."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True, allow_nan=False).encode()).hexdigest()


def _named(device: torch.device) -> str:
    if device.type == "cpu":
        return f"cpu {torch.backends.cpu.get_cpu_capability()}"
    if device.type == "cuda":
        return f"cuda {torch.cuda.get_device_name(device)}"
    return device.type
