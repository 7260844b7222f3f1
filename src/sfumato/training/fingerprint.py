"""Fingerprint: settings, data, versions and hardware that determine the result of a training bit for bit."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import torch

import sfumato
from sfumato.tables.errors import BadSetting, ErrorLocation, show, warn


@dataclass(frozen=True)
class Fingerprint:
    """Two trainings with the same fingerprint have the same weights, bit for bit."""

    settings: str
    """A hash of targets, network, recipe and seed."""
    data: str
    """A hash of inputs and labels."""
    torch_version: str
    sfumato_version: str
    threads: int
    device: str
    """Includes the processor's instruction set, which determines the order of sums."""
    precision: str

    @classmethod
    def now(
        cls, *, settings: Mapping[str, Any] | str, data: str, device: torch.device, precision: str = "float32"
    ) -> Fingerprint:
        """The fingerprint of a training in this process; `settings` are JSON values, or their hash."""
        return cls(
            settings=settings if isinstance(settings, str) else hash_of(settings),
            data=data,
            torch_version=torch.__version__,
            sfumato_version=sfumato.__version__,
            threads=torch.get_num_threads(),
            device=_named(device),
            precision=precision,
        )

    def differences(self, before: Mapping[str, Any]) -> list[str]:
        """The fields that differ from an earlier fingerprint."""
        return [
            f"{name.replace('_', ' ')} was {show(before.get(name))} and is {show(getattr(self, name))}"
            for name in (field.name for field in fields(self))
            if before.get(name) != getattr(self, name)
        ]

    def check(self, before: Mapping[str, Any], *, file: str, allow_drift: bool) -> None:
        """Raise an error (a warning if drift is allowed) if anything differs from the fingerprint in `file`."""
        differences = self.differences(before)
        if not differences:
            return
        found = f"found a training with other settings, data or versions: {'; '.join(differences)}"
        if allow_drift:
            warn(f"{found}; it continues, but the result will differ ({file})")
            return
        fix, where = "restore them, use --allow-drift, or delete the checkpoint to start again", ErrorLocation(file)
        raise BadSetting(found, "the settings, data, versions and threads of its start", fix, "drift", where)


def hash_of(settings: Mapping[str, Any]) -> str:
    """SHA-256 of settings as JSON, independent of their order."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True, allow_nan=False).encode()).hexdigest()


def _named(device: torch.device) -> str:
    if device.type == "cpu":
        return f"cpu {torch.backends.cpu.get_cpu_capability()}"
    if device.type == "cuda":
        return f"cuda {torch.cuda.get_device_name(device)}"
    return device.type
